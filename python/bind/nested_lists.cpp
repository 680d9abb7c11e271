// Says what is wrong with nested lists of which no array can be made.
#include "bind/nested_lists.h"

#include <string>
#include <vector>

#include "bind/bind.h"
#include "core/tensor.h"

namespace hw::bind {
namespace {

/// A walk in reading order. The first way down tells the sizes that all others must have.
class Walk {
 public:
  void visit(PyObject* item) {
    bool list = PyList_Check(item) || PyTuple_Check(item);
    if (!list) return leaf(item);
    int64_t size = PySequence_Fast_GET_SIZE(item);
    check(depth() < kMaxDims, "lists are nested more than ", kMaxDims, " deep; a tensor has at most ", kMaxDims,
          " axes");
    if (depth() == static_cast<int64_t>(sizes_.size()) && !bottom_) sizes_.push_back(size);
    check(depth() < static_cast<int64_t>(sizes_.size()), place(), " is a list, where others are numbers");
    int64_t want = sizes_[static_cast<size_t>(depth())];
    check(size == want, place(), " has ", size, " elements, the first list at this depth has ", want);
    if (size == 0) bottom_ = true;
    for (int64_t i = 0; i < size; ++i) {
      path_.push_back(i);
      visit(PySequence_Fast_GET_ITEM(item, i));
      path_.pop_back();
    }
  }

 private:
  int64_t depth() const { return static_cast<int64_t>(path_.size()); }

  void leaf(PyObject* item) {
    if (is_array(item)) return;  // NumPy speaks of these
    bottom_ = true;
    check_type(is_number(item), place(), " is of type ", Py_TYPE(item)->tp_name, ", not a number");
    check(depth() == static_cast<int64_t>(sizes_.size()), place(), " is a number, where others are lists");
    if (!PyLong_Check(item)) return;
    int overflow = 0;
    PyLong_AsLongLongAndOverflow(item, &overflow);
    if (overflow) fail(ErrorKind::Overflow, place(), ", a Python integer, does not fit in 64 bits");
  }

  std::string place() const {
    std::string text = "tensor(): data";
    for (int64_t i : path_) text += "[" + std::to_string(i) + "]";
    return text;
  }

  std::vector<int64_t> path_, sizes_;
  bool bottom_ = false;  // the number of axes is known
};

}  // namespace

void check_nested(PyObject* data) { Walk().visit(data); }

}  // namespace hw::bind
