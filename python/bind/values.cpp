// Python values as C++ values and back: numbers, sizes, dtypes.
#include "bind/bind.h"
#include "op/math.h"

namespace hw::bind {

// ---------------------------------------------------------------- dtypes
namespace {

struct PyDType {
  PyObject_HEAD DType value;
};

PyObject* dtype_repr(PyObject* self) {
  std::string name = text("headwater.", dtype_name(reinterpret_cast<PyDType*>(self)->value));
  return PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size()));
}
DType value_of(PyObject* self) { return reinterpret_cast<PyDType*>(self)->value; }

PyGetSetDef dtype_getset[] = {
    {"is_floating_point", [](PyObject* s, void*) { return PyBool_FromLong(is_floating(value_of(s))); }, nullptr,
     nullptr, nullptr},
    {"is_complex", [](PyObject* s, void*) { return PyBool_FromLong(is_complex(value_of(s))); }, nullptr, nullptr,
     nullptr},
    {"is_signed",
     [](PyObject* s, void*) { return PyBool_FromLong(value_of(s) != DType::Bool && value_of(s) != DType::U8); },
     nullptr, nullptr, nullptr},
    {"itemsize", [](PyObject* s, void*) { return PyLong_FromLongLong(dtype_size(value_of(s))); }, nullptr, nullptr,
     nullptr},
    {"name",
     [](PyObject* s, void*) {
       std::string_view n = dtype_name(value_of(s));
       return PyUnicode_FromStringAndSize(n.data(), static_cast<Py_ssize_t>(n.size()));
     },
     nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyObject* dtype_reduce(PyObject* self, PyObject*) {
  std::string_view n = dtype_name(value_of(self));
  return PyUnicode_FromStringAndSize(n.data(),
                                     static_cast<Py_ssize_t>(n.size()));  // a global of the module `headwater`
}
PyMethodDef dtype_methods[] = {{"__reduce__", dtype_reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

PyTypeObject make_dtype_type() {
  PyTypeObject t = {PyVarObject_HEAD_INIT(nullptr, 0)};
  t.tp_name = "headwater.dtype";
  t.tp_basicsize = sizeof(PyDType);
  t.tp_flags = Py_TPFLAGS_DEFAULT;
  t.tp_doc = "An element type, such as headwater.float32.";
  t.tp_repr = dtype_repr;
  t.tp_getset = dtype_getset;
  t.tp_methods = dtype_methods;
  return t;
}

PyTypeObject dtype_type = make_dtype_type();
PyDType dtype_objects[kNumDTypes];

}  // namespace

PyObject* dtype_object(DType d) { return reinterpret_cast<PyObject*>(&dtype_objects[static_cast<int>(d)]); }
bool is_dtype(PyObject* o) { return Py_TYPE(o) == &dtype_type; }

void ready_dtypes(PyObject* module) {
  if (PyType_Ready(&dtype_type) < 0) throw PythonError{};
  PyModule_AddObjectRef(module, "dtype", reinterpret_cast<PyObject*>(&dtype_type));
  for (int i = 0; i < kNumDTypes; ++i) {
    DType d = static_cast<DType>(i);
    PyObject* o = dtype_object(d);
    (void)PyObject_INIT(o, &dtype_type);
    Py_INCREF(o);  // never freed
    dtype_objects[i].value = d;
    PyModule_AddObjectRef(module, std::string(dtype_name(d)).c_str(), o);
  }
}

DType dtype_from(PyObject* o) {
  if (is_dtype(o)) return value_of(o);
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::Bool;
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::I64;
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::F64;
  if (o == reinterpret_cast<PyObject*>(&PyComplex_Type)) return DType::C128;
  Owned name(PyUnicode_Check(o) ? Py_NewRef(o) : PyObject_GetAttrString(o, "name"));
  if (!name) {
    PyErr_Clear();
    name = Owned(PyObject_GetAttrString(o, "__name__"));
  }
  if (name && PyUnicode_Check(name.get()))
    if (DType d = dtype_from_name(utf8(name.get())); d != DType::None) return d;
  PyErr_Clear();
  Owned repr(PyObject_Repr(o));
  if (!repr) throw PythonError{};
  fail(ErrorKind::Type, "expected a dtype such as headwater.float32, got ", utf8(repr.get()));
}

// ---------------------------------------------------------------- numbers
bool is_array(PyObject* o) {
  PyObject* numpy = PyDict_GetItemString(PyImport_GetModuleDict(), "numpy");  // not imported: there are no arrays
  if (!numpy) return false;
  static PyObject* type = own(PyObject_GetAttrString(numpy, "ndarray"));
  return PyObject_IsInstance(o, type) == 1;
}

static bool is_numpy_scalar(PyObject* o) {
  return std::string_view(Py_TYPE(o)->tp_name).starts_with("numpy.") && PyObject_HasAttrString(o, "dtype") &&
         !is_array(o);
}

const Tensor& tensor_argument(PyObject* o, const char* function) {
  check_type(is_tensor(o), function, ": expected a Tensor, got ", Py_TYPE(o)->tp_name);
  return tensor_of(o);
}

bool is_number(PyObject* o) {
  if (PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o)) return true;  // bool is an int
  return !is_tensor(o) && is_numpy_scalar(o);
}

Scalar scalar_from(PyObject* o) {
  if (PyBool_Check(o)) return Scalar(o == Py_True);
  if (PyFloat_Check(o)) return Scalar(PyFloat_AS_DOUBLE(o));
  if (PyLong_Check(o)) {
    int overflow = 0;
    long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow) {
      Owned digits(own(PyObject_Str(o)));
      std::string shown = utf8(digits.get());
      if (shown.size() > 30) shown = shown.substr(0, 20) + "...";
      fail(ErrorKind::Overflow, "the integer ", shown, " does not fit in 64 bits. Give a float.");
    }
    return Scalar(static_cast<int64_t>(v));
  }
  if (PyComplex_Check(o)) return Scalar(std::complex<double>(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o)));
  if (is_tensor(o)) return tensor_of(o).item();
  if (is_numpy_scalar(o)) {
    Owned item(own(PyObject_CallMethod(o, "item", nullptr)));
    return scalar_from(item.get());
  }
  fail(ErrorKind::Type, "expected a number, got ", Py_TYPE(o)->tp_name);
}

