// The declarations for Python: what `headwater.ops` prints and what the generic tests read.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/attrs.h"
#include "bind/bind.h"
#include "eager/eager.h"
#include "kernels/kernel.h"
#include "op/call.h"
#include "op/cost.h"
#include "op/number_rule.h"
#include "op/rules.h"

namespace nb = nanobind;

namespace hw::bind {

namespace {

const char* kind_name(AttrValue::Kind kind) {
  static const char* names[] = {"none", "bool", "int", "float", "number", "str", "ints", "floats", "dtype"};
  return names[static_cast<int>(kind)];
}

std::vector<std::string> dtype_names(DTypeSet set) {
  std::vector<std::string> out;
  for (int i = 0; i < kNumDTypes; ++i)
    if (set >> i & 1) out.emplace_back(dtype_name(static_cast<DType>(i)));
  return out;
}

nb::list inputs_of(const OpDef& op) {
  nb::list inputs;
  for (const InputDef& i : op.inputs()) {
    nb::dict e;
    e["name"] = i.name;
    e["doc"] = i.doc;
    e["dtypes"] = dtype_names(i.dtypes);
    e["optional"] = i.optional;
    e["variadic"] = i.variadic;
    inputs.append(e);
  }
  return inputs;
}

nb::list attrs_of(const OpDef& op) {
  nb::list attrs;
  for (const AttrDef& a : op.attrs()) {
    nb::dict e;
    e["name"] = a.name;
    e["doc"] = a.doc;
    e["kind"] = kind_name(a.kind);
    e["default"] = attr_object(a.otherwise);
    e["required"] = a.required;
    e["nullable"] = a.nullable;
    e["keyword_only"] = a.keyword_only;
    e["varargs"] = a.varargs;
    e["hidden"] = a.hidden;
    attrs.append(e);
  }
  return attrs;
}

nb::list kernels_of(const OpDef& op) {
  nb::list kernels;
  for (const KernelEntry& k : kernel_candidates(op.name(), DeviceType::CPU)) {
    nb::dict e;
    e["name"] = std::string(k.name);
    e["device"] = std::string(device_type_name(k.device));
    e["priority"] = k.priority;
    kernels.append(e);
  }
  return kernels;
}

nb::dict describe(const OpDef& op) {
  static const char* autocast[] = {"same", "lower", "f32", "widest"};
  nb::dict d;
  nb::list outputs, order;
  for (const OutputDef& o : op.outputs()) outputs.append(o.name);
  for (int at : op.order())
    order.append(at >= 0 ? op.inputs()[static_cast<size_t>(at)].name : op.attrs()[static_cast<size_t>(~at)].name);
  d["name"] = op.name();
  d["doc"] = op.doc();
  d["example"] = op.example();
  d["file"] = op.file();
  d["signature"] = signature_text(op);
  d["kind"] = op.kind() == OpKind::Kernel ? "kernel" : op.kind() == OpKind::View ? "view" : "composite";
  d["promotes"] = op.promotion() == Promote::No ? "no" : op.promotion() == Promote::Common ? "common" : "floating";
  d["numbers"] = std::string(number_rule_name(op.number_rule()));
  d["autocast"] = autocast[static_cast<int>(op.autocast())];
  d["inputs"] = inputs_of(op);
  d["attrs"] = attrs_of(op);
  d["outputs"] = outputs;
  d["order"] = order;
  d["kernels"] = kernels_of(op);
  d["inplace"] = op.has_inplace();
  d["random"] = op.is_random();
  d["method"] = op.is_method();
  d["internal"] = op.is_internal();
  d["has_grad"] = op.grad_rule() != nullptr;
  d["no_grad"] = op.no_grad_reason();
  d["cost"] = cost::is_bandwidth_bound(op) ? "bytes" : op.flops_rule() ? "operations" : "";
  d["has_sbp"] = op.sbp_rule() != nullptr;
  d["no_sbp"] = op.no_sbp_reason();
  d["onnx"] = op.onnx();
  d["no_onnx"] = op.no_onnx_reason();
  d["problems"] = op.problems();
  return d;
}

/// Inputs (flattened, None for those not given) and attributes by name, as the tests hand them in.
struct Given {
  const OpDef& op;
  std::vector<TensorSpec> in;
  Attrs attrs;
};

Given given(const std::string& name, nb::sequence inputs, nb::dict attrs) {
  Given g{get_op(name), {}, get_op(name).default_attrs()};
  for (nb::handle h : inputs) g.in.push_back(h.is_none() ? TensorSpec{} : tensor_from(h.ptr(), "inputs").spec());
  if (g.op.variadic_index() < 0) {
    const size_t most = g.op.inputs().size();
    check(g.in.size() <= most, name, " has ", most, " inputs, got ", g.in.size());
    g.in.resize(most);  // kernels find each optional input at its place
  }
  for (auto [key, value] : attrs) {
    int i = g.op.attr_index(nb::cast<std::string>(key));
    check(i >= 0, name, " has no attribute '", nb::cast<std::string>(key), "'");
    g.attrs[static_cast<size_t>(i)] = attr_from(g.op.attrs()[static_cast<size_t>(i)], value);
  }
  return g;
}

nb::object sbp_object(const Sbp& s) {
  return nb::make_tuple(text(s), s.is_split() ? nb::object(nb::int_(s.axis)) : nb::object(nb::none()));
}

nb::list sbp_list(const std::string& name, nb::sequence inputs, nb::dict attrs) {
  Given g = given(name, inputs, attrs);
  InferCtx c{g.op, g.in, g.attrs, compute_dtype(g.op, g.in)};
  std::vector<TensorSpec> out = infer_outputs(c);
  nb::list result;
  for (const SbpSignature& s : sbp_signatures(c, out)) {
    nb::list in, outs;
    for (const Sbp& x : s.inputs) in.append(sbp_object(x));
    for (const Sbp& x : s.outputs) outs.append(sbp_object(x));
    result.append(nb::make_tuple(in, outs));
  }
  return result;
}

nb::list infer_list(const std::string& name, nb::sequence inputs, nb::dict attrs) {
  Given g = given(name, inputs, attrs);
  nb::list result;
  for (const TensorSpec& s : infer_outputs({g.op, g.in, g.attrs, compute_dtype(g.op, g.in)}))
    result.append(nb::make_tuple(nb::borrow(dtype_object(s.dtype)), nb::steal(ints_tuple(s.shape))));
  return result;
}

/// Runs an op by name on flattened inputs: internal ops included.
nb::object run_op(const std::string& name, nb::sequence inputs, nb::dict attrs) {
  Given g = given(name, inputs, attrs);
  Tensors in;
  for (nb::handle h : inputs) in.push_back(h.is_none() ? Tensor() : tensor_from(h.ptr(), "inputs"));
  in.resize(g.in.size());
  nb::list out;
  for (const Tensor& t : interpreter().call(g.op, in, g.attrs)) out.append(nb::steal(wrap(t)));
  return out;
}

}  // namespace

nb::object attr_object(const AttrValue& a) {
  switch (a.kind()) {
    case AttrValue::Kind::None: return nb::none();
    case AttrValue::Kind::Bool: return nb::bool_(a.truth());
    case AttrValue::Kind::Int: return nb::int_(a.i64());
    case AttrValue::Kind::Float: return nb::float_(a.f64());
    case AttrValue::Kind::Scalar: return nb::steal(scalar_object(a.scalar()));
    case AttrValue::Kind::Text: return nb::str(a.text().c_str());
    case AttrValue::Kind::Ints: return nb::steal(ints_tuple(a.ints()));
    case AttrValue::Kind::Floats: return nb::cast(a.floats());
    case AttrValue::Kind::DType: return nb::borrow(dtype_object(a.dtype()));
  }
  return nb::none();
}

AttrValue attr_from(const AttrDef& a, nb::handle o) {
  using Kind = AttrValue::Kind;
  if (o.is_none()) return {};
  if (a.text_allowed && nb::isinstance<nb::str>(o)) return nb::cast<std::string>(o);
  switch (a.kind) {
    case Kind::Bool: return scalar_from(o.ptr()).truth();
    case Kind::Int: return int_from(o.ptr(), a.name.c_str());
    case Kind::Float: return scalar_from(o.ptr()).f64();
    case Kind::Scalar: return scalar_from(o.ptr());
    case Kind::Text: return nb::cast<std::string>(o);
    case Kind::Ints: return ints_from(o.ptr(), a.name.c_str());
    case Kind::Floats: return nb::cast<std::vector<double>>(o);
    case Kind::DType: return dtype_from(o.ptr());
    case Kind::None: break;
  }
  return {};
}

void bind_registry(nb::module_& m) {
  m.def("op_names", [] {
    std::vector<std::string> names;
    for (const OpDef* op : all_ops()) names.push_back(op->name());
    return names;
  });
  m.def("describe_op", [](const std::string& name) { return describe(get_op(name)); });
  m.def("sbp_signatures", &sbp_list, nb::arg("op"), nb::arg("inputs"), nb::arg("attrs") = nb::dict());
  m.def("infer", &infer_list, nb::arg("op"), nb::arg("inputs"), nb::arg("attrs") = nb::dict());
  m.def("run_op", &run_op, nb::arg("op"), nb::arg("inputs"), nb::arg("attrs") = nb::dict());
  m.def(
      "chosen_kernel",
      [](const std::string& name, nb::sequence inputs, nb::dict attrs) {
        Given g = given(name, inputs, attrs);
        return chosen_kernel(g.op, g.in, g.attrs);
      },
      nb::arg("op"), nb::arg("inputs"), nb::arg("attrs") = nb::dict());
  m.def("set_kernels_off", [](const std::string& names) {
    set_kernels_off(names);
    invalidate_prepared();
  });
  m.def("prepared_stats", [] {
    PreparedStats s = prepared_stats();
    return nb::make_tuple(s.hits, s.misses, s.entries);
  });
}

}  // namespace hw::bind
