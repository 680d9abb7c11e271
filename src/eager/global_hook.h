// How the eager runner meets global tensors: one branch per call, not taken until the first of them is made.
#pragma once

#include <atomic>

#include "op/op_def.h"

namespace hw {

struct GlobalHook {
  /// Runs a kernel op if an input is global, or made by a call on global tensors; false: the call is an ordinary one.
  bool (*execute)(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out);
  bool (*view)(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out);
  /// Throws where the user mixes global and ordinary tensors.
  void (*check_mix)(const OpDef& op, std::span<const Tensor> in);
};
inline std::atomic<const GlobalHook*> g_global_hook{nullptr};
inline const GlobalHook* global_hook() { return g_global_hook.load(std::memory_order_relaxed); }

/// Who writes down what the ranks of this process do, instead of letting them do it: capture.
class LocalRecorder {
 public:
  virtual ~LocalRecorder() = default;
  /// The parts of a global tensor are about to be used.
  virtual void meet(const Tensor& global) = 0;
  virtual void local(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out) = 0;
  /// `view` of in[0] was made.
  virtual void local_view(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, const Tensor& view) = 0;
  /// What `_exchange` writes to, one byte: it keeps exchanges in their order.
  virtual const Tensor& token() = 0;
};
inline thread_local LocalRecorder* t_local_recorder = nullptr;

/// A kernel op or a view on ordinary tensors, without tape and autocast; defined entries of `out` are written in place.
void execute_here(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out);
void view_here(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out);

}  // namespace hw
