// The thread's prepared kernels by signature: op, dtypes, shapes, strides and attributes.
#pragma once

#include <memory>
#include <vector>

#include "kernels/kernel.h"
#include "op/op_def.h"

namespace hw {

/// All that was worked out for one signature.
struct Prepared {
  std::unique_ptr<Kernel> kernel;
  std::vector<TensorSpec> outputs;
  size_t scratch = 0;
  DType compute = DType::None;
};

/// A signature as a flat list of words.
using Signature = SmallVec<int64_t, 40>;

void append_signature(Signature& s, const OpDef& op, std::span<const Tensor> in, const Attrs& attrs,
                      std::span<const Tensor> given_out);

/// The entry for a signature, or null. The pointer stays good until the next insert on this thread.
const Prepared* find_prepared(const Signature& s, uint64_t hash);
const Prepared* insert_prepared(const Signature& s, uint64_t hash, Prepared prepared);
uint64_t hash_signature(const Signature& s);

}  // namespace hw
