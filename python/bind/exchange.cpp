// Data in and out: nested lists, NumPy arrays, buffers and DLPack.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstring>

#include "autograd/node.h"
#include "bind/bind.h"
#include "bind/nested_lists.h"
#include "compiler/capture/capture.h"
#include "core/range.h"
#include "core/read_guard.h"
#include "op/math.h"

namespace nb = nanobind;

namespace hw::bind {

namespace {

DType from_dlpack(nb::dlpack::dtype d) {
  using Code = nb::dlpack::dtype_code;
  check_type(d.lanes == 1, "vector element types are not supported");
  auto code = static_cast<Code>(d.code);
  if (code == Code::Bool && d.bits == 8) return DType::Bool;
  if (code == Code::Int) {
    switch (d.bits) {
      case 8: return DType::I8;
      case 16: return DType::I16;
      case 32: return DType::I32;
      case 64: return DType::I64;
    }
  }
  if (code == Code::UInt && d.bits == 8) return DType::U8;
  if (code == Code::Float) {
    switch (d.bits) {
      case 16: return DType::F16;
      case 32: return DType::F32;
      case 64: return DType::F64;
    }
  }
  if (code == Code::Bfloat) return DType::BF16;
  if (code == Code::Complex && d.bits == 64) return DType::C64;
  if (code == Code::Complex && d.bits == 128) return DType::C128;
  fail(ErrorKind::Type, "an array of element type code ", static_cast<int>(d.code), " with ", static_cast<int>(d.bits),
       " bits has no counterpart here; convert it first");
}

nb::dlpack::dtype to_dlpack(DType d) {
  using Code = nb::dlpack::dtype_code;
  Code code = d == DType::Bool   ? Code::Bool
              : d == DType::U8   ? Code::UInt
              : is_integral(d)   ? Code::Int
              : d == DType::BF16 ? Code::Bfloat
              : is_floating(d)   ? Code::Float
                                 : Code::Complex;
  return {static_cast<uint8_t>(code), static_cast<uint8_t>(dtype_size(d) * 8), 1};
}

using Array = nb::ndarray<nb::ro, nb::device::cpu>;

/// Shares the array's memory; the array lives as long as the tensor's storage.
Tensor share(const Array& a, bool writable) {
  Dims shape, strides;
  int64_t reach = 1;
  for (size_t i = 0; i < a.ndim(); ++i) {
    shape.push_back(static_cast<int64_t>(a.shape(i)));
    strides.push_back(a.stride(i));
    check(a.stride(i) >= 0, "arrays with negative strides cannot be shared; copy the array first (array.copy())");
    reach += (shape.back() - 1) * strides.back();
  }
  DType d = from_dlpack(a.dtype());
  size_t bytes = numel(shape) == 0 ? 0 : static_cast<size_t>(reach * dtype_size(d));
  auto* keep = new Array(a);
  auto drop = [](void* p) {
    nb::gil_scoped_acquire gil;
    delete static_cast<Array*>(p);
  };
  auto storage = make_ref<Storage>(const_cast<void*>(a.data()), bytes, drop, keep, writable);
  return Tensor::make(std::move(storage), d, std::move(shape), std::move(strides));
}

/// str(o)
std::string python_text(nb::object o) {
  Owned s(own(PyObject_Str(o.ptr())));
  return utf8(s.get());
}

nb::object numpy() { return nb::module_::import_("numpy"); }

/// numpy.asarray(data); errors speak of the lists, not of NumPy's arrays.
nb::object as_array(nb::handle data) {
  bool lists = PyList_Check(data.ptr()) || PyTuple_Check(data.ptr());
  nb::object a;
  try {
    a = numpy().attr("asarray")(data);
  } catch (nb::python_error&) {
    if (lists) check_nested(data.ptr());
    throw;
  }
  if (lists && std::string("OUSu").find(nb::cast<std::string>(a.attr("dtype").attr("kind"))) != std::string::npos)
    check_nested(data.ptr());
  return a;
}

/// A NumPy array in native byte order whose dtype this library has.
nb::object native_array(nb::handle data) {
  nb::object a = as_array(data);
  std::string kind = nb::cast<std::string>(a.attr("dtype").attr("kind"));
  int64_t size = nb::cast<int64_t>(a.attr("dtype").attr("itemsize"));
  check_type(kind != "O" && kind != "U" && kind != "S", "a tensor cannot hold elements of NumPy dtype ",
             python_text(a.attr("dtype")));
  check_type(kind != "u" || size == 1,
             "unsigned integers wider than 8 bits have no counterpart here; use astype() first");
  if (!nb::cast<bool>(a.attr("dtype").attr("isnative")))
    a = a.attr("astype")(a.attr("dtype").attr("newbyteorder")("="));
  return a;
}

/// Whether the array is one of ml_dtypes' bfloat16. NumPy's own dtypes have small numbers, and their names take microseconds.
bool holds_bfloat16(nb::handle array) {
  constexpr long kUserDefined = 256;  // NPY_USERDEF
  nb::object dtype = array.attr("dtype"), number = nb::getattr(dtype, "num", nb::none());
  if (PyLong_Check(number.ptr()) && PyLong_AsLong(number.ptr()) < kUserDefined) return false;
  return python_text(dtype) == "bfloat16";
}

Tensor from_array(nb::handle array, bool copy) {
  if (holds_bfloat16(array)) {
    Tensor t = from_array(array.attr("view")("int16"), copy);
    t->dtype = DType::BF16;
    return t;
  }
  nb::object owned = nb::borrow(array);
  int64_t item = nb::cast<int64_t>(array.attr("itemsize"));
  nb::tuple strides(array.attr("strides"));
  for (nb::handle h : strides) {
    int64_t s = nb::cast<int64_t>(h);
    if (s >= 0 && s % item == 0) continue;
    check(copy,
          "an array with negative strides, or strides within elements, cannot be shared; copy it first (array.copy())");
    owned = numpy().attr("ascontiguousarray")(array);
    array = owned;
    break;
  }
  bool writable = nb::cast<bool>(array.attr("flags").attr("writeable"));
  Array a;
  if (!nb::try_cast(array, a))
    fail(ErrorKind::Type, "an array of NumPy dtype ", python_text(array.attr("dtype")), " cannot be shared");
  Tensor shared = share(a, writable);
  return copy ? clone(shared) : shared;
}

/// The inferred dtype of Python data: floats are the default dtype, whatever NumPy says.
DType python_dtype(nb::handle data, DType numpy_dtype) {
  nb::handle item = data;
  while ((PyList_Check(item.ptr()) || PyTuple_Check(item.ptr())) && PySequence_Size(item.ptr()) > 0)
    item = nb::borrow(PySequence_Fast_GET_ITEM(item.ptr(), 0));
  bool numpy_item = !PyList_Check(item.ptr()) && !PyTuple_Check(item.ptr()) && nb::hasattr(item, "dtype");
  if (numpy_item) return numpy_dtype;
  if (is_floating(numpy_dtype)) return default_dtype();
  if (is_complex(numpy_dtype)) return complex_dtype(default_dtype());
  return numpy_dtype;
}

/// Whether a tensor is anywhere in these lists, at any place: its dtype counts beside that of the numbers.
bool holds_tensor(PyObject* data, int64_t depth = 0) {
  check(depth <= kMaxDims, "lists are nested more than ", kMaxDims, " deep; a tensor has at most ", kMaxDims, " axes");
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(data); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(data, i);
    if (is_tensor(item)) return true;
    if ((PyList_Check(item) || PyTuple_Check(item)) && holds_tensor(item, depth + 1)) return true;
  }
  return false;
}

/// Lists that hold tensors: stacked. Beside a number a tensor of one element is a number too.
Tensor stacked(nb::handle data) {
  Tensors parts;
  bool numbers = false;
  for (nb::handle item : nb::borrow<nb::sequence>(data)) {
    parts.push_back(is_tensor(item.ptr()) ? detach(tensor_of(item.ptr())) : tensor_from_data(item.ptr(), DType::None));
    numbers |= parts.back().ndim() == 0;
  }
  if (numbers)
    for (Tensor& t : parts)
      if (t.numel() == 1) t = reshape(t, {});
  for (const Tensor& t : parts)
    check(t.shape() == parts[0].shape(), "tensor(): a list holds ", t, ", its first element is ", parts[0],
          "; all must have one shape");
  for (Tensor& t : parts) t = unsqueeze(t, 0);
  return cat(parts, 0);
}

nb::object to_numpy(const Tensor& t, nb::handle owner) {
  check_readable(t, "numpy()");
  check_runtime(!requires_grad(t), "numpy(): the tensor requires gradients; use detach().numpy()");
  check_type(t.dtype() != DType::BF16,
             "NumPy has no bfloat16; use .float().numpy(), or .view(headwater.int16).numpy()");
  size_t shape[kMaxDims];
  for (size_t i = 0; i < t.shape().size(); ++i) shape[i] = static_cast<size_t>(t.shape()[i]);
  static char nothing[16];
  void* data = t.numel() == 0 || !t.data() ? nothing : t.data();
  nb::dlpack::dtype d = to_dlpack(t.dtype());
  if (!t->storage->writable()) {
    nb::ndarray<nb::numpy, nb::ro> a(data, t.shape().size(), shape, owner, t.strides().data(), d);
    return a.cast();
  }
  nb::ndarray<nb::numpy> a(data, t.shape().size(), shape, owner, t.strides().data(), d);
  return a.cast();
}

/// What keeps memory that is shared with others: an object of its own, since `x.data = y` gives x another storage. While it lives,
/// the storage knows that it may be written without a new version.
nb::object keeper_of(const Tensor& t) {
  auto* keep = new Ref<Storage>(t->storage);
  (*keep)->lend();
  return nb::capsule(keep, [](void* p) noexcept {
    auto* storage = static_cast<Ref<Storage>*>(p);
    (*storage)->take_back();
    delete storage;
  });
}

nb::object dlpack_capsule(nb::handle self) {
  const Tensor& t = tensor_argument(self.ptr(), "__dlpack__");
  check_readable(t, "__dlpack__()");
  check_runtime(!requires_grad(t), "__dlpack__: the tensor requires gradients; use detach()");
  size_t shape[kMaxDims];
  for (size_t i = 0; i < t.shape().size(); ++i) shape[i] = static_cast<size_t>(t.shape()[i]);
  nb::ndarray<> a(t.data(), t.shape().size(), shape, keeper_of(t), t.strides().data(), to_dlpack(t.dtype()));
  return a.cast();
}

Tensor from_buffer(nb::handle buffer, DType d, int64_t count, int64_t offset) {
  auto* view = new Py_buffer;
  bool writable = true;
  if (PyObject_GetBuffer(buffer.ptr(), view, PyBUF_WRITABLE) < 0) {
    PyErr_Clear();
    writable = false;
    if (PyObject_GetBuffer(buffer.ptr(), view, PyBUF_SIMPLE) < 0) {
      delete view;
      throw PythonError{};
    }
  }
  auto drop = [](void* p) {
    nb::gil_scoped_acquire gil;
    PyBuffer_Release(static_cast<Py_buffer*>(p));
    delete static_cast<Py_buffer*>(p);
  };
  auto storage = make_ref<Storage>(view->buf, static_cast<size_t>(view->len), drop, view, writable);
  int64_t size = dtype_size(d), length = view->len;
  check(offset >= 0 && offset <= length, "frombuffer: offset ", offset, " lies outside the buffer of ", length,
        " bytes");
  int64_t most = (length - offset) / size;
  if (count < 0) {
    check((length - offset) % size == 0, "frombuffer: ", length - offset, " bytes are not a whole number of ", d,
          " elements");
    count = most;
  }
  check(count <= most, "frombuffer: ", count, " elements of ", d, " need ", count * size, " bytes, the buffer has ",
        length - offset);
  if (offset % size == 0) return Tensor::make(std::move(storage), d, {count}, {}, offset / size);
  // An offset that is no multiple of the element size: a storage of its own from there on, which keeps the first alive.
  auto* keep = new Ref<Storage>(storage);
  auto part = make_ref<Storage>(
      static_cast<char*>(view->buf) + offset, static_cast<size_t>(count * size),
      [](void* p) { delete static_cast<Ref<Storage>*>(p); }, keep, writable);
  return Tensor::make(std::move(part), d, {count});
}

}  // namespace

