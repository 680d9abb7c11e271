// The Tensor type: life, numbers, attributes. Written against the C API, since it is on the path of every operation.
#include <nanobind/nanobind.h>

#include <structmember.h>

#include "autograd/node.h"
#include "bind/bind.h"
#include "eager/eager.h"
#include "op/math.h"
#include "op/number_rule.h"

namespace hw::bind {

void ready_dtypes(PyObject* module);  // values.cpp
void set_size_type(PyObject* type);
void set_cpu_device(PyObject* device);

PyObject* wrap_as(PyTypeObject* type, const Tensor& t) {
  auto* self = reinterpret_cast<PyTensor*>(own(type->tp_alloc(type, 0)));
  new (&self->value) Tensor(t);
  t->wrapper = self;
  return reinterpret_cast<PyObject*>(self);
}

PyObject* wrap(const Tensor& t) {
  if (!t.defined()) return Py_NewRef(Py_None);
  if (t->wrapper) return Py_NewRef(static_cast<PyObject*>(t->wrapper));
  return wrap_as(tensor_type, t);
}

static int tensor_traverse(PyObject* o, visitproc visit, void* arg) {
  auto* self = reinterpret_cast<PyTensor*>(o);
  Py_VISIT(Py_TYPE(o));
  Py_VISIT(self->dict);
  return visit_graph(self->value, visit, arg);
}

static int tensor_clear(PyObject* o) {
  auto* self = reinterpret_cast<PyTensor*>(o);
  Py_CLEAR(self->dict);
  clear_graph(self->value);
  return 0;
}

static void tensor_dealloc(PyObject* o) {
  auto* self = reinterpret_cast<PyTensor*>(o);
  PyObject_GC_UnTrack(o);
  // First of all: what runs below may ask for the object of this tensor, and must get a new one.
  if (self->value.defined() && self->value->wrapper == self) self->value->wrapper = nullptr;
  if (self->weakrefs) PyObject_ClearWeakRefs(o);
  Py_CLEAR(self->dict);
  self->value.~Tensor();
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}

/// Tensor(data): a float tensor of the data; Tensor(2, 3): uninitialised, as torch's legacy constructor.
static PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    check_type(!kwargs || PyDict_GET_SIZE(kwargs) == 0,
               "Tensor() takes no keywords; use headwater.tensor(data, dtype=...)");
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    bool sizes = n == 0 || PyLong_Check(PyTuple_GET_ITEM(args, 0));
    if (sizes) {
      Dims shape = n == 0 ? Dims{0} : ints_from(args, "size");
      return wrap_as(type, Tensor::empty(shape, default_dtype()));
    }
    check_type(n == 1, "Tensor() takes data, or sizes");
    return wrap_as(type, tensor_from_data(PyTuple_GET_ITEM(args, 0), default_dtype()).alias());
  });
}

// ---------------------------------------------------------------- numbers
static Tensor operand(PyObject* o) {
  if (is_tensor(o)) return tensor_of(o);
  return is_number(o) ? number(scalar_from(o)) : tensor_from_data(o, DType::None);
}
static bool is_operand(PyObject* o) { return is_tensor(o) || is_number(o) || is_array(o); }

static PyObject* binary(const Op& op, PyObject* a, PyObject* b) {
  if (!is_operand(a) || !is_operand(b)) Py_RETURN_NOTIMPLEMENTED;
  return guarded([&] {
    Tensor in[2] = {operand(a), operand(b)};
    fit_numbers(op.def(), in);
    return wrap(op(in));
  });
}
static PyObject* binary_inplace(const Op& op, PyObject* a, PyObject* b) {
  if (!is_operand(b)) Py_RETURN_NOTIMPLEMENTED;
  return guarded([&] {
    Tensor in[2] = {tensor_of(a), operand(b)};
    fit_numbers(op.def(), in);
    op.inplace({in[0], in[1]});
    return Py_NewRef(a);
  });
}
static PyObject* unary(const Op& op, PyObject* a) {
  return guarded([&] { return wrap(op({tensor_of(a)})); });
}

