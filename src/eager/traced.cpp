// Recording one call of an operator.
#include "eager/traced.h"

#include "autograd/record.h"
#include "eager/infer.h"
#include "op/call_cost.h"

namespace hw {

TracedOp::TracedOp(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out) : out_(out) {
  event_.kind = TraceEvent::Kind::Op;
  event_.name = op.name();
  if (tracing(kTraceShapes))
    for (const Tensor& t : in) event_.detail += text(event_.detail.empty() ? "" : ", ", t.defined() ? text(t) : "None");
  if (tracing(kTraceOrigins)) event_.origin = origin_text();
  if (tracing(kTraceFlops) && op.kind() == OpKind::Kernel) {
    const std::optional<cost::CallCost> ruled = cost::ruled_cost(op, specs_of(in), attrs);
    if (ruled) event_.flops = ruled->operations;
    count_outputs_ = !ruled;
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
