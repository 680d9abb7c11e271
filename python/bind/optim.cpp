// Optimiser steps over lists of parameters, for headwater.optim.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bind/bind.h"
#include "eager/optimizer_step.h"

namespace nb = nanobind;

namespace hw::bind {

static Tensors tensors_of(nb::handle list, const std::string& what) {
  Tensors out;
  if (list.is_none()) return out;
  Owned seq(own(PySequence_Fast(list.ptr(), "expected a list of tensors")));
  Py_ssize_t n = PySequence_Fast_GET_SIZE(seq.get());
  out.reserve(static_cast<size_t>(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(seq.get(), i);
    check_type(is_tensor(item), what, " must hold tensors, got ", Py_TYPE(item)->tp_name);
    out.push_back(tensor_of(item));
  }
  return out;
}

static AttrValue step_attr(const AttrDef& def, PyObject* value) {
  switch (def.kind) {
    case AttrValue::Kind::Bool: {
      int truth = PyObject_IsTrue(value);
      if (truth < 0) throw PythonError{};
      return AttrValue(truth != 0);
    }
    case AttrValue::Kind::Int: return AttrValue(int_from(value, def.name.c_str()));
    default: return AttrValue(scalar_from(value).f64());
  }
}

/// lists: one list of tensors (or None) per input; attrs: all values in the order of the declaration.
static void step(const std::string& name, nb::args arguments) {
  const OpDef& op = get_op(name);
  size_t inputs = op.inputs().size(), wanted = inputs + op.attrs().size();
  check_type(arguments.size() == wanted, name, " takes ", wanted, " arguments, got ", arguments.size());
  std::vector<Tensors> lists;
  lists.reserve(inputs);
  for (size_t k = 0; k < inputs; ++k) lists.push_back(tensors_of(arguments[k], op.inputs()[k].name));
  Attrs attrs;
  attrs.reserve(op.attrs().size());
  for (size_t k = 0; k < op.attrs().size(); ++k)
    attrs.push_back(step_attr(op.attrs()[k], nb::handle(arguments[inputs + k]).ptr()));
  optimizer_step(op, lists, attrs);
}

void bind_optim(nb::module_& m) {
  m.def("optimizer_step", &step, "Runs a step op on lists of parameters, gradients and states, in place.");
}

}  // namespace hw::bind
