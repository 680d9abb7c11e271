// Recording one call of an operator.
#include "eager/traced.h"

#include "autograd/record.h"
#include "eager/infer.h"
#include "op/rules.h"

namespace hw {

TracedOp::TracedOp(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out) : out_(out) {
  event_.kind = TraceEvent::Kind::Op;
  event_.name = op.name();
  if (tracing(kTraceShapes))
    for (const Tensor& t : in) event_.detail += text(event_.detail.empty() ? "" : ", ", t.defined() ? text(t) : "None");
  if (tracing(kTraceOrigins)) event_.origin = origin_text();
  if (tracing(kTraceFlops) && op.kind() == OpKind::Kernel) {
    count_outputs_ = !op.flops_rule();
    if (op.flops_rule()) try {
        const std::vector<TensorSpec> specs = specs_of(in);
        event_.flops = op.flops_rule()({op, specs, attrs, compute_dtype(op, specs)});
      } catch (const Error&) {  // the call itself will say what is wrong
      }
  }
  event_.memory = trace_thread_memory();
  event_.begin = trace_now();
}

TracedOp::~TracedOp() {
  event_.end = trace_now();
  event_.memory = trace_thread_memory() - event_.memory;
  if (count_outputs_)
    for (const Tensor& t : out_)
      if (t.defined()) event_.flops += static_cast<double>(t.numel());
  if (tracing()) trace_add(std::move(event_));
}

}  // namespace hw
