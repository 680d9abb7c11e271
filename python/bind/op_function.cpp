// The Python function of every op: arguments are matched to the declaration when called, nothing is generated.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <memory>

#include "autograd/node.h"
#include "bind/bind.h"
#include "core/generator.h"
#include "eager/eager.h"
#include "op/call.h"
#include "op/math.h"
#include "op/number_rule.h"
#include "op/rules.h"

namespace nb = nanobind;

namespace hw::bind {

Generator* generator_from(PyObject* o);  // random.cpp

namespace {

/// What the binding works out once per op.
struct OpInfo {
  const OpDef* op;
  std::vector<PyObject*> names;  // interned, in Python order
  size_t num_positional = 0;
  const OpDef* dtype_form = nullptr;  // `_view_dtype` for `view`: what f(x, dtype) means
};

OpInfo& info_of(const OpDef& op) {
  static std::vector<std::unique_ptr<OpInfo>> all;
  for (auto& i : all)
    if (i->op == &op) return *i;
  auto made = std::make_unique<OpInfo>();
  made->op = &op;
  made->dtype_form = find_op("_" + op.name() + "_dtype");
  for (int at : op.order()) {
    bool input = at >= 0;
    const std::string& name =
        input ? op.inputs()[static_cast<size_t>(at)].name : op.attrs()[static_cast<size_t>(~at)].name;
    made->names.push_back(PyUnicode_InternFromString(name.c_str()));
    if (input || !op.attrs()[static_cast<size_t>(~at)].keyword_only) ++made->num_positional;
  }
  all.push_back(std::move(made));
  return *all.back();
}

/// The name of the Python function: `add_` for the in-place form of `add`; `copy_` is in place by itself.
std::string shown_name(const OpDef& op, bool inplace) {
  return inplace && !op.name().ends_with("_") ? op.name() + "_" : op.name();
}

/// Keywords that every op of a kind takes, whatever its declaration says.
struct Extras {
  Tensors out;
  Generator* generator = nullptr;
  bool requires_grad = false;
};

constexpr size_t kMostArguments = 24;

struct Call {
  OpInfo& info;
  PyObject* values[kMostArguments] = {};  // borrowed, in Python order
  Extras extras;
  Owned spread;  // the tuple made of spread-out positional ints
};

void take_extra(Call& c, PyObject* key, PyObject* value) {
  const char* name = utf8(key);
  std::string_view k = name;
  bool creates =
      c.info.op->inputs().empty() || c.info.op->name().ends_with("_like") || c.info.op->name().starts_with("new_");
  if (k == "out") {
    if (value == Py_None) return;
    if (PyTuple_Check(value) || PyList_Check(value)) {
      Owned seq(own(PySequence_Fast(value, "out")));
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(seq.get()); ++i)
        c.extras.out.push_back(tensor_from(PySequence_Fast_GET_ITEM(seq.get(), i), "out"));
    } else {
      check_type(is_tensor(value), "out must be a Tensor, got ", Py_TYPE(value)->tp_name);
      c.extras.out.push_back(tensor_of(value));
    }
    return;
  }
  if (k == "generator" && (c.info.op->is_random() || c.info.op->kind() == OpKind::Composite)) {
    if (value != Py_None) c.extras.generator = generator_from(value);
    return;
  }
  if (creates && k == "requires_grad") return c.extras.requires_grad = PyObject_IsTrue(value) == 1, void();
  if (creates && k == "device") {
    if (value == Py_None) return;
    Owned s(own(PyObject_Str(value)));
    parse_device(utf8(s.get()));
    return;
  }
  if (creates && (k == "layout" || k == "pin_memory" || k == "memory_format")) return;
  fail(ErrorKind::Type, c.info.op->name(), "() got an unexpected keyword argument '", name, "'; its signature is ",
       signature_text(*c.info.op));
}

/// Keywords to their places; a keyword is compared by identity first, since call sites intern it.
void place_keywords(Call& c, PyObject* const* values, PyObject* kwnames) {
  size_t n = c.info.names.size();
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kwnames); ++i) {
    PyObject* key = PyTuple_GET_ITEM(kwnames, i);
    size_t at = n;
    for (size_t j = 0; j < n && at == n; ++j)
      if (c.info.names[j] == key) at = j;
    for (size_t j = 0; j < n && at == n; ++j)
      if (PyUnicode_Compare(c.info.names[j], key) == 0) at = j;
    // torch's older names: `input` for the first argument is `self` there, `axis` for `dim`, `keepdims`, `x`.
    if (at == n) {
      std::string_view k = utf8(key);
      const char* other = k == "axis" ? "dim" : k == "keepdims" ? "keepdim" : k == "self" ? "input" : nullptr;
      for (size_t j = 0; other && j < n && at == n; ++j)
        if (std::string_view(utf8(c.info.names[j])) == other) at = j;
    }
    if (at == n) {
      take_extra(c, key, values[i]);
      continue;
    }
    check_type(!c.values[at], c.info.op->name(), "() got argument '", utf8(key), "' twice");
    c.values[at] = values[i];
  }
}

