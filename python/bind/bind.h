// What the topics of the binding share: the Tensor type, dtype objects, errors.
#pragma once

#include <Python.h>

#include <string>

#include "base/error.h"
#include "op/op_def.h"

namespace nanobind {
class module_;
}

namespace hw::bind {

// ---------------------------------------------------------------- Tensor objects
/// The layout of a headwater.Tensor and of its Python subclasses.
struct PyTensor {
  PyObject_HEAD Tensor value;
  PyObject* dict;
  PyObject* weakrefs;
};
extern PyTypeObject* tensor_type;

inline bool is_tensor(PyObject* o) { return Py_TYPE(o) == tensor_type || PyType_IsSubtype(Py_TYPE(o), tensor_type); }
inline const Tensor& tensor_of(PyObject* o) { return reinterpret_cast<PyTensor*>(o)->value; }
/// The tensor of any object; throws Error{Type} naming `function` if it is none.
const Tensor& tensor_argument(PyObject* o, const char* function);
/// A new reference to the object of `t`: the same object as long as Python holds one. None for an undefined tensor.
PyObject* wrap(const Tensor& t);
/// An object of a subclass that shows the storage of `t`.
PyObject* wrap_as(PyTypeObject* type, const Tensor& t);

// ---------------------------------------------------------------- dtype objects
PyObject* dtype_object(DType d);  // borrowed
/// A dtype object, a NumPy dtype or its name, bool, int, float or complex; throws Error{Type}.
DType dtype_from(PyObject* o);
bool is_dtype(PyObject* o);

// ---------------------------------------------------------------- values
bool is_number(PyObject* o);      // bool, int, float, complex, NumPy scalars
Scalar scalar_from(PyObject* o);  // throws Error{Type}, Error{Overflow}
PyObject* scalar_object(const Scalar& s);
int64_t int_from(PyObject* o, const char* what);
Dims ints_from(PyObject* o, const char* what);  // an int gives a list of one
PyObject* ints_tuple(std::span<const int64_t> values);
PyObject* size_object(std::span<const int64_t> shape);  // a headwater.Size
PyObject* size_number(int64_t n);                       // a size or a count of elements
/// A callable through which sizes go on their way to Python, or None: hw.compile makes symbols of some.
void set_size_hook(PyObject* hook);
bool has_size_hook();
PyObject* device_object(Device device);  // a headwater.device
/// A tensor, or a number as a wrapped tensor; throws Error{Type} naming the argument.
Tensor tensor_from(PyObject* o, const char* what, int64_t position = -1);  // `position`: within a list argument
/// Whether `o` is a NumPy array (not a NumPy number).
bool is_array(PyObject* o);
/// Data of any kind (nested lists, NumPy arrays, tensors, numbers) as a new tensor.
Tensor tensor_from_data(PyObject* data, DType dtype);

// ---------------------------------------------------------------- errors
/// A Python exception is set and travels through C++ as this.
struct PythonError {};
/// Sets the Python exception for the C++ exception in flight.
void set_python_error() noexcept;

/// Runs f; C++ exceptions become Python's and give `failed`.
template <class F, class R>
[[gnu::always_inline]] inline R guarded(F&& f, R failed) noexcept {
  try {
    return f();
  } catch (...) {
    set_python_error();
    return failed;
  }
}
template <class F>
[[gnu::always_inline]] inline PyObject* guarded(F&& f) noexcept {
  return guarded(static_cast<F&&>(f), static_cast<PyObject*>(nullptr));
}
/// A new reference that must not be null; throws PythonError otherwise.
inline PyObject* own(PyObject* o) {
  if (!o) throw PythonError{};
  return o;
}

/// A new reference that is dropped at the end of the scope.
class Owned {
 public:
  explicit Owned(PyObject* o = nullptr) : o_(o) {}
  Owned(Owned&& other) noexcept : o_(std::exchange(other.o_, nullptr)) {}
  Owned(const Owned&) = delete;
  Owned& operator=(Owned&& other) noexcept {
    std::swap(o_, other.o_);
    return *this;
  }
  ~Owned() { Py_XDECREF(o_); }
  PyObject* get() const { return o_; }
  PyObject* take() { return std::exchange(o_, nullptr); }
  explicit operator bool() const { return o_; }

 private:
  PyObject* o_;
};

/// The text of a str; throws PythonError for one that has no UTF-8 form (a lone surrogate).
inline const char* utf8(PyObject* s) {
  const char* text = PyUnicode_AsUTF8(s);
  if (!text) throw PythonError{};
  return text;
}

// ---------------------------------------------------------------- garbage collection
/// Visits the Python objects that only `t` keeps alive: hooks and custom functions behind it, if no other tensor shares them.
int visit_graph(const Tensor& t, visitproc visit, void* arg);
/// Lets go of them.
void clear_graph(const Tensor& t);

// ---------------------------------------------------------------- topics
PyObject* index_get(PyObject* self, PyObject* key);
int index_set(PyObject* self, PyObject* key, PyObject* value);
extern PyGetSetDef tensor_getset[];
extern PyMethodDef tensor_methods[];
/// Calls an op with Python arguments, as the function of that name does. `self` may be null.
PyObject* call_op(const OpDef& op, PyObject* const* args, size_t num_args, PyObject* kwnames, bool inplace);
/// The Python value of an op's outputs: one object, or a tuple.
PyObject* outputs_object(const OpDef& op, const Tensors& out);

void bind_types(nanobind::module_& m);
void bind_ops(nanobind::module_& m);
void bind_exchange(nanobind::module_& m);
void bind_autograd(nanobind::module_& m);
void bind_registry(nanobind::module_& m);
void bind_system(nanobind::module_& m);
void bind_optim(nanobind::module_& m);
void bind_compile(nanobind::module_& m);
void bind_tuning(nanobind::module_& m);
void bind_graph(nanobind::module_& m);
void bind_global(nanobind::module_& m);
void bind_rehearsal(nanobind::module_& m);
void bind_call_recorder(nanobind::module_& m);
void bind_distributed(nanobind::module_& m);
void bind_stream(nanobind::module_& m);

}  // namespace hw::bind
