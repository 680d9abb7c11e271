// Running one op now: infer, pick the kernel, allocate, launch, record.
#pragma once

#include "op/call.h"

namespace hw {

class EagerInterpreter : public Interpreter {
 public:
  void run(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out) final;
  Tensors call(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs) final;
  Tensor call_inplace(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs) final;

 protected:
  // What capture does otherwise; all the rest (autocast, views, the tape, in-place rules) it shares.
  /// Computes a kernel op; defined entries of `out` are written in place.
  virtual void execute(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out);
  /// `view` of in[0] was made.
  virtual void viewed(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, const Tensor& view) {}
  /// Attributes of a random op with the hidden seed and draw filled in.
  virtual Attrs with_draw(const OpDef& op, const Attrs& attrs);
};

EagerInterpreter& eager();

/// The generator of the thread's random ops: the default one, or the one given for a call.
class Generator;
Generator& current_generator();
Generator* set_current_generator(Generator* g) noexcept;  // returns the one before

/// Drops the thread's prepared kernels (after set_isa, set_kernels_off, set_num_threads, set_default_dtype).
void invalidate_prepared();
struct PreparedStats {
  int64_t hits = 0, misses = 0, entries = 0;
};
PreparedStats prepared_stats();
/// Which kernel candidate serves this call: "simd", "onednn", ...
std::string chosen_kernel(const OpDef& op, std::span<const TensorSpec> in, const Attrs& attrs);

}  // namespace hw
