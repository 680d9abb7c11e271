// The hidden attributes of a random op.
#pragma once

#include "kernels/kernel.h"
#include "kernels/random/draws.h"

namespace hw {

/// Set while a launch fills a part of a tensor that is split over ranks: the element of the whole with which the part begins.
inline thread_local int64_t t_first_drawn = 0;

/// Seed and draw are the last two attributes; they change from call to call.
inline Draw draw_of(const KernelArgs& args) {
  const Attrs& a = *args.attrs;
  return {static_cast<uint64_t>(a[a.size() - 2].i64()), static_cast<uint64_t>(a[a.size() - 1].i64()), t_first_drawn};
}

}  // namespace hw