const AttrDef* attr_at(const OpInfo& info, size_t place) {
  int at = info.op->order()[place];
  return at < 0 ? &info.op->attrs()[static_cast<size_t>(~at)] : nullptr;
}

void place_positional(Call& c, PyObject* const* args, size_t n) {
  const OpInfo& info = c.info;
  for (size_t i = 0; i < n && i < info.num_positional; ++i) {
    const AttrDef* a = attr_at(info, i);
    // x.view(2, 3): the rest of the positional arguments are one list of ints.
    if (a && a->varargs && !PyTuple_Check(args[i]) && !PyList_Check(args[i]) && (n - i > 1 || PyIndex_Check(args[i]))) {
      c.spread = Owned(own(PyTuple_New(static_cast<Py_ssize_t>(n - i))));
      for (size_t j = i; j < n; ++j)
        PyTuple_SET_ITEM(c.spread.get(), static_cast<Py_ssize_t>(j - i), Py_NewRef(args[j]));
      c.values[i] = c.spread.get();
      return;
    }
    c.values[i] = args[i];
  }
  check_type(n <= info.num_positional, info.op->name(), "() takes ", static_cast<int64_t>(info.num_positional),
             " positional arguments but ", static_cast<int64_t>(n), " were given; its signature is ",
             signature_text(*info.op));
}

AttrValue attr_from(const AttrDef& a, PyObject* o) {
  if (o == Py_None) {
    check_type(a.nullable || a.otherwise.none(), "argument '", a.name, "' cannot be None");
    if (a.nullable) return {};
  }
  using Kind = AttrValue::Kind;
  if (a.text_allowed && PyUnicode_Check(o)) return std::string(utf8(o));
  const char* what = a.name.c_str();
  switch (a.kind) {
    case Kind::Bool:
      check_type(PyBool_Check(o) || PyLong_Check(o) || is_tensor(o) || is_number(o), "argument '", a.name,
                 "' must be a bool, got ", Py_TYPE(o)->tp_name);
      return scalar_from(o).truth();
    case Kind::Int: return int_from(o, what);
    case Kind::Float: {
      check_type(is_number(o) || is_tensor(o), "argument '", a.name, "' must be a float, got ", Py_TYPE(o)->tp_name);
      if (PyLong_Check(o) && !PyBool_Check(o)) {  // of any size
        const double d = PyLong_AsDouble(o);
        if (d == -1 && PyErr_Occurred()) throw PythonError{};
        return d;
      }
      Scalar s = scalar_from(o);
      check_type(s.kind() != Scalar::Kind::Complex, "argument '", a.name, "' must be a float, got a complex number");
      return s.f64();
    }
    case Kind::Scalar:
      check_type(is_number(o) || is_tensor(o), "argument '", a.name, "' must be a number, got ", Py_TYPE(o)->tp_name);
      return scalar_from(o);
    case Kind::Text:
      check_type(PyUnicode_Check(o), "argument '", a.name, "' must be a string, got ", Py_TYPE(o)->tp_name);
      return std::string(utf8(o));
    case Kind::Ints: return ints_from(o, what);
    case Kind::Floats: {
      std::vector<double> list;
      if (is_number(o)) return std::vector<double>{scalar_from(o).f64()};
      check_type(PySequence_Check(o), "argument '", a.name, "' must be a list of floats, got ", Py_TYPE(o)->tp_name);
      Owned seq(own(PySequence_Fast(o, "expected a sequence")));
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(seq.get()); ++i)
        list.push_back(scalar_from(PySequence_Fast_GET_ITEM(seq.get(), i)).f64());
      return list;
    }
    case Kind::DType: return dtype_from(o);
    case Kind::None: break;
  }
  bug("attribute '", a.name, "' has no kind");
}

