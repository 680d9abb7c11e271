// From an expression to a function: a loop over rows, in it one over the vectors of a row.
#include "codegen/convert.h"
#include "codegen/expression.h"
#include "codegen/operators.h"
#include "kernels/trace/trace.h"

namespace hw {

bool can_write(const FusedNode& node, std::string& why_not) {
  if (node.dtype == DType::None || is_complex(node.dtype) || is_complex(node.compute)) {
    why_not = text(node.functor, " on complex numbers");
    return false;
  }
  if (node.functor == "cast") return true;
  Trace trace;
  const bool found = is_floating(node.compute) ? trace_functor(node.functor, node.compute, node.params, trace)
                                               : has_integer_form(node.functor, node.compute);
  if (!found) why_not = text(node.functor, " in ", node.compute, " is no straight line");
  return found;
}

namespace {

constexpr int kPrefetchBytes = 1024;

class CodeWriter {
 public:
  CodeWriter(const FusedExpression& e, const CodeStyle& style) : e_(e), style_(style), w_(style.lanes) {}

  std::string run() {
    for (size_t i = 0; i < e_.inputs.size(); ++i) load(i);
    for (const FusedNode& n : e_.nodes) node(n);
    for (size_t i = 0; i < e_.outputs.size(); ++i) store(i);
    return function();
  }

 private:
  size_t operands() const { return e_.inputs.size() + e_.outputs.size(); }
  std::string address(size_t operand, DType dtype) {
    return w_.put_varying(text("getelementptr ", stored_as(dtype), ", ptr %p", operand, ", i64 %i"));
  }
  void load(size_t i) {
    const FusedInput& in = e_.inputs[i];
    const std::string from = in.varies ? address(i, in.dtype) : text("%p", i);
    if (style_.streaming && in.varies) prefetch(from);
    values_.push_back(write_load(w_, from, in.dtype, in.varies));
    dtypes_.push_back(in.dtype);
  }
  /// Where much is computed for each element, the machine does not look far enough ahead by itself.
  void prefetch(const std::string& from) {
    const std::string ahead = w_.put_varying(text("getelementptr i8, ptr ", from, ", i64 ", kPrefetchBytes));
    w_.put_last(text("call void @llvm.prefetch.p0(ptr ", ahead, ", i32 0, i32 3, i32 1)"));
  }
  void node(const FusedNode& n) {
    std::vector<std::string> x;
    for (int32_t v : n.inputs) {
      const size_t at = static_cast<size_t>(v);
      x.push_back(n.functor == "cast" ? values_[at] : write_convert(w_, values_[at], dtypes_[at], n.compute));
    }
    DType made = n.functor == "cast" ? dtypes_[static_cast<size_t>(n.inputs[0])] : n.compute;
    const std::string y = n.functor == "cast" ? x[0] : write_node(w_, n, x, made);
    values_.push_back(write_convert(w_, y, made, n.dtype));
    dtypes_.push_back(n.dtype);
  }
  void store(size_t i) {
    const size_t v = static_cast<size_t>(e_.outputs[i]);
    write_store(w_, values_[v], address(e_.inputs.size() + i, dtypes_[v]), dtypes_[v], style_.streaming);
  }
  std::string function() const;

  const FusedExpression& e_;
  CodeStyle style_;
  Writer w_;
  std::vector<std::string> values_;
  std::vector<DType> dtypes_;
};

std::string CodeWriter::function() const {
  std::string s = "define void @k(ptr %operands, ptr %steps, i64 %rows, i64 %n) #0 {\nentry:\n";
  for (size_t o = 0; o < operands(); ++o)
    s += text("  %a", o, " = getelementptr ptr, ptr %operands, i64 ", o, "\n  %b", o, " = load ptr, ptr %a", o,
              ", align 8\n  %c", o, " = getelementptr i64, ptr %steps, i64 ", o, "\n  %s", o, " = load i64, ptr %c", o,
              ", align 8\n");
  s += "  br label %row\nrow:\n";
  for (size_t o = 0; o < operands(); ++o)
    s += text("  %p", o, " = phi ptr [ %b", o, ", %entry ], [ %q", o, ", %next ]\n");
  s += "  %r = phi i64 [ 0, %entry ], [ %r1, %next ]\n";
  s += w_.row();
  s += "  br label %loop\nloop:\n  %i = phi i64 [ 0, %row ], [ %i1, %loop ]\n";
  s += w_.loop();
  s += text("  %i1 = add nuw nsw i64 %i, ", style_.lanes,
            "\n  %more = icmp ult i64 %i1, %n\n  br i1 %more, label %loop, label %next\nnext:\n");
  for (size_t o = 0; o < operands(); ++o) s += text("  %q", o, " = getelementptr i8, ptr %p", o, ", i64 %s", o, "\n");
  s += "  %r1 = add nuw nsw i64 %r, 1\n  %again = icmp ult i64 %r1, %rows\n  br i1 %again, label %row, label %end\n";
  s += "end:\n  ret void\n}\n" + w_.declarations();
  s += "attributes #0 = { nounwind \"prefer-vector-width\"=\"512\" \"min-legal-vector-width\"=\"512\" }\n";
  if (style_.streaming) s += "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n!0 = !{i32 1}\n";
  return s;
}

}  // namespace

std::string write_code(const FusedExpression& expression, const CodeStyle& style, std::string& why_not) {
  for (const FusedNode& n : expression.nodes)
    if (!can_write(n, why_not)) return {};
  return CodeWriter(expression, style).run();
}

}  // namespace hw
