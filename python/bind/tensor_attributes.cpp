// Attributes and methods of Tensor that are no operators.
#include "autograd/backward.h"
#include "autograd/journal.h"
#include "autograd/node.h"
#include "bind/bind.h"
#include "core/allocator.h"
#include "core/read_guard.h"
#include "op/math.h"

namespace hw::bind {

namespace {

using Getter = PyObject* (*)(const Tensor&);

template <Getter f>
PyObject* get(PyObject* self, void*) {
  return guarded([&] { return f(tensor_of(self)); });
}
template <Getter f>
PyObject* method(PyObject* self, PyObject*) {
  return guarded([&] { return f(tensor_of(self)); });
}

PyObject* shape_of(const Tensor& t) { return size_object(t.shape()); }
PyObject* ndim_of(const Tensor& t) { return PyLong_FromLongLong(t.ndim()); }
PyObject* numel_of(const Tensor& t) { return size_number(t.numel()); }
PyObject* dtype_of(const Tensor& t) { return Py_NewRef(dtype_object(t.dtype())); }
PyObject* device_of(const Tensor& t) { return device_object(t.device()); }
PyObject* itemsize_of(const Tensor& t) { return PyLong_FromLongLong(dtype_size(t.dtype())); }
PyObject* nbytes_of(const Tensor& t) { return PyLong_FromSize_t(t.nbytes()); }
PyObject* offset_of(const Tensor& t) { return PyLong_FromLongLong(t.offset()); }
PyObject* pointer_of(const Tensor& t) {
  check_readable(t, "data_ptr()");
  return PyLong_FromVoidPtr(t.data());
}
PyObject* version_of(const Tensor& t) { return PyLong_FromUnsignedLong(t.version()); }
PyObject* item_of(const Tensor& t) { return scalar_object(t.item()); }
PyObject* detached(const Tensor& t) { return wrap(detach(t)); }
PyObject* leaf_of(const Tensor& t) { return PyBool_FromLong(is_leaf(t)); }
PyObject* requires_grad_of(const Tensor& t) {
  if (t_grad_journal) [[unlikely]]
    t_grad_journal->asking(t);
  return PyBool_FromLong(requires_grad(t));
}
PyObject* is_floating_of(const Tensor& t) { return PyBool_FromLong(is_floating(t.dtype())); }
PyObject* is_complex_of(const Tensor& t) { return PyBool_FromLong(is_complex(t.dtype())); }
PyObject* is_inference_of(const Tensor& t) { return PyBool_FromLong(t->inference); }
PyObject* retain_grad_of(const Tensor& t) {
  retain_grad(t);
  return Py_NewRef(Py_None);
}
PyObject* retains_grad_of(const Tensor& t) {
  const GradMeta* m = grad_meta(t);
  return PyBool_FromLong(m && m->retained);
}
PyObject* contiguous_of(const Tensor& t) { return PyBool_FromLong(t.contiguous()); }
PyObject* base_of(const Tensor& t) {
  const GradMeta* m = grad_meta(t);
  return wrap(m && m->view ? m->view->base : Tensor());
}

PyObject* grad_of(const Tensor& t) {
  if (t_grad_journal && is_leaf(t)) [[unlikely]]
    t_grad_journal->reading(t);
  const GradMeta* m = grad_meta(t);
  if (!m) return Py_NewRef(Py_None);
  return wrap(m->retained ? m->retained->grad : m->grad);
}

int set_grad(PyObject* self, PyObject* value, void*) {
  return guarded(
      [&] {
        const Tensor& t = tensor_of(self);
        if (t_grad_journal) [[unlikely]]
          t_grad_journal->writing(t);
        if (!value || value == Py_None) {
          if (GradMeta* m = grad_meta(t)) m->grad = Tensor();
          return 0;
        }
        check_type(is_tensor(value), "grad must be a Tensor or None, got ", Py_TYPE(value)->tp_name);
        const Tensor& g = tensor_of(value);
        check_runtime(g.shape() == t.shape() && g.dtype() == t.dtype(), "grad must be like its tensor, ", t, ", got ",
                      g);
        check_runtime(!(g == t), "a tensor cannot be its own gradient");
        ensure_grad_meta(t).grad = g;
        return 0;
      },
      -1);
}

int set_requires(PyObject* self, PyObject* value, void*) {
  return guarded(
      [&] {
        check_type(value && PyBool_Check(value), "requires_grad must be True or False");
        set_requires_grad(tensor_of(self), value == Py_True);
        return 0;
      },
      -1);
}

PyObject* grad_fn_of(const Tensor& t) {
  Ref<GradNode> fn = grad_fn(t);
  if (!fn) return Py_NewRef(Py_None);
  return PyUnicode_FromString(text("<", fn->name(), " backward>").c_str());
}

/// x.data = y: x shows y's storage from now on.
int set_data(PyObject* self, PyObject* value, void*) {
  return guarded(
      [&] {
        check_type(value && is_tensor(value), "data must be a Tensor");
        check_not_capturing("assigning .data");
        TensorBody& to = *tensor_of(self).body();
        const TensorBody& from = *tensor_of(value).body();
        check_runtime(is_inexact(from.dtype) || !requires_grad(tensor_of(self)),
                      "data: a tensor that requires gradients cannot be ", from.dtype);
        to.storage = from.storage;
        to.offset = from.offset;
        to.numel = from.numel;
        to.dtype = from.dtype;
        to.contiguous = from.contiguous;
        to.shape = from.shape;
        to.strides = from.strides;
        to.global = from.global;
        return 0;
      },
      -1);
}

PyObject* size_method(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensor_of(self);
    check_type(n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0) <= 1, "size() takes at most one axis");
    if ((n == 0 && !kwnames) || args[0] == Py_None) return size_object(t.shape());
    int64_t axis = int_from(args[0], "dim");
    check_index(t.ndim() > 0, "size(", axis, "): a 0-d tensor has no axes");
    return size_number(t.size(axis));
  });
}