template <size_t N>
struct Name {
  constexpr Name(const char (&s)[N]) { std::copy_n(s, N, text); }
  char text[N];
};
template <Name name>
const Op& op_named() {
  static const Op op{name.text};
  return op;
}
template <Name name>
PyObject* nb2(PyObject* a, PyObject* b) {
  return binary(op_named<name>(), a, b);
}
template <Name name>
PyObject* nb2i(PyObject* a, PyObject* b) {
  return binary_inplace(op_named<name>(), a, b);
}
template <Name name>
PyObject* nb1(PyObject* a) {
  return unary(op_named<name>(), a);
}

static PyObject* power(PyObject* a, PyObject* b, PyObject*) { return binary(op_named<"pow">(), a, b); }
static PyObject* power_inplace(PyObject* a, PyObject* b, PyObject*) { return binary_inplace(op_named<"pow">(), a, b); }
static PyObject* positive(PyObject* a) { return Py_NewRef(a); }

static int truth(PyObject* o) {
  return guarded(
      [&] {
        const Tensor& t = tensor_of(o);
        check_runtime(t.numel() == 1, "the truth value of a tensor with ", t.numel(), " elements (", t,
                      ") is ambiguous; use .any() or .all()");
        return static_cast<int>(t.item().truth());
      },
      -1);
}
static PyObject* as_int(PyObject* o) {
  return guarded([&] {
    Owned item(scalar_object(tensor_of(o).item()));
    return own(PyNumber_Long(item.get()));
  });
}
static PyObject* as_float(PyObject* o) {
  return guarded([&] {
    Scalar s = tensor_of(o).item();
    check_type(s.kind() != Scalar::Kind::Complex || s.c128().imag() == 0, "a complex value does not convert to float");
    return PyFloat_FromDouble(s.f64());
  });
}
static PyObject* as_index(PyObject* o) {
  return guarded([&] {
    const Tensor& t = tensor_of(o);
    check_type(t.numel() == 1 && !is_inexact(t.dtype()),
               "only integer tensors with one element can serve as an index, got ", t);
    return PyLong_FromLongLong(t.item().i64());
  });
}

static PyObject* tensor_compare(PyObject* a, PyObject* b, int how) {
  const Op* op = nullptr;
  switch (how) {
    case Py_LT: op = &op_named<"lt">(); break;
    case Py_LE: op = &op_named<"le">(); break;
    case Py_EQ: op = &op_named<"eq">(); break;
    case Py_NE: op = &op_named<"ne">(); break;
    case Py_GT: op = &op_named<"gt">(); break;
    default: op = &op_named<"ge">(); break;
  }
  return binary(*op, a, b);
}

static Py_ssize_t length(PyObject* o) {
  return guarded(
      [&] {
        const Tensor& t = tensor_of(o);
        check_type(t.ndim() > 0, "a 0-d tensor has no length");
        if (has_size_hook()) [[unlikely]] {  // len() gives an int, whatever it is given: a symbol cannot pass
          Owned n(size_number(t.shape()[0]));
          check_runtime(PyLong_CheckExact(n.get()), "hw.compile: len() of an axis whose size changes");
        }
        return static_cast<Py_ssize_t>(t.shape()[0]);
      },
      Py_ssize_t{-1});
}
static int assign(PyObject* self, PyObject* key, PyObject* value) { return index_set(self, key, value); }

static Py_hash_t hash_address(PyObject* o) { return static_cast<Py_hash_t>(reinterpret_cast<intptr_t>(o) >> 4); }

template <class F>
static PyType_Slot slot(int id, F* f) {
  return {id, reinterpret_cast<void*>(f)};
}