static void check_number(const Scalar& v, DType d) {
  check_runtime(fits(v, d), "tensor(): ", v, " does not fit ", d,
                ". Choose a wider dtype, or make the tensor without dtype= and convert it with .to().");
}

/// Python numbers must fit the dtype that is asked for; arrays and tensors convert as .to() does.
/// `extremes()` are the smallest and the largest element of `t`.
template <class Extremes>
static void check_fits(const Tensor& t, DType d, Extremes extremes) {
  if (t.numel() == 0 || t.dtype() == d) return;
  check_type(!is_complex(t.dtype()) || is_complex(d), "tensor(): complex numbers do not fit ", d);
  if (is_inexact(d) || is_complex(t.dtype())) return;
  for (const Scalar& v : extremes()) {
    if (v.f64() != v.f64()) fail(ErrorKind::Runtime, "tensor(): nan does not fit ", d);
    check_number(v, d);
  }
}

static std::array<Scalar, 2> extremes_of(const Tensor& t) {
  static const Op least{"amin"}, greatest{"amax"};
  return {least({t}).item(), greatest({t}).item()};
}

/// Asked from NumPy, because operators on a tensor would be captured where a function is.
static std::array<Scalar, 2> extremes_of(nb::handle array) {
  auto number = [&](const char* which) { return scalar_from(nb::object(array.attr(which)().attr("item")()).ptr()); };
  return {number("min"), number("max")};
}

