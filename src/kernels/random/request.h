// The hidden attributes of a random op.
#pragma once

#include "kernels/kernel.h"
#include "kernels/random/draws.h"

namespace hw {

/// Seed and draw are the last two attributes; they change from call to call.
inline Draw draw_of(const KernelArgs& args) {
  const Attrs& a = *args.attrs;
  return {static_cast<uint64_t>(a[a.size() - 2].i64()), static_cast<uint64_t>(a[a.size() - 1].i64())};
}

}  // namespace hw
