// Operators as instructions; see the header.
#include "codegen/operators.h"

#include <algorithm>
#include <limits>

#include "kernels/trace/trace.h"

namespace hw {

namespace {

using Type = TraceOp::Type;

/// One operation of a trace after the other.
class TraceWriter {
 public:
  TraceWriter(Writer& w, const Trace& trace, std::span<const std::string> inputs)
      : w_(w), trace_(trace), inputs_(inputs) {}

  std::string run() {
    for (const TraceOp& op : trace_.ops) {
      now_ = &op;
      names_.push_back(write(op));
    }
    return names_[static_cast<size_t>(trace_.result)];
  }

 private:
  Type type_of(int32_t i) const { return trace_.ops[static_cast<size_t>(i)].type; }
  const std::string& a() const { return names_[static_cast<size_t>(now_->a)]; }
  const std::string& b() const { return names_[static_cast<size_t>(now_->b)]; }
  const std::string& c() const { return names_[static_cast<size_t>(now_->c)]; }
  static bool is_float(Type t) { return t == Type::F32 || t == Type::F64; }
  static DType dtype(Type t) { return t == Type::F64 ? DType::F64 : DType::F32; }
  static std::string_view element(Type t) {
    switch (t) {
      case Type::F32: return "float";
      case Type::F64: return "double";
      case Type::U32: return "i32";
      case Type::U64: return "i64";
      case Type::Mask: return "i1";
    }
    return "";
  }
  std::string vec(Type t) const { return w_.vector(element(t)); }

  std::string binary(std::string_view name) {
    return w_.put(text(name, " ", vec(now_->type), " ", a(), ", ", b()), {a(), b()});
  }
  std::string compare(std::string_view floats, std::string_view ints) {
    const Type t = type_of(now_->a);
    return w_.put(text(is_float(t) ? "fcmp " : "icmp ", is_float(t) ? floats : ints, " ", vec(t), " ", a(), ", ", b()),
                  {a(), b()});
  }
  /// a > b ? a : b as the instruction of the machine has it.
  std::string extreme(std::string_view order) {
    const std::string m = w_.put(text("fcmp ", order, " ", vec(now_->type), " ", a(), ", ", b()), {a(), b()});
    return select(m, a(), b());
  }
  std::string select(const std::string& m, const std::string& yes, const std::string& no) {
    return w_.put(
        text("select ", w_.vector("i1"), " ", m, ", ", vec(now_->type), " ", yes, ", ", vec(now_->type), " ", no),
        {m, yes, no});
  }
  std::string unary_call(std::string_view name) { return w_.call(name, dtype(now_->type), {a()}); }
  std::string bits(Type from, const std::string& value, Type to) {
    return w_.put(text("bitcast ", vec(from), " ", value, " to ", vec(to)), {value});
  }
  std::string shift(std::string_view name) {
    const std::string by = splat_int(element(now_->type), static_cast<int64_t>(now_->bits));
    return w_.put(text(name, " ", vec(now_->type), " ", a(), ", ", by), {a()});
  }
  std::string sign_mask() {
    const Type t = type_of(now_->a), ints = t == Type::F64 || t == Type::U64 ? Type::U64 : Type::U32;
    const std::string u = is_float(t) ? bits(t, a(), ints) : a();
    return w_.put(text("icmp slt ", vec(ints), " ", u, ", zeroinitializer"), {u});
  }
  std::string constant() const {
    if (is_float(now_->type)) return splat_bits(now_->type == Type::F64, now_->bits);
    return splat_int(element(now_->type), static_cast<int64_t>(now_->bits));
  }
  /// Of a fused multiply-add.
  std::string addend() {
    const TraceOp& op = trace_.ops[static_cast<size_t>(now_->c)];
    const bool number = op.kind == TraceKind::Const && op.type == Type::F32 && op.bits != 0;
    return number ? w_.from_memory(static_cast<uint32_t>(op.bits)) : c();
  }
  std::string write(const TraceOp& op);