Tensor tensor_from_data(PyObject* data, DType want) {
  if (is_tensor(data)) return clone(want == DType::None ? detach(tensor_of(data)) : to(detach(tensor_of(data)), want));
  if (is_number(data) && !nb::hasattr(data, "dtype")) {
    Scalar s = scalar_from(data);
    if (want != DType::None) check_number(s, want);
    return Tensor::scalar(s, want == DType::None ? s.dtype() : want);
  }
  if ((PyList_Check(data) || PyTuple_Check(data)) && holds_tensor(data)) {
    Tensor t = stacked(data);
    if (want == DType::None) return t;
    if (!is_abstract(t)) check_fits(t, want, [&] { return extremes_of(t); });
    return to(t, want);
  }
  bool is_array = nb::hasattr(data, "__array_interface__") || nb::hasattr(data, "__array__");
  if (!is_array)
    check_type(PySequence_Check(data) && !PyUnicode_Check(data) && !PyBytes_Check(data), "a tensor cannot be made of ",
               Py_TYPE(data)->tp_name);
  if (is_array) check_not_capturing("tensor()");
  bool bf16 = is_array && nb::hasattr(data, "dtype") && holds_bfloat16(data);
  nb::object array = bf16 ? nb::borrow(data) : native_array(data);
  Tensor t = from_array(array, true);
  DType d = want != DType::None ? want : is_array ? t.dtype() : python_dtype(data, t.dtype());
  if (t.numel() == 0 && !is_array && want == DType::None) d = default_dtype();
  if (!is_array && want != DType::None) check_fits(t, d, [&] { return extremes_of(array); });
  return to(t, d);
}

