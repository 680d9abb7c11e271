// Writes headwater/ops.h, the typed C++ functions of all operators, from the declarations. Runs at build time; the header is not in
// the source tree.
#include <cstdio>
#include <fstream>
#include <set>

#include "base/text.h"
#include "op/op_def.h"
#include "op/rules.h"

using namespace hw;

namespace {

std::string cpp_type(const AttrDef& a) {
  if (a.nullable) return "AttrValue";
  switch (a.kind) {
    case AttrValue::Kind::Bool: return "bool";
    case AttrValue::Kind::Int: return "int64_t";
    case AttrValue::Kind::Float: return "double";
    case AttrValue::Kind::Scalar: return "Scalar";
    case AttrValue::Kind::Text: return "std::string";
    case AttrValue::Kind::Ints: return "Dims";
    case AttrValue::Kind::Floats: return "std::vector<double>";
    case AttrValue::Kind::DType: return "DType";
    case AttrValue::Kind::None: break;
  }
  return "AttrValue";
}

std::string number_text(double v) {
  if (v != v) return "std::numeric_limits<double>::quiet_NaN()";
  if (v > 1.7e308) return "std::numeric_limits<double>::infinity()";
  if (v < -1.7e308) return "-std::numeric_limits<double>::infinity()";
  std::string s = text(v);
  return s.find_first_of(".e") == std::string::npos ? s + ".0" : s;
}

std::string cpp_default(const AttrDef& a) {
  const AttrValue& v = a.otherwise;
  if (a.nullable || v.none()) return "{}";
  switch (v.kind()) {
    case AttrValue::Kind::Bool: return v.truth() ? "true" : "false";
    case AttrValue::Kind::Int: return text(v.i64());
    case AttrValue::Kind::Float: return number_text(v.f64());
    case AttrValue::Kind::Scalar:
      return v.scalar().kind() == Scalar::Kind::Float  ? "Scalar(" + number_text(v.f64()) + ")"
             : v.scalar().kind() == Scalar::Kind::Bool ? (v.truth() ? "Scalar(true)" : "Scalar(false)")
                                                       : text("Scalar(int64_t{", v.i64(), "})");
    case AttrValue::Kind::Text: return '"' + v.text() + '"';
    case AttrValue::Kind::Ints: {
      std::string s = text(v.ints());
      return "Dims{" + s.substr(1, s.size() - 2) + "}";
    }
    case AttrValue::Kind::Floats: {
      std::string s = text(v);
      return "{" + s.substr(1, s.size() - 2) + "}";
    }
    case AttrValue::Kind::DType: return text("dtype_from_name(\"", v.dtype(), "\")");
    case AttrValue::Kind::None: break;
  }
  return "{}";
}

std::string identifier(const std::string& name) {
  static const std::set<std::string> reserved = {"default", "float", "double", "int", "bool",   "and",
                                                 "or",      "xor",   "not",    "new", "delete", "signed"};
  return reserved.count(name) ? name + "_value" : name;
}

/// C++ wants arguments without default first: a required one after an optional one loses nothing by moving.
std::string parameters(const OpDef& op, bool inplace) {
  std::vector<std::string> required, optional;
  for (int at : op.order()) {
    if (at >= 0) {
      const InputDef& i = op.inputs()[static_cast<size_t>(at)];
      if (i.variadic)
        required.push_back("std::span<const Tensor> " + identifier(i.name));
      else if (i.optional)
        optional.push_back("const Input& " + identifier(i.name) + " = {}");
      else
        required.push_back((inplace && at == 0 ? "const Tensor& " : "const Input& ") + identifier(i.name));
      continue;
    }
    const AttrDef& a = op.attrs()[static_cast<size_t>(~at)];
    std::string p = cpp_type(a) + " " + identifier(a.name);
    if (a.required)
      required.push_back(p);
    else
      optional.push_back(p + " = " + cpp_default(a));
  }
  std::string out;
  for (const auto* list : {&required, &optional})
    for (const std::string& p : *list) out += (out.empty() ? "" : ", ") + p;
  return out;
}

std::string body(const OpDef& op, bool inplace, const std::string& result) {
  std::string in = "Tensors in;\n  in.reserve(" + text(op.inputs().size()) + ");\n";
  for (const InputDef& i : op.inputs()) {
    std::string n = identifier(i.name);
    bool plain = inplace && &i == &op.inputs()[0];
    in += i.variadic ? "  in.insert(in.end(), " + n + ".begin(), " + n + ".end());\n"
                     : "  in.push_back(" + n + (plain ? ");\n" : ".value);\n");
  }
  std::string attrs;
  for (const AttrDef& a : op.attrs())
    if (!a.hidden) attrs += (attrs.empty() ? "" : ", ") + ("AttrValue(" + identifier(a.name) + ")");
  return "  static const hw::Op op{\"" + op.name() + "\"};\n  " + in + "  " + text(result, "{", attrs, "}") + ");\n";
}

void write(std::ofstream& f, const OpDef& op, bool inplace) {
  bool list = op.outputs().size() == 1 && op.outputs()[0].name.ends_with("...");
  size_t n = op.outputs().size();
  std::string type = inplace || (n == 1 && !list) ? "Tensor" : list ? "Tensors" : "std::array<Tensor, " + text(n) + ">";
  std::string name = op.name() + (inplace && !op.name().ends_with("_") ? "_" : "");
  f << "/// " << op.doc() << "\ninline " << type << " " << identifier(name) << "(" << parameters(op, inplace)
    << ") {\n";
  if (inplace)
    f << body(op, true, "return detail::call_inplace(op, in, ");
  else if (type == "Tensor")
    f << body(op, false, "return op(std::span<const Tensor>(in), ");
  else if (list)
    f << body(op, false, "return op.all(std::span<const Tensor>(in), ");
  else
    f << body(op, false, "return detail::first<" + text(n) + ">(op, in, ");
  f << "}\n\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: ops_header FILE\n"), 2;
  std::ofstream f(argv[1]);
  f << "// The operators as C++ functions. Written at build time from their declarations.\n#pragma once\n\n"
       "#include <array>\n#include <limits>\n#include <span>\n#include <string>\n#include <vector>\n\n"
       "#include \"headwater/call.h\"\n\nnamespace headwater {\n\n";
  for (const OpDef* op : all_ops()) {
    if (op->is_internal()) continue;
    bool mutates = op->name().ends_with("_");
    if (!mutates) write(f, *op, false);
    if (op->has_inplace() || mutates) write(f, *op, true);
  }
  f << "}  // namespace headwater\n";
  return f.good() ? 0 : 1;
}