  Writer& w_;
  const Trace& trace_;
  std::span<const std::string> inputs_;
  std::vector<std::string> names_;
  const TraceOp* now_ = nullptr;
};

std::string TraceWriter::write(const TraceOp& op) {
  const bool floats = is_float(op.type);
  switch (op.kind) {
    case TraceKind::Input: return inputs_[static_cast<size_t>(op.bits)];
    case TraceKind::Const: return constant();
    case TraceKind::Add: return binary(floats ? "fadd" : "add");
    case TraceKind::Sub: return binary(floats ? "fsub" : "sub");
    case TraceKind::Mul: return binary(floats ? "fmul" : "mul");
    case TraceKind::Div: return binary("fdiv");
    case TraceKind::Fma: return w_.call("fma", dtype(op.type), {a(), b(), addend()});
    case TraceKind::Neg: return w_.put(text("fneg ", vec(op.type), " ", a()), {a()});
    case TraceKind::Abs: return unary_call("fabs");
    case TraceKind::Sqrt: return unary_call("sqrt");
    case TraceKind::Floor: return unary_call("floor");
    case TraceKind::Ceil: return unary_call("ceil");
    case TraceKind::Trunc: return unary_call("trunc");
    case TraceKind::Round: return unary_call("roundeven");
    case TraceKind::CopySign: return w_.call("copysign", dtype(op.type), {a(), b()});
    case TraceKind::Max: return extreme("ogt");
    case TraceKind::Min: return extreme("olt");
    case TraceKind::Less: return compare("olt", "ult");
    case TraceKind::LessEqual: return compare("ole", "ule");
    case TraceKind::Equal: return compare("oeq", "eq");
    case TraceKind::And: return binary("and");
    case TraceKind::Or: return binary("or");
    case TraceKind::Not: return w_.put(text("xor ", w_.vector("i1"), " ", a(), ", splat (i1 true)"), {a()});
    case TraceKind::Select: return select(a(), b(), c());
    case TraceKind::AsBits: return bits(op.type == Type::U64 ? Type::F64 : Type::F32, a(), op.type);
    case TraceKind::AsFloat: return bits(op.type == Type::F64 ? Type::U64 : Type::U32, a(), op.type);
    case TraceKind::ShiftLeft: return shift("shl");
    case TraceKind::ShiftRight: return shift("lshr");
    case TraceKind::SignMask: return sign_mask();
  }
  return {};
}

/// Operators on integers and bool by one instruction: of signed, of unsigned numbers (null: the same), of bool (null: none).
struct IntegerForm {
  std::string_view functor, of_signed, of_unsigned, of_bool;
};
constexpr IntegerForm kBinary[] = {
    {"add", "add", "", "or"},          {"sub", "sub", "", "xor"},      {"mul", "mul", "", "and"},
    {"bitwise_and", "and", "", "and"}, {"bitwise_or", "or", "", "or"}, {"bitwise_xor", "xor", "", "xor"},
};
constexpr IntegerForm kCompare[] = {
    {"eq", "eq", "", "eq"},      {"ne", "ne", "", "ne"},      {"lt", "slt", "ult", "ult"},
    {"le", "sle", "ule", "ule"}, {"gt", "sgt", "ugt", "ugt"}, {"ge", "sge", "uge", "uge"},
};
/// a if the comparison holds, else b.
constexpr IntegerForm kPick[] = {
    {"maximum", "sgt", "ugt", "ugt"}, {"minimum", "slt", "ult", "ult"}, {"_clamp_min", "sgt", "ugt", ""},
    {"_clamp_max", "slt", "ult", ""}, {"fmax", "sge", "uge", "uge"},    {"fmin", "sle", "ule", "ule"},
};
constexpr std::string_view kOther[] = {"where",       "neg",        "square",      "abs",         "bitwise_not",
                                       "logical_and", "logical_or", "logical_xor", "logical_not", "relu"};

template <size_t N>
const IntegerForm* find_form(const IntegerForm (&forms)[N], std::string_view functor) {
  for (const IntegerForm& f : forms)
    if (f.functor == functor) return &f;
  return nullptr;
}

bool is_unsigned(DType d) { return d == DType::U8 || d == DType::Bool; }

std::string_view form_of(const IntegerForm& f, DType d) {
  if (d == DType::Bool) return f.of_bool;
  return d == DType::U8 && !f.of_unsigned.empty() ? f.of_unsigned : f.of_signed;
}

class IntegerWriter {
 public:
  IntegerWriter(Writer& w, const FusedNode& node, std::span<const std::string> x)
      : w_(w), node_(node), x_(x), vec_(w.vector(held_as(node.compute))) {}

