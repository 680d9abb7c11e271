// The costs of a computation on "meta" meshes.
#include "eager/global/rehearsal.h"

#include <algorithm>

#include "eager/infer.h"
#include "op/call_cost.h"
#include "sbp/transfer.h"

namespace hw {

namespace {

/// The part of the mesh's first rank, as a spec.
TensorSpec part_of(const TensorSpec& spec, const Place* place) {
  if (!place || !spec.given()) return spec;
  TensorSpec part = spec;
  part.shape = local_dims(place, spec.shape, 0);
  part.strides = contiguous_strides(part.shape);
  return part;
}

double bytes_of(const TensorSpec& spec) {
  return spec.given() ? static_cast<double>(spec.numel()) * static_cast<double>(dtype_size(spec.dtype)) : 0;
}

/// Bytes of one rank's tensor while it lives.
class Counted final : public RefCounted {
 public:
  Counted(Rehearsal* rehearsal, const Place* place, int64_t bytes)
      : rehearsal_(rehearsal), cost_(rehearsal->of(place->value.mesh)), bytes_(bytes) {
    cost_.memory += bytes_;
    cost_.peak = std::max(cost_.peak, cost_.memory);
  }
  ~Counted() override { cost_.memory -= bytes_; }

 private:
  const Ref<Rehearsal> rehearsal_;
  MeshCost& cost_;
  const int64_t bytes_;
};

const char* collective(const Sbp& from, const Sbp& to) {
  if (from.is_partial()) return to.is_split() ? "reduce-scatter" : "all-reduce";
  return to.is_split() ? "all-to-all" : "all-gather";
}

}  // namespace

Ref<RefCounted> counted_memory(const TensorSpec& spec, const Place* place) {
  if (!t_rehearsal || !is_meta(place->value.mesh)) return {};
  return make_ref<Counted>(t_rehearsal, place, static_cast<int64_t>(bytes_of(part_of(spec, place))));
}

void Rehearsal::ran(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<const TensorSpec> out,
                    const GlobalChoice& choice) {
  std::vector<TensorSpec> inputs = specs_of(in), outputs(out.begin(), out.end());
  double moved = 0, bytes = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = part_of(inputs[i], choice.in[i]);
    bytes += bytes_of(inputs[i]);
    const GlobalTensor* g = global_of(in[i]);
    if (g && choice.in[i] && g->place != choice.in[i]) moved += bytes_of(inputs[i]);
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    outputs[k] = part_of(outputs[k], choice.out[k]);
    bytes += bytes_of(outputs[k]);
  }
  const cost::CallCost work = cost::call_cost(op, inputs, attrs, outputs);
  MeshCost& cost = of(choice.out[0]->value.mesh);
  ++cost.ops;
  cost.flops += work.operations;
  cost.bytes += bytes;
  cost.compute += device_.op_time + std::max(work.time() / device_.flops, bytes / device_.memory_rate);
  cost.peak = std::max(cost.peak, cost.memory + static_cast<int64_t>(moved));
}

void Rehearsal::add_traffic(const Mesh& at, std::string name, double bytes, double messages) {
  MeshCost& cost = of(at);
  auto& [count, sum] = cost.traffic[std::move(name)];
  ++count;
  sum += bytes;
  cost.communication += messages * device_.link_latency + bytes / device_.link_rate;
}

void Rehearsal::moved(const Place* from, const Place* to, const Dims& shape, DType dtype) {
  if (!from) return;
  TensorSpec spec;
  spec.dtype = dtype;
  spec.shape = shape;
  const auto copy = static_cast<int64_t>(bytes_of(part_of(spec, to)));
  MeshCost& cost = of(to->value.mesh);
  cost.peak = std::max(cost.peak, cost.memory + copy);
  const Mesh &source = from->value.mesh, &target = to->value.mesh;
  double whole = static_cast<double>(dtype_size(dtype));
  for (int64_t n : shape) whole *= static_cast<double>(n);
  if (!(source == target)) {
    double bytes = whole;
    for (size_t a = 0; a < target.shape.size(); ++a)
      if (to->value.sbp[a].is_split()) bytes /= static_cast<double>(target.shape[a]);
    return add_traffic(target, "send", bytes, 1);
  }
  for (size_t a = 0; a < target.shape.size(); ++a) {
    const Sbp &before = from->value.sbp[a], &after = to->value.sbp[a];
    if (before == after || before == broadcast() || after.is_partial() || target.shape[a] == 1) continue;
    double bytes = whole;  // of the ranks along this axis
    for (size_t b = 0; b < target.shape.size(); ++b) {
      const Sbp& other = b < a ? to->value.sbp[b] : from->value.sbp[b];
      if (b != a && other.is_split()) bytes /= static_cast<double>(target.shape[b]);
    }
    const double messages = before.is_partial() && after == broadcast() && target.shape[a] > 2 ? 2 : 1;
    add_traffic(target, target.names[a] + " " + collective(before, after),
                boxing_bytes(before, after, bytes, target.shape[a]), messages);
  }
}

}  // namespace hw
