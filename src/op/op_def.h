// What an operator is: name, arguments, dtype and shape rule, split rule, gradient, cost, ONNX mapping and documentation.
// One OpDef per file in ops/; everything else reads it at run time.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/attr.h"
#include "core/tensor.h"
#include "sbp/sbp.h"

namespace hw {

class OpDef;
class GradCtx;
using Tensors = std::vector<Tensor>;

// ---------------------------------------------------------------- dtypes an input may have
using DTypeSet = uint32_t;
constexpr DTypeSet dtype_bit(DType d) { return 1u << static_cast<int>(d); }
constexpr DTypeSet boolean = dtype_bit(DType::Bool);
constexpr DTypeSet integral =
    dtype_bit(DType::U8) | dtype_bit(DType::I8) | dtype_bit(DType::I16) | dtype_bit(DType::I32) | dtype_bit(DType::I64);
constexpr DTypeSet floating =
    dtype_bit(DType::F16) | dtype_bit(DType::BF16) | dtype_bit(DType::F32) | dtype_bit(DType::F64);
constexpr DTypeSet complex_types = dtype_bit(DType::C64) | dtype_bit(DType::C128);
constexpr DTypeSet index_types = dtype_bit(DType::I32) | dtype_bit(DType::I64);
constexpr DTypeSet real_types = boolean | integral | floating;
constexpr DTypeSet inexact = floating | complex_types;
constexpr DTypeSet numeric = integral | floating | complex_types;  // no bool
constexpr DTypeSet any_dtype = numeric | boolean;
std::string dtype_set_text(DTypeSet set);

// ---------------------------------------------------------------- contexts of the rules
/// What shape, dtype, cost and SBP rules see.
struct InferCtx {
  const OpDef& op;
  std::span<const TensorSpec> in;  // flattened: a variadic input gives several
  const Attrs& attrs;
  DType compute = DType::None;  // common dtype of the inputs, for ops that promote

  const AttrValue& attr(std::string_view name) const;  // bug() if the op has no such attribute
};

struct View {
  Dims shape, strides;
  int64_t offset = 0;  // in elements, relative to the input's first
};

class SbpCtx {
 public:
  SbpCtx(const InferCtx& infer, std::span<const TensorSpec> out, std::vector<SbpSignature>& list)
      : infer_(infer), out_(out), list_(list) {}
  std::span<const TensorSpec> in() const { return infer_.in; }
  std::span<const TensorSpec> out() const { return out_; }
  const Attrs& attrs() const { return infer_.attrs; }
  const AttrValue& attr(std::string_view name) const { return infer_.attr(name); }
  void add(std::vector<Sbp> inputs, std::vector<Sbp> outputs) {
    list_.push_back({std::move(inputs), std::move(outputs)});
  }

 private:
  const InferCtx& infer_;
  std::span<const TensorSpec> out_;
  std::vector<SbpSignature>& list_;
};

using DTypeRule = DType (*)(const InferCtx&);
using ShapeRule = Dims (*)(const InferCtx&);
using InferRule = std::vector<TensorSpec> (*)(const InferCtx&);
using ViewRule = View (*)(const TensorSpec& x, const Attrs& attrs);
using SbpRule = void (*)(SbpCtx&);
using FlopsRule = double (*)(const InferCtx&);
using GradRule = void (*)(GradCtx&);
using Composite = Tensors (*)(std::span<const Tensor> in, const Attrs& attrs);

// ---------------------------------------------------------------- parts of a declaration
struct InputDef {
  std::string name, doc;
  DTypeSet dtypes = any_dtype;
  bool optional = false;
  bool variadic = false;  // a list of tensors; only as the first input or the last
};

struct AttrDef {
  std::string name;
  AttrValue::Kind kind = AttrValue::Kind::None;
  AttrValue otherwise;  // the default
  bool required = false;
  bool nullable = false;  // None is a value
  bool keyword_only = false;
  bool varargs = false;       // x.view(2, 3) as well as x.view((2, 3))
  bool dynamic = false;       // may change from call to call without a new kernel
  bool hidden = false;        // filled by the runner, not by the user
  bool text_allowed = false;  // a text is a value too, whatever the kind: padding="same"
  std::string doc;
};

struct OutputDef {
  std::string name;
  DTypeRule dtype = nullptr;
  ShapeRule shape = nullptr;
};

enum class OpKind : uint8_t { Kernel, View, Composite };
/// What an op does with a Python number that its dtype cannot hold (`op/number_rule.h` keeps the rules).
enum class NumberRule : uint8_t {
  Exact,     // refused (floor_divide, maximum): what an op does that declares nothing
  Wraps,     // taken modulo 2^n, as every integer result of the op is (add, mul, bitwise_and)
  Compares,  // greater or less than every element (eq, lt)
  Stores,    // ends up in the result (fill_, where, scatter): must fit as in torch, where fractions are cut off
  Bounds,    // as an attribute: a bound beyond the range never binds (hardtanh)
};
enum class Promote : uint8_t { No, Common, Floating };       // Floating: integers and bool become the default dtype
enum class Autocast : uint8_t { Same, Lower, F32, Widest };  // what hw.amp does to the floating inputs

class OpDef {
 public:
  // Defined in op_def.cpp, as are the parts': else each op's file compiles them once more.
  explicit OpDef(std::string_view name);
  OpDef(const OpDef&);
  ~OpDef();

