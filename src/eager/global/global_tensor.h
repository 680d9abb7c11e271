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

/// How a view is made whose parts are no views of its base's parts, because the base had to be boxed first: it is brought up to date
/// when its base was written to, and writes to it are brought to the base.
struct MovedView {
  Tensor base;
  const OpDef* op = nullptr;
  Attrs attrs;
  const Place* boxed = nullptr;    // where the base must lie for the op
  std::vector<Attrs> local_attrs;  // of each hosted rank; empty: attrs
  uint32_t version = 0;            // of the storage when the parts were made
};

struct GlobalTensor final : GlobalMeta {
  const Place* place = nullptr;
  Tensors parts;  // one per place->here; read them through parts_of
  std::unique_ptr<MovedView> moved;
  bool captured = false;            // made while a function is captured
  Ref<RefCounted> memory;           // counts its bytes in a rehearsal
  const Place* gradient = nullptr;  // where the gradient of a leaf is to lie; null: where the leaf lies
};

inline GlobalTensor* global_of(const Tensor& t) {
  return t.defined() ? static_cast<GlobalTensor*>(t->global.get()) : nullptr;
}
/// The parts as they are now.
const Tensors& parts_of(const Tensor& t);
/// After t's parts were written: the same for what it is a moved view of.
void written(const Tensor& t);
/// A tensor without data of its own, over parts. `spec` is the logical one.
Tensor make_global(const TensorSpec& spec, const Place* place, Tensors parts);
/// Throws unless the parts are what `place` says of a tensor of this shape.
void check_parts(const Dims& shape, const Place* place, const Tensors& parts);

/// Local sizes as the rest of the core writes them.
Dims local_dims(const Place* place, const Dims& shape, int64_t position);

/// Writes into a local tensor, below the tape.
void copy_into(const Tensor& to, const Tensor& from);
/// A dense copy of a local tensor, below the tape.
Tensor dense_copy(const Tensor& t);

}  // namespace hw