  std::string run(DType& dtype) {
    dtype = node_.compute;
    const std::string_view f = node_.functor;
    if (const IntegerForm* form = find_form(kBinary, f)) return both(form_of(*form, node_.compute), x_[0], x_[1]);
    if (const IntegerForm* form = find_form(kPick, f))
      return pick(compare(form_of(*form, node_.compute), x_[0], x_[1]), x_[0], x_[1]);
    if (f == "where") return pick(set(x_[0]), x_[1], x_[2]);
    if (f == "neg") return both("sub", "zeroinitializer", x_[0]);
    if (f == "square") return both("mul", x_[0], x_[0]);
    if (f == "relu")
      return pick(compare(is_unsigned(node_.compute) ? "ult" : "slt", x_[0], "zeroinitializer"), "zeroinitializer",
                  x_[0]);
    if (f == "abs") {
      if (is_unsigned(node_.compute)) return x_[0];
      return pick(compare("slt", x_[0], "zeroinitializer"), both("sub", "zeroinitializer", x_[0]), x_[0]);
    }
    if (f == "bitwise_not")
      return both("xor", x_[0],
                  node_.compute == DType::Bool ? "splat (i1 true)" : splat_int(held_as(node_.compute), -1));
    dtype = DType::Bool;
    if (const IntegerForm* form = find_form(kCompare, f)) return compare(form_of(*form, node_.compute), x_[0], x_[1]);
    if (f == "logical_not") return compare("eq", x_[0], "zeroinitializer");
    const std::string_view joined = f == "logical_and" ? "and" : f == "logical_or" ? "or" : "xor";
    const std::string p = set(x_[0]), q = set(x_[1]);
    return w_.put(text(joined, " ", w_.vector("i1"), " ", p, ", ", q), {p, q});
  }

 private:
  std::string both(std::string_view name, const std::string& a, const std::string& b) {
    return w_.put(text(name, " ", vec_, " ", a, ", ", b), {a, b});
  }
  std::string compare(std::string_view order, const std::string& a, const std::string& b) {
    return w_.put(text("icmp ", order, " ", vec_, " ", a, ", ", b), {a, b});
  }
  std::string pick(const std::string& m, const std::string& a, const std::string& b) {
    return w_.put(text("select ", w_.vector("i1"), " ", m, ", ", vec_, " ", a, ", ", vec_, " ", b), {m, a, b});
  }
  std::string set(const std::string& a) { return compare("ne", a, "zeroinitializer"); }

  Writer& w_;
  const FusedNode& node_;
  std::span<const std::string> x_;
  std::string vec_;
};

}  // namespace

bool has_integer_form(std::string_view functor, DType compute) {
  for (const auto* form : {find_form(kBinary, functor), find_form(kCompare, functor), find_form(kPick, functor)})
    if (form) return !form_of(*form, compute).empty();
  if (compute == DType::Bool && (functor == "neg" || functor == "square" || functor == "abs" || functor == "relu"))
    return false;
  return std::find(std::begin(kOther), std::end(kOther), functor) != std::end(kOther);
}

std::string write_node(Writer& w, const FusedNode& node, std::span<const std::string> inputs, DType& dtype) {
  if (!is_floating(node.compute)) return IntegerWriter(w, node, inputs).run(dtype);
  Trace trace;
  trace_functor(node.functor, node.compute, node.params, trace);
  dtype = trace.ops[static_cast<size_t>(trace.result)].type == Type::Mask ? DType::Bool : node.compute;
  return TraceWriter(w, trace, inputs).run();
}

}  // namespace hw
