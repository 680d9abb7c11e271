// Boxing as a list of transfers: which box of a tensor goes from which rank to which, so that it lies as another placement wants.
#pragma once

#include "sbp/placement.h"

namespace hw {

/// `box` (of the global tensor) of what position `from` of the source mesh holds goes to position `to` of the target mesh. The first
/// transfer to a place is a copy, the next ones to it are reduced into it, in the order of the list.
struct Transfer {
  int64_t from = 0, to = 0;
  Box box;
  bool reduce = false;
  bool operator==(const Transfer&) const = default;
};

/// One step from a placement to another.
struct TransferList {
  Placement source, target;
  Sbp reduction = broadcast();      // the partial kind that `reduce` means
  std::vector<Transfer> transfers;  // sorted by `to`
  /// One per position of the target: broadcast where transfers bring its values, else the partial kind whose identity (0, the
  /// lowest, the highest value) fills it.
  std::vector<Sbp> fill;
};

/// The steps from one placement of a tensor of `shape` to another; none when they are equal. More than one where sums of
/// maxima and the like must be resolved from the inside out, and where a sum is formed in parts.
std::vector<TransferList> boxing_steps(const Placement& from, const Placement& to, std::span<const int64_t> shape);

/// Bytes that each rank must receive, at least, to change one axis of `ranks` ranks of a tensor with `bytes` on this axis' group.
/// A split tensor made partial counts as gathered: it moves nothing, but leaves every rank the whole to work on.
double boxing_bytes(const Sbp& from, const Sbp& to, double bytes, int64_t ranks);

}  // namespace hw
