// put: writes to elements of the flattened input.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("put")
        .doc("Returns the input with `source` written to the elements `index` of the flattened input.")
        .in("input", "any shape")
        .in("index", "positions", index_types)
        .in("source", "as many elements as index")
        .attr("accumulate", false, "add instead of overwriting")
        .inplace()
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op put{"index_put_"};
          check_index(in[1].numel() == in[2].numel(), "index has ", in[1].numel(), " elements, source ", in[2].numel());
          check_runtime(in[0].dtype() == in[2].dtype(), "input is ", in[0].dtype(), ", source ", in[2].dtype());
          return {reshape(
              put({reshape(in[0], {in[0].numel()}), reshape(in[2], {in[2].numel()}), reshape(in[1], {in[1].numel()})},
                  {attrs[0].truth()}),
              in[0].shape())};
        });

}  // namespace hw