  // -------- declaring; each call returns the declaration
  OpDef& doc(std::string_view text);
  OpDef& example(std::string_view python);  // runs as a test; `>>> ` lines with the expected output
  OpDef& in(std::string_view name, std::string_view doc, DTypeSet dtypes = any_dtype);
  OpDef& in_optional(std::string_view name, std::string_view doc, DTypeSet dtypes = any_dtype);
  OpDef& in_list(std::string_view name, std::string_view doc, DTypeSet dtypes = any_dtype);
  /// Items may be None.
  OpDef& in_optional_list(std::string_view name, std::string_view doc, DTypeSet dtypes = any_dtype);
  /// An attribute with a default, whose type is that of the default. nullptr: see attr_none.
  OpDef& attr(std::string_view name, const AttrValue& otherwise, std::string_view doc = "");
  OpDef& attr_required(std::string_view name, AttrValue::Kind kind, std::string_view doc = "");
  /// An attribute of the given kind whose default is None.
  OpDef& attr_none(std::string_view name, AttrValue::Kind kind, std::string_view doc = "");
  OpDef& keyword();  // the attribute declared last, and those after it, are keyword-only
  OpDef& varargs();  // the Ints attribute declared last may be spread over the positional arguments
  OpDef& or_text();  // the attribute declared last may also be a text
  OpDef& dynamic();  // the attribute declared last may change from call to call
  OpDef& out(std::string_view name, DTypeRule dtype, ShapeRule shape);
  OpDef& infer(InferRule rule);       // instead of the rules in out(): for ops whose outputs depend on each other
  OpDef& out(std::string_view name);  // with infer()
  OpDef& promote(Promote how = Promote::Common);
  OpDef& numbers(NumberRule rule);
  OpDef& view(ViewRule rule);
  OpDef& composite(Composite body);  // no kernel and no gradient of its own: written with other ops
  OpDef& inplace();                  // x.op_() exists: output 0 has the shape of input 0
  OpDef& random();  // draws from a generator: adds the hidden attributes seed and draw, keyword generator
  OpDef& autocast(Autocast how);
  OpDef& sbp(SbpRule rule);
  OpDef& no_sbp(std::string_view reason);
  OpDef& flops(FlopsRule rule);  // default: one per output element
  /// `saved` names the inputs and outputs that the rule reads: "x y". Nothing else is kept alive for it.
  OpDef& grad(std::string_view saved, GradRule rule);
  OpDef& no_grad(std::string_view reason);
  OpDef& onnx(std::string_view mapping);  // "Exp", or a formula in ONNX ops: "Sub(Exp(x), 1)"
  OpDef& no_onnx(std::string_view reason);
  OpDef& method(bool yes);  // whether Tensor gets a method; default: yes if the first argument is a tensor
  OpDef& internal();        // not in the public namespace; named with a leading underscore or used by gradients
  OpDef& file(std::string_view path);  // set by RegisterOp

