// What operators on square matrices share; see the header.
#include "ops/linalg/square.h"

#include "base/error.h"

namespace hw {

void check_square(const TensorSpec& x) {
  check_runtime(x.ndim() >= 2 && x.shape.back() == x.shape[x.shape.size() - 2],
                "the last two axes must be there and have one size, got ", x);
}

void split_batches(SbpCtx& c) {
  for (int64_t axis = 0; axis + 2 < c.in()[0].ndim(); ++axis)
    c.add(std::vector<Sbp>(c.in().size(), split(axis)), {split(axis)});
}

}  // namespace hw
