// Says what is wrong with nested lists of which no array can be made.
#pragma once

#include <Python.h>

namespace hw::bind {

/// Throws Error{Value, Type or Overflow} naming the first element of nested lists or tuples that is out of place: a list of another
/// length or depth, no number, an integer of more than 64 bits. Returns when there is none.
void check_nested(PyObject* data);

}  // namespace hw::bind
