// What a computation on a mesh of "meta" devices would cost: time, traffic and memory of one rank.
#pragma once

#include <map>
#include <string>

#include "base/error.h"
#include "eager/global/choose.h"
#include "eager/global/world.h"

namespace hw {

/// What a device and its links can do.
struct DeviceModel {
  double flops = 1e11;          // per second
  double memory_rate = 1e10;    // bytes per second
  double op_time = 1e-6;        // seconds that each call of a kernel costs beside its work
  double link_rate = 1e9;       // bytes per second that a rank receives
  double link_latency = 10e-6;  // seconds of each message
};

/// The first rank of a mesh stands for all of them: where sizes are uneven it holds the largest part.
struct MeshCost {
  double compute = 0, communication = 0;  // seconds
  double flops = 0, bytes = 0;            // of kernels: operations, bytes read and written
  int64_t ops = 0;
  std::map<std::string, std::pair<int64_t, double>> traffic;  // "model all-reduce": messages, bytes received
  int64_t memory = 0, peak = 0;                               // bytes of tensors that live, and the most of them
};

/// Counts, while it is active on a thread, what happens on "meta" meshes. A tensor counts as memory as long as it lives.
class Rehearsal final : public RefCounted {
 public:
  explicit Rehearsal(const DeviceModel& device) : device_(device) {}
  /// A kernel op runs, on inputs that have been moved to where `choice` wants them.
  void ran(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<const TensorSpec> out,
           const GlobalChoice& choice);
  /// A tensor of this shape goes from one place to another; from null: every rank has the whole.
  void moved(const Place* from, const Place* to, const Dims& shape, DType dtype);
  MeshCost& of(const Mesh& mesh) { return costs_[text(mesh)]; }
  const std::map<std::string, MeshCost>& costs() const { return costs_; }

 private:
  void add_traffic(const Mesh& at, std::string name, double bytes, double messages);
  const DeviceModel device_;
  std::map<std::string, MeshCost> costs_;
};
inline thread_local Rehearsal* t_rehearsal = nullptr;

/// What a tensor holds so that its bytes count while it lives; null without a rehearsal.
Ref<RefCounted> counted_memory(const TensorSpec& spec, const Place* place);

}  // namespace hw