void append_input(const InputDef& def, PyObject* o, Tensors& list) {
  if (!def.variadic) {
    if (!o || o == Py_None) {
      check_type(def.optional, "missing argument '", def.name, "'");
      return list.emplace_back(), void();
    }
    return list.push_back(tensor_from(o, def.name.c_str())), void();
  }
  check_type(o && (PyTuple_Check(o) || PyList_Check(o)), "argument '", def.name,
             "' must be a list or tuple of tensors, got ", o ? Py_TYPE(o)->tp_name : "nothing");
  Owned seq(own(PySequence_Fast(o, "tensors")));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(seq.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(seq.get(), i);
    if (item == Py_None && def.optional)
      list.emplace_back();
    else
      list.push_back(tensor_from(item, def.name.c_str(), i));
  }
}

/// An `out` without elements becomes the result, as torch has it: out=hw.empty(0).
bool take_place(const Tensor& out, const Tensor& result) {
  if (out.numel() != 0 || out.shape() == result.shape() || out.dtype() != result.dtype() || requires_grad(out) ||
      requires_grad(result))
    return false;
  const Tensor made = clone(result);
  TensorBody& body = *out.body();
  body.storage = made->storage;
  body.offset = made->offset;
  body.numel = made->numel;
  body.contiguous = made->contiguous;
  body.shape = made->shape;
  body.strides = made->strides;
  body.global = made->global;
  return true;
}

PyObject* run_call(Call& c, bool inplace) {
  const OpDef& op = *c.info.op;
  Tensors in;
  in.reserve(op.inputs().size());
  const Attrs* attrs = &op.default_attrs();
  Attrs changed;
  const auto& order = op.order();
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] >= 0) {
      append_input(op.inputs()[static_cast<size_t>(order[i])], c.values[i], in);
      continue;
    }
    const AttrDef& a = op.attrs()[static_cast<size_t>(~order[i])];
    if (!c.values[i]) {
      check_type(!a.required, "missing argument '", a.name, "'");
      continue;
    }
    if (attrs != &changed) {
      changed = op.default_attrs();
      attrs = &changed;
    }
    changed[static_cast<size_t>(~order[i])] = attr_from(a, c.values[i]);
  }
  fit_numbers(op, in);
  if (inplace) return wrap(interpreter().call_inplace(op, in, *attrs));
  if (!c.extras.out.empty()) {
    static const Op copy{"copy_"};
    Tensors results = interpreter().call(op, in, *attrs);
    check_type(results.size() == c.extras.out.size(), "out must hold ", static_cast<int64_t>(results.size()),
               " tensors");
    for (size_t i = 0; i < results.size(); ++i) {
      if (take_place(c.extras.out[i], results[i])) continue;
      check_runtime(c.extras.out[i].shape() == results[i].shape(), "out has shape ", c.extras.out[i].shape(),
                    ", the result ", results[i].shape());
      check_runtime(can_cast(results[i].dtype(), c.extras.out[i].dtype()), "the result is ", results[i].dtype(),
                    ", which cannot be stored in out, ", c.extras.out[i]);
      copy.inplace({c.extras.out[i], results[i]});
    }
    return outputs_object(op, c.extras.out);
  }
  if (op.kind() != OpKind::Composite && op.outputs().size() == 1) {
    Tensor out;
    interpreter().run(op, in, *attrs, {&out, 1});
    if (c.extras.requires_grad) {
      Owned o(wrap(out));
      if (PyObject_SetAttrString(o.get(), "requires_grad", Py_True) < 0) throw PythonError{};
      return o.take();
    }
    return wrap(out);
  }
  Tensors out = interpreter().call(op, in, *attrs);
  Owned result(outputs_object(op, out));
  if (c.extras.requires_grad && PyObject_SetAttrString(result.get(), "requires_grad", Py_True) < 0) throw PythonError{};
  return result.take();
}

