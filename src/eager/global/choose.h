// Which SBP signature an op on global tensors runs under: the legal one whose boxing moves the fewest bytes.
#pragma once

#include "eager/global/global_tensor.h"

namespace hw {

/// A call on global tensors as the choice sees it.
struct GlobalCall {
  const OpDef& op;
  std::span<const TensorSpec> in;  // logical; not given where an optional input is missing
  const Attrs& attrs;
  std::span<const TensorSpec> out;
  const Mesh& mesh;
  std::vector<const Place*> have;    // of the inputs; null: an ordinary tensor, the same on every rank
  std::vector<const Place*> wanted;  // of outputs that exist already, else null
};

/// How it runs: where inputs must lie, where outputs come to lie, and the attributes of each rank where they hold shapes.
struct GlobalChoice {
  std::vector<const Place*> in, out;
  int shape_attr = -1;             // the attribute that holds the shape of the first output
  std::vector<Dims> local_shapes;  // its value for each hosted rank
  std::vector<Ints> local_ints;    // of each hosted rank: attribute, value, attribute, value; what `rank_attrs_of` sets
};

GlobalChoice choose_signature(const GlobalCall& call);

/// Makes one signature the only choice on this thread, on every mesh axis or on those listed; for the calls of one op.
struct FixedSignature {
  const OpDef* op = nullptr;
  std::vector<SbpSignature> axes;  // one for each mesh axis
};
inline thread_local const FixedSignature* t_fixed_signature = nullptr;

}  // namespace hw