/// A heap type, so that the package can add operators to it.
static PyTypeObject* make_tensor_type() {
  static PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(PyTensor, dict), READONLY, nullptr},
                                  {"__weaklistoffset__", T_PYSSIZET, offsetof(PyTensor, weakrefs), READONLY, nullptr},
                                  {nullptr, 0, 0, 0, nullptr}};
  static char doc[] =
      "A multi-dimensional array of one element type. Make one with headwater.tensor, zeros, randn, from_numpy, ...";
  std::vector<PyType_Slot> slots = {slot(Py_tp_new, tensor_new),
                                    slot(Py_tp_dealloc, tensor_dealloc),
                                    slot(Py_tp_traverse, tensor_traverse),
                                    slot(Py_tp_clear, tensor_clear),
                                    slot(Py_tp_richcompare, tensor_compare),
                                    slot(Py_tp_hash, hash_address),
                                    slot(Py_mp_length, length),
                                    slot(Py_mp_subscript, index_get),
                                    slot(Py_mp_ass_subscript, assign),
                                    {Py_tp_getset, tensor_getset},
                                    {Py_tp_methods, tensor_methods},
                                    {Py_tp_members, members},
                                    {Py_tp_doc, doc},
                                    slot(Py_nb_add, nb2<"add">),
                                    slot(Py_nb_subtract, nb2<"sub">),
                                    slot(Py_nb_multiply, nb2<"mul">),
                                    slot(Py_nb_true_divide, nb2<"div">),
                                    slot(Py_nb_floor_divide, nb2<"floor_divide">),
                                    slot(Py_nb_remainder, nb2<"remainder">),
                                    slot(Py_nb_power, power),
                                    slot(Py_nb_matrix_multiply, nb2<"matmul">),
                                    slot(Py_nb_and, nb2<"bitwise_and">),
                                    slot(Py_nb_or, nb2<"bitwise_or">),
                                    slot(Py_nb_xor, nb2<"bitwise_xor">),
                                    slot(Py_nb_lshift, nb2<"bitwise_left_shift">),
                                    slot(Py_nb_rshift, nb2<"bitwise_right_shift">),
                                    slot(Py_nb_inplace_add, nb2i<"add">),
                                    slot(Py_nb_inplace_subtract, nb2i<"sub">),
                                    slot(Py_nb_inplace_multiply, nb2i<"mul">),
                                    slot(Py_nb_inplace_true_divide, nb2i<"div">),
                                    slot(Py_nb_inplace_floor_divide, nb2i<"floor_divide">),
                                    slot(Py_nb_inplace_remainder, nb2i<"remainder">),
                                    slot(Py_nb_inplace_power, power_inplace),
                                    slot(Py_nb_inplace_and, nb2i<"bitwise_and">),
                                    slot(Py_nb_inplace_or, nb2i<"bitwise_or">),
                                    slot(Py_nb_inplace_xor, nb2i<"bitwise_xor">),
                                    slot(Py_nb_inplace_lshift, nb2i<"bitwise_left_shift">),
                                    slot(Py_nb_inplace_rshift, nb2i<"bitwise_right_shift">),
                                    slot(Py_nb_negative, nb1<"neg">),
                                    slot(Py_nb_absolute, nb1<"abs">),
                                    slot(Py_nb_invert, nb1<"bitwise_not">),
                                    slot(Py_nb_positive, positive),
                                    slot(Py_nb_bool, truth),
                                    slot(Py_nb_int, as_int),
                                    slot(Py_nb_float, as_float),
                                    slot(Py_nb_index, as_index),
                                    {0, nullptr}};
  PyType_Spec spec = {"headwater.Tensor", sizeof(PyTensor), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots.data()};
  return reinterpret_cast<PyTypeObject*>(own(PyType_FromSpec(&spec)));
}
PyTypeObject* tensor_type = nullptr;

void bind_types(nanobind::module_& m) {
  ready_dtypes(m.ptr());
  tensor_type = make_tensor_type();
  m.attr("Tensor") = nanobind::handle(reinterpret_cast<PyObject*>(tensor_type));
  m.def("set_size_type", [](nanobind::object type) { set_size_type(type.ptr()); });
  m.def("set_cpu_device", [](nanobind::object device) { set_cpu_device(device.ptr()); });
}

}  // namespace hw::bind