struct GeneratorScope {
  explicit GeneratorScope(Generator* g) : given(g), before(g ? set_current_generator(g) : nullptr) {}
  ~GeneratorScope() {
    if (given) set_current_generator(before);
  }
  Generator *given, *before;
};

PyObject* call_info(OpInfo& info, PyObject* const* args, size_t n, PyObject* kwnames, bool inplace) {
  if (info.dtype_form) [[unlikely]] {
    const bool by_name = n == 1 && kwnames && PyTuple_GET_SIZE(kwnames) == 1 &&
                         PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "dtype") == 0;
    if (by_name || (n == 2 && !kwnames && is_dtype(args[1])))
      return call_info(info_of(*info.dtype_form), args, n, kwnames, inplace);
  }
  Call c{info, {}, {}, Owned()};
  try {
    place_positional(c, args, n);
    if (kwnames) place_keywords(c, args + n, kwnames);
    check_type(!inplace || c.extras.out.empty(), "the result is written into the first argument; out is not taken");
    GeneratorScope scope(c.extras.generator);
    return run_call(c, inplace);
  } catch (const Error& e) {
    if (e.message().starts_with(info.op->name())) throw;
    throw Error(e.kind(), text(shown_name(*info.op, inplace), "(): ", e.message()));
  }
}

// ---------------------------------------------------------------- the function object
struct OpFunction {
  PyObject_HEAD vectorcallfunc vectorcall;
  OpInfo* info;
  PyObject* dict;
  bool inplace;
};

PyObject* op_function_call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  auto* f = reinterpret_cast<OpFunction*>(self);
  return guarded(
      [&] { return call_info(*f->info, args, static_cast<size_t>(PyVectorcall_NARGS(nargsf)), kwnames, f->inplace); });
}

PyObject* op_function_get(PyObject* self, PyObject* obj, PyObject*) {
  if (!obj || obj == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, obj);
}

std::string op_function_name(PyObject* self) {
  auto* f = reinterpret_cast<OpFunction*>(self);
  return shown_name(*f->info->op, f->inplace);
}

PyObject* op_function_repr(PyObject* self) {
  std::string s = text("<headwater op ", op_function_name(self), ">");
  return PyUnicode_FromString(s.c_str());
}

std::string document(const OpDef& op) {
  std::string s = signature_text(op) + "\n\n" + op.doc() + "\n";
  if (!op.inputs().empty()) s += "\nArgs:\n";
  for (int at : op.order()) {
    if (at >= 0) {
      const InputDef& i = op.inputs()[static_cast<size_t>(at)];
      s += text("    ", i.name,
                i.variadic   ? " (list of Tensor): "
                : i.optional ? " (Tensor, optional): "
                             : " (Tensor): ",
                i.doc, i.doc.empty() ? "" : "; ", dtype_set_text(i.dtypes), ".\n");
    } else {
      const AttrDef& a = op.attrs()[static_cast<size_t>(~at)];
      if (!a.hidden)
        s += text("    ", a.name, ": ", a.doc, a.doc.empty() ? "" : ". ",
                  a.required ? "Required." : text("Default: ", a.otherwise, "."), "\n");
    }
  }
  if (!op.example().empty()) s += "\nExample:\n    " + op.example() + "\n";
  return s;
}