static DType optional_dtype(nb::handle o) { return o.is_none() ? DType::None : dtype_from(o.ptr()); }

void bind_exchange(nb::module_& m) {
  m.def(
      "tensor_from_data",
      [](nb::handle data, nb::handle dtype, bool with_grad) {
        Tensor t = tensor_from_data(data.ptr(), optional_dtype(dtype));
        if (Capture* c = current_capture(); c && !is_abstract(t)) [[unlikely]]
          c->note_constant(t);
        if (with_grad) set_requires_grad(t, true);
        return nb::steal(wrap(t));
      },
      nb::arg("data").none(), nb::arg("dtype").none(), nb::arg("requires_grad"));
  m.def("from_numpy", [](nb::handle array) {
    check_not_capturing("from_numpy()");
    check_type(nb::hasattr(array, "__array_interface__"), "from_numpy: expected a NumPy array, got ",
               Py_TYPE(array.ptr())->tp_name);
    nb::object a = holds_bfloat16(array) ? nb::borrow(array) : native_array(array);
    return nb::steal(wrap(from_array(a, false)));
  });
  m.def("bytes_of", [](nb::handle h) {  // the bytes of a contiguous tensor as u8, sharing memory
    const Tensor& t = tensor_argument(h.ptr(), "bytes_of");
    check(t.contiguous(), "bytes_of: the tensor must be contiguous");
    int64_t size = dtype_size(t.dtype());
    check_readable(t, "reading its bytes");
    return nb::steal(wrap(Tensor::make(t->storage, DType::U8, {t.numel() * size}, {}, t.offset() * size)));
  });
  m.def("to_numpy", [](nb::handle h) {
    const Tensor& t = tensor_argument(h.ptr(), "numpy");
    return to_numpy(t, keeper_of(t));
  });
  m.def("to_dlpack", &dlpack_capsule);
  m.def("from_dlpack", [](nb::handle source) {
    check_not_capturing("from_dlpack()");
    if (is_array(source.ptr())) return nb::steal(wrap(from_array(source, false)));  // knows what is read-only
    // The object's own method: it refuses what cannot be shared (gradients, lazy conjugates).
    nb::object capsule = nb::hasattr(source, "__dlpack__") ? source.attr("__dlpack__")() : nb::borrow(source);
    Array a;
    if (!nb::try_cast(capsule, a))
      fail(ErrorKind::Type, "from_dlpack: ", Py_TYPE(source.ptr())->tp_name,
           " does not offer a CPU array through __dlpack__");
    return nb::steal(wrap(share(a, true)));
  });
  m.def(
      "frombuffer",
      [](nb::handle buffer, nb::handle dtype, int64_t count, int64_t offset) {
        return nb::steal(wrap(from_buffer(buffer, dtype_from(dtype.ptr()), count, offset)));
      },
      nb::arg("buffer"), nb::kw_only(), nb::arg("dtype"), nb::arg("count") = -1, nb::arg("offset") = 0);
}

}  // namespace hw::bind
