// Reading a plan as text.
#include "plan/plan.h"

#include "base/text.h"

namespace hw {

static std::string place_text(const Plan& plan, int32_t tensor) {
  if (tensor < 0) return "None";
  const PlanTensor& t = plan.tensors[static_cast<size_t>(tensor)];
  const PlanBuffer& b = plan.buffers[static_cast<size_t>(t.buffer)];
  static constexpr const char* kNames[] = {"arena+", "source", "constant", "output"};
  const bool arena = b.kind == PlanBuffer::Kind::Arena;
  std::string at = text(kNames[static_cast<size_t>(b.kind)], arena ? b.offset + t.offset : int64_t{b.index});
  if (!arena && t.offset) at += text("+", t.offset);
  return text(t.spec, "@", at);
}

static std::string tile_text(const PlanLoop& loop, int32_t tile) {
  if (tile < 0) return "None";
  const PlanTile& t = loop.tiles[static_cast<size_t>(tile)];
  return t.operand < 0 ? text(t.spec, "@scratch+", t.offset) : text(t.spec, "@operand", t.operand);
}

std::string plan_text(const Plan& plan) {
  std::string out = text("plan ", plan.name, ": ", plan.steps.size(), " steps, ", plan.arena_bytes, " bytes of arena (",
                         plan.arena_lower_bound, " at least)\n");
  for (const PlanStep& s : plan.steps) {
    const char* comma = "  ";
    for (int32_t t : s.outputs) append_text(out, text(std::exchange(comma, ", "), place_text(plan, t)));
    append_text(out, text(" = ", s.op, "("));
    comma = "";
    for (int32_t t : s.inputs) append_text(out, text(std::exchange(comma, ", "), place_text(plan, t)));
    append_text(out, text(")  @ ", plan.origins[static_cast<size_t>(s.origin)], "\n"));
    if (s.loop < 0) continue;
    const PlanLoop& loop = plan.loops[static_cast<size_t>(s.loop)];
    append_text(out, text("    ", loop.counts, " pieces, ", loop.scratch_bytes, " bytes of scratch:\n"));
    for (const PlanStep& b : loop.body) {
      append_text(out, text("    ", tile_text(loop, b.outputs[0]), " = ", b.op, "("));
      comma = "";
      for (int32_t t : b.inputs) append_text(out, text(std::exchange(comma, ", "), tile_text(loop, t)));
      append_text(out, ")\n");
    }
  }
  return out;
}

}  // namespace hw