PyObject* text_object(const std::string& s) {
  return PyUnicode_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size()));
}

PyGetSetDef op_function_getset[] = {
    {"__name__", [](PyObject* s, void*) { return text_object(op_function_name(s)); }, nullptr, nullptr, nullptr},
    {"__qualname__", [](PyObject* s, void*) { return text_object(op_function_name(s)); }, nullptr, nullptr, nullptr},
    {"__module__", [](PyObject*, void*) { return PyUnicode_FromString("headwater"); }, nullptr, nullptr, nullptr},
    {"__doc__", [](PyObject* s, void*) { return text_object(document(*reinterpret_cast<OpFunction*>(s)->info->op)); },
     nullptr, nullptr, nullptr},
    {"__text_signature__",
     [](PyObject* s, void*) {
       std::string t = signature_text(*reinterpret_cast<OpFunction*>(s)->info->op);
       return text_object(t.substr(t.find('(')));
     },
     nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyObject* op_function_reduce(PyObject* self, PyObject*) { return text_object(op_function_name(self)); }
PyMethodDef op_function_methods[] = {{"__reduce__", op_function_reduce, METH_NOARGS, nullptr},
                                     {nullptr, nullptr, 0, nullptr}};

PyTypeObject make_op_function_type() {
  PyTypeObject t = {PyVarObject_HEAD_INIT(nullptr, 0)};
  t.tp_name = "headwater.op_function";
  t.tp_basicsize = sizeof(OpFunction);
  t.tp_vectorcall_offset = offsetof(OpFunction, vectorcall);
  t.tp_call = PyVectorcall_Call;
  t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR;
  t.tp_descr_get = op_function_get;
  t.tp_repr = op_function_repr;
  t.tp_getset = op_function_getset;
  t.tp_methods = op_function_methods;
  return t;
}
PyTypeObject op_function_type = make_op_function_type();

PyObject* make_op_function(const OpDef& op, bool inplace) {
  auto* f = PyObject_New(OpFunction, &op_function_type);
  if (!f) throw PythonError{};
  f->vectorcall = op_function_call;
  f->info = &info_of(op);
  f->dict = nullptr;
  f->inplace = inplace;
  return reinterpret_cast<PyObject*>(f);
}

}  // namespace

PyObject* call_op(const OpDef& op, PyObject* const* args, size_t num_args, PyObject* kwnames, bool inplace) {
  return call_info(info_of(op), args, num_args, kwnames, inplace);
}

static PyObject* g_result_types = nullptr;  // name -> namedtuple class, filled from Python

PyObject* outputs_object(const OpDef& op, const Tensors& out) {
  bool list = op.outputs().size() == 1 && op.outputs()[0].name.ends_with("...");
  if (out.size() == 1 && !list) return wrap(out[0]);
  Owned tuple(own(PyTuple_New(static_cast<Py_ssize_t>(out.size()))));
  for (size_t i = 0; i < out.size(); ++i) PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap(out[i]));
  if (list || !g_result_types) return tuple.take();
  PyObject* type = PyDict_GetItemString(g_result_types, op.name().c_str());
  return type ? own(PyObject_CallObject(type, tuple.get())) : tuple.take();
}

void bind_ops(nb::module_& m) {
  if (PyType_Ready(&op_function_type) < 0) throw PythonError{};
  m.attr("op_function") = nb::handle(reinterpret_cast<PyObject*>(&op_function_type));
  m.def(
      "op_function_of",
      [](const std::string& name, bool inplace) { return nb::steal(make_op_function(get_op(name), inplace)); },
      nb::arg("name"), nb::arg("inplace") = false);
  m.def("set_result_types", [](nb::dict types) { g_result_types = types.inc_ref().ptr(); });
}

}  // namespace hw::bind
