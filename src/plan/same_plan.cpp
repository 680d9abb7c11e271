// Comparing plans, field by field.
#include "plan/same_plan.h"

#include <cstring>

#include "base/text.h"
#include "plan/layout.h"

namespace hw {

namespace {

bool same(const TensorSpec& a, const TensorSpec& b) {
  return a.dtype == b.dtype && a.wrapped == b.wrapped && a.device == b.device && a.shape == b.shape &&
         a.strides == b.strides;
}
bool same(const PlanBuffer& a, const PlanBuffer& b) {
  return a.kind == b.kind && a.index == b.index && a.offset == b.offset && a.bytes == b.bytes;
}
bool same(const PlanTensor& a, const PlanTensor& b) {
  return a.buffer == b.buffer && a.offset == b.offset && same(a.spec, b.spec);
}
bool same(const PlanStep& a, const PlanStep& b) {
  return a.op == b.op && a.inputs == b.inputs && a.outputs == b.outputs && a.attrs == b.attrs &&
         a.bindings == b.bindings && a.compute == b.compute && a.origin == b.origin && a.loop == b.loop &&
         a.bodies == b.bodies && a.scratch_offset == b.scratch_offset && a.scratch_bytes == b.scratch_bytes;
}
bool same(const PlanTile& a, const PlanTile& b) {
  return a.operand == b.operand && a.offset == b.offset && same(a.spec, b.spec) && same(a.last_spec, b.last_spec) &&
         a.steps == b.steps;
}
template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const T& x, const T& y) { return same(x, y); });
}
bool same(const PlanLoop& a, const PlanLoop& b) {
  return a.counts == b.counts && a.has_last == b.has_last && a.num_inputs == b.num_inputs &&
         a.scratch_bytes == b.scratch_bytes && same(a.tiles, b.tiles) && same(a.body, b.body);
}
bool same(const PlanSource& a, const PlanSource& b) {
  return a.name == b.name && same(a.spec, b.spec) && a.state == b.state && a.written == b.written;
}
bool same(const Tensor& a, const Tensor& b) {
  return same(a.spec(), b.spec()) &&
         (extent_of(a.spec()) == 0 || std::memcmp(a.data(), b.data(), static_cast<size_t>(extent_of(a.spec()))) == 0);
}

template <class T>
std::string list_difference(const char* what, const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return text("there are ", a.size(), " and ", b.size(), " of: ", what);
  for (size_t i = 0; i < a.size(); ++i)
    if (!same(a[i], b[i])) return text(what, " ", i);
  return {};
}

}  // namespace

std::string plan_difference(const Plan& a, const Plan& b) {
  if (a.version != b.version) return "version";
  if (a.name != b.name) return "name";
  if (a.outputs != b.outputs) return "outputs";
  if (a.results != b.results) return "results";
  if (a.origins != b.origins) return "origins";
  if (a.arena_bytes != b.arena_bytes || a.arena_lower_bound != b.arena_lower_bound) return "arena";
  if (a.num_draws != b.num_draws || a.num_host != b.num_host) return "numbers of a run";
  for (std::string found :
       {list_difference("buffer", a.buffers, b.buffers), list_difference("tensor", a.tensors, b.tensors),
        list_difference("step", a.steps, b.steps), list_difference("loop", a.loops, b.loops),
        list_difference("source", a.sources, b.sources), list_difference("constant", a.constants, b.constants)})
    if (!found.empty()) return found;
  if (a.bodies.size() != b.bodies.size()) return "bodies";
  for (size_t i = 0; i < a.bodies.size(); ++i)
    if (std::string found = plan_difference(a.bodies[i], b.bodies[i]); !found.empty())
      return text("body ", i, ": ", found);
  return {};
}

}  // namespace hw
