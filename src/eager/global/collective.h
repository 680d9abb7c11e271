// A change of SBP as one collective of src/comm, from and into the memory of the parts.
#pragma once

#include <optional>
#include <vector>

#include "comm/comm.h"
#include "eager/global/global_tensor.h"

namespace hw {

/// Which collective brings a tensor from one placement to another, and who takes part. Sums are those of transfer lists, bit for bit:
/// both add in the order of the ranks.
struct Collective {
  enum class Kind : uint8_t { AllReduce, ReduceScatter, AllGather, AllToAll };
  Kind kind = Kind::AllReduce;
  int64_t cut_before = -1, cut_after = -1;  // axes of the tensor that the group splits; -1: none
  std::vector<int> group;                   // processes, in the order of their positions
  Ints before, after;                       // sizes of the members' parts along these axes
  int me = 0;                               // this process in the group
};

/// Nothing where lists of transfers do it: between meshes, several kinds of changes at once, maxima, processes that host several ranks of
/// the mesh, ops that are captured. All processes decide alike. The process hosts a rank of the mesh.
std::optional<Collective> collective_between(const Place* from, const Place* to, const Dims& shape, DType dtype);

/// A collective under way, with the memory that it works on.
struct Moving {
  Request request;
  Tensor part, packed, made;  // what goes, the same in one piece, what comes
  Tensor out;                 // where what came is to be unpacked; else undefined
};

/// Starts it. `into`: where the result shall lie if its memory is dense; may be undefined, or `part` itself for a sum.
Moving start(const Collective& c, const Tensor& part, const Dims& shape, const Tensor& into);
/// After its end.
Tensor finish(const Collective& c, Moving& moving);
/// Starts it and waits, as the messenger does.
Tensor run(const Collective& c, const Tensor& part, const Dims& shape, const Tensor& into);

}  // namespace hw