PyObject* stride_method(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensor_of(self);
    if (n == 0) return ints_tuple(t.strides());
    int64_t axis = normalize_axis(int_from(args[0], "dim"), t.ndim());
    check_index(t.ndim() > 0, "stride(): a 0-d tensor has no axes");
    return PyLong_FromLongLong(t.strides()[static_cast<size_t>(axis)]);
  });
}

PyObject* requires_grad_method(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  return guarded([&] {
    bool yes = n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0) == 0 || PyObject_IsTrue(args[0]) == 1;
    set_requires_grad(tensor_of(self), yes);
    return Py_NewRef(self);
  });
}

PyObject* detach_inplace(PyObject* self, PyObject*) {
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    if (GradMeta* m = grad_meta(t)) {
      check_runtime(!m->view, "detach_: a view cannot be detached in place; use detach()");
      m->fn.reset();
      m->requires_grad = false;
    }
    return Py_NewRef(self);
  });
}

PyObject* make_subclass(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&] {
    check_type(n >= 2 && PyType_Check(args[0]) && is_tensor(args[1]), "_make_subclass(cls, data, requires_grad=False)");
    auto* type = reinterpret_cast<PyTypeObject*>(args[0]);
    check_type(PyType_IsSubtype(type, tensor_type), "cls must be a subclass of Tensor");
    Tensor t = detach(tensor_of(args[1]));
    if (n > 2 && PyObject_IsTrue(args[2]) == 1) set_requires_grad(t, true);
    return wrap_as(type, t);
  });
}

PyObject* is_set_to(PyObject* self, PyObject* other) {
  return guarded([&] {
    check_type(is_tensor(other), "expected a Tensor");
    const Tensor &a = tensor_of(self), &b = tensor_of(other);
    return PyBool_FromLong(a->storage == b->storage && a.offset() == b.offset() && a.shape() == b.shape() &&
                           a.strides() == b.strides());
  });
}

PyObject* shares_storage(PyObject* self, PyObject* other) {
  return guarded([&] {
    check_type(is_tensor(other), "expected a Tensor");
    return PyBool_FromLong(tensor_of(self)->storage == tensor_of(other)->storage);
  });
}