PyObject* scalar_object(const Scalar& s) {
  switch (s.kind()) {
    case Scalar::Kind::Bool: return PyBool_FromLong(s.truth());
    case Scalar::Kind::Int: return PyLong_FromLongLong(s.i64());
    case Scalar::Kind::Float: return PyFloat_FromDouble(s.f64());
    case Scalar::Kind::Complex: return PyComplex_FromDoubles(s.c128().real(), s.c128().imag());
  }
  return nullptr;
}

int64_t int_from(PyObject* o, const char* what) {
  if (is_tensor(o)) {
    const Tensor& t = tensor_of(o);
    check_type(t.numel() == 1 && !is_inexact(t.dtype()), what, " must be an int, got a tensor ", t);
    return t.item().i64();
  }
  check_type(PyIndex_Check(o) && !PyFloat_Check(o), what, " must be an int, got ", Py_TYPE(o)->tp_name);
  Owned index(own(PyNumber_Index(o)));
  int overflow = 0;
  long long v = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
  if (overflow) fail(ErrorKind::Overflow, what, " does not fit in 64 bits");
  return v;
}

Dims ints_from(PyObject* o, const char* what) {
  if (!is_tensor(o) && !PyUnicode_Check(o) && (PyTuple_Check(o) || PyList_Check(o) || PySequence_Check(o))) {
    Owned seq(own(PySequence_Fast(o, "expected a sequence of ints")));
    Py_ssize_t n = PySequence_Fast_GET_SIZE(seq.get());
    Dims out;
    for (Py_ssize_t i = 0; i < n; ++i) out.push_back(int_from(PySequence_Fast_GET_ITEM(seq.get(), i), what));
    return out;
  }
  return {int_from(o, what)};
}

PyObject* ints_tuple(std::span<const int64_t> values) {
  PyObject* t = own(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
  for (size_t i = 0; i < values.size(); ++i)
    PyTuple_SET_ITEM(t, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(values[i]));
  return t;
}

static PyObject* g_size_type = nullptr;
static PyObject* g_device = nullptr;
void set_size_type(PyObject* type) { g_size_type = Py_NewRef(type); }
void set_cpu_device(PyObject* device) { g_device = Py_NewRef(device); }

PyObject* device_object(Device device) {
  return g_device ? Py_NewRef(g_device) : own(PyUnicode_FromString(text(device).c_str()));
}

static PyObject* g_size_hook = nullptr;  // while sizes are symbols: int -> int or SymInt
void set_size_hook(PyObject* hook) { Py_XSETREF(g_size_hook, hook == Py_None ? nullptr : Py_NewRef(hook)); }
bool has_size_hook() { return g_size_hook; }
PyObject* size_number(int64_t n) {
  if (!g_size_hook) [[likely]]
    return PyLong_FromLongLong(n);
  Owned number(own(PyLong_FromLongLong(n)));
  return own(PyObject_CallOneArg(g_size_hook, number.get()));
}

PyObject* size_object(std::span<const int64_t> shape) {
  Owned t(g_size_hook ? nullptr : ints_tuple(shape));
  if (g_size_hook) [[unlikely]] {
    t = Owned(own(PyTuple_New(static_cast<Py_ssize_t>(shape.size()))));
    for (size_t i = 0; i < shape.size(); ++i)
      PyTuple_SET_ITEM(t.get(), static_cast<Py_ssize_t>(i), size_number(shape[i]));
  }
  if (!g_size_type) return t.take();
  return own(PyObject_CallOneArg(g_size_type, t.get()));
}

Tensor tensor_from(PyObject* o, const char* what, int64_t position) {
  if (is_tensor(o)) return tensor_of(o);
  if (is_number(o)) return number(scalar_from(o));
  fail(ErrorKind::Type, "argument '", what, position < 0 ? "" : text("[", position, "]"), "' must be a Tensor, got ",
       Py_TYPE(o)->tp_name, PySequence_Check(o) && !PyUnicode_Check(o) ? ". Make one with headwater.tensor(...)." : "");
}

}  // namespace hw::bind