  // -------- reading
  const std::string& name() const { return name_; }
  const std::string& doc() const { return doc_; }
  const std::string& example() const { return example_; }
  const std::vector<InputDef>& inputs() const { return inputs_; }
  const std::vector<AttrDef>& attrs() const { return attrs_; }
  const std::vector<OutputDef>& outputs() const { return outputs_; }
  /// Arguments in Python order: index >= 0 is an input, ~index an attribute.
  const std::vector<int>& order() const { return order_; }
  OpKind kind() const { return kind_; }
  Promote promotion() const { return promote_; }
  NumberRule number_rule() const { return numbers_; }
  Autocast autocast() const { return autocast_; }
  bool is_random() const { return random_; }
  bool has_inplace() const { return inplace_; }
  bool is_internal() const { return internal_; }
  bool is_method() const { return method_; }
  bool needs_attrs() const { return needs_attrs_; }  // some attribute has no default
  bool has_dynamic_attrs() const { return dynamic_attrs_; }
  ViewRule view_rule() const { return view_; }
  InferRule infer_rule() const { return infer_; }
  Composite composite_body() const { return composite_; }
  SbpRule sbp_rule() const { return sbp_; }
  FlopsRule flops_rule() const { return flops_; }
  GradRule grad_rule() const { return grad_; }
  bool saves_inputs() const { return saved_inputs_ != 0; }
  bool saves_outputs() const { return saved_outputs_ != 0; }
  bool saves_input(size_t i) const { return saved_inputs_ >> i & 1; }
  bool saves_output(size_t i) const { return saved_outputs_ >> i & 1; }
  const std::string& no_grad_reason() const { return no_grad_reason_; }
  const std::string& no_sbp_reason() const { return no_sbp_reason_; }
  const std::string& onnx() const { return onnx_; }
  const std::string& no_onnx_reason() const { return no_onnx_reason_; }
  const std::string& file() const { return file_; }
  int attr_index(std::string_view name) const;      // -1 if there is none
  int variadic_index() const { return variadic_; }  // of the variadic input, or -1
  /// The declared input that flattened input i belongs to, given the flattened count.
  const InputDef& input_def(size_t flat, size_t flat_count) const;
  const Attrs& default_attrs() const { return defaults_; }

  /// What is missing from the declaration; empty if it is complete.
  std::string problems() const;

 private:
  AttrDef& add_attr(std::string_view name, AttrValue::Kind kind, std::string_view doc);

  std::string name_, doc_, example_, file_, no_grad_reason_, no_sbp_reason_, onnx_, no_onnx_reason_, saved_;
  std::vector<InputDef> inputs_;
  std::vector<AttrDef> attrs_;
  std::vector<OutputDef> outputs_;
  std::vector<int> order_;
  Attrs defaults_;  // filled by RegisterOp
  OpKind kind_ = OpKind::Kernel;
  Promote promote_ = Promote::No;
  NumberRule numbers_ = NumberRule::Exact;
  Autocast autocast_ = Autocast::Same;
  bool random_ = false, inplace_ = false, internal_ = false, method_ = true, keyword_ = false, dynamic_attrs_ = false,
       needs_attrs_ = false;
  int variadic_ = -1;
  uint64_t saved_inputs_ = 0, saved_outputs_ = 0;
  ViewRule view_ = nullptr;
  InferRule infer_ = nullptr;
  Composite composite_ = nullptr;
  SbpRule sbp_ = nullptr;
  FlopsRule flops_ = nullptr;
  GradRule grad_ = nullptr;

  friend struct RegisterOp;
};

// ---------------------------------------------------------------- registry
/// `static const RegisterOp op = OpDef("expm1")...;` registers at load time, with the path of the declaring file.
struct RegisterOp {
  RegisterOp(const OpDef& def, const char* file = __builtin_FILE());
};

const OpDef* find_op(std::string_view name);  // null if there is none
const OpDef& get_op(std::string_view name);   // throws Error{Key} with the nearest names
const std::vector<const OpDef*>& all_ops();   // sorted by name

}  // namespace hw