PyCFunction fast(PyObject* (*f)(PyObject*, PyObject* const*, Py_ssize_t)) { return reinterpret_cast<PyCFunction>(f); }
PyCFunction fast_keywords(PyObject* (*f)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*)) {
  return reinterpret_cast<PyCFunction>(f);
}

}  // namespace

PyGetSetDef tensor_getset[] = {
    {"shape", get<shape_of>, nullptr, "The sizes of the axes.", nullptr},
    {"ndim", get<ndim_of>, nullptr, "The number of axes.", nullptr},
    {"dtype", get<dtype_of>, nullptr, "The element type.", nullptr},
    {"device", get<device_of>, nullptr, "Where the tensor lives.", nullptr},
    {"itemsize", get<itemsize_of>, nullptr, "Bytes per element.", nullptr},
    {"nbytes", get<nbytes_of>, nullptr, "Bytes of all elements.", nullptr},
    {"grad", get<grad_of>, set_grad, "The gradient accumulated by backward(), or None.", nullptr},
    {"requires_grad", get<requires_grad_of>, set_requires, "Whether gradients flow to or through this tensor.",
     nullptr},
    {"is_leaf", get<leaf_of>, nullptr, "Whether no recorded operation made this tensor.", nullptr},
    {"retains_grad", get<retains_grad_of>, nullptr, "Whether retain_grad() was called on a tensor that is no leaf.",
     nullptr},
    {"grad_fn", get<grad_fn_of>, nullptr, "The recorded operation that made this tensor, as text, or None.", nullptr},
    {"data", get<detached>, set_data, "The same values without history.", nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"_version", get<version_of>, nullptr, "How many in-place writes the storage has seen.", nullptr},
    {"_base", get<base_of>, nullptr, "The tensor that this one is a view of, or None.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef tensor_methods[] = {
    {"size", fast_keywords(size_method), METH_FASTCALL | METH_KEYWORDS,
     "size(dim=None): all sizes, or that of one axis."},
    {"stride", fast_keywords(stride_method), METH_FASTCALL | METH_KEYWORDS,
     "stride(dim=None): all strides in elements, or one."},
    {"dim", method<ndim_of>, METH_NOARGS, "The number of axes."},
    {"numel", method<numel_of>, METH_NOARGS, "The number of elements."},
    {"nelement", method<numel_of>, METH_NOARGS, "The number of elements."},
    {"element_size", method<itemsize_of>, METH_NOARGS, "Bytes per element."},
    {"storage_offset", method<offset_of>, METH_NOARGS, "Elements from the start of the storage to the first element."},
    {"data_ptr", method<pointer_of>, METH_NOARGS, "The address of the first element."},
    {"item", method<item_of>, METH_NOARGS, "The value of a tensor with one element as a Python number."},
    {"detach", method<detached>, METH_NOARGS, "The same values without history; shares memory."},
    {"detach_", detach_inplace, METH_NOARGS, "Drops the history of this tensor."},
    {"is_contiguous",
     fast_keywords([](PyObject* s, PyObject* const*, Py_ssize_t, PyObject*) { return contiguous_of(tensor_of(s)); }),
     METH_FASTCALL | METH_KEYWORDS, "Whether the elements lie in row-major order without gaps."},
    {"is_floating_point", method<is_floating_of>, METH_NOARGS, "Whether the dtype is a floating-point type."},
    {"is_complex", method<is_complex_of>, METH_NOARGS, "Whether the dtype is complex."},
    {"is_inference", method<is_inference_of>, METH_NOARGS, "Whether the tensor was made in inference mode."},
    {"requires_grad_", fast_keywords(requires_grad_method), METH_FASTCALL | METH_KEYWORDS,
     "requires_grad_(requires_grad=True): asks for gradients; returns the tensor."},
    {"retain_grad", method<retain_grad_of>, METH_NOARGS, "Keeps the gradient of a tensor that is no leaf in .grad."},
    {"is_set_to", is_set_to, METH_O, "Whether both show the same elements of the same storage."},
    {"_shares_storage", shares_storage, METH_O, "Whether both are views of one storage."},
    {"_make_subclass", fast(make_subclass), METH_FASTCALL | METH_STATIC,
     "_make_subclass(cls, data, requires_grad=False)"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace hw::bind
