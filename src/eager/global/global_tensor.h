// Global tensors: a logical shape, a placement, and the parts that this process holds.
#pragma once

#include "core/tensor.h"
#include "op/op_def.h"
#include "sbp/placement.h"

namespace hw {

/// A placement kept once per process, so that pointers compare, with the positions whose ranks this process hosts.
struct Place {
  Placement value;
  Ints here;
};
const Place* place_of(Placement placement);

struct GlobalTensor final : GlobalMeta {
  const Place* place = nullptr;
  Tensors parts;            // one per place->here
  bool moved_view = false;  // made by a view op whose input had to be moved first: a copy, not to be written to
};

inline GlobalTensor* global_of(const Tensor& t) {
  return t.defined() ? static_cast<GlobalTensor*>(t->global.get()) : nullptr;
}
/// A tensor without data of its own, over parts. `spec` is the logical one.
Tensor make_global(const TensorSpec& spec, const Place* place, Tensors parts);
/// Throws unless the parts are what `place` says of a tensor of this shape.
void check_parts(const Dims& shape, const Place* place, const Tensors& parts);

/// Local sizes as the rest of the core writes them.
Dims local_dims(const Place* place, const Dims& shape, int64_t position);

}  // namespace hw
