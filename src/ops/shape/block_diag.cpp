// block_diag: matrices along the diagonal.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("block_diag")
        .doc("Returns a matrix with the inputs as blocks along its diagonal and zeros elsewhere.")
        .in_list("tensors", "at most two axes")
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op pad{"_pad_constant"};
          int64_t columns = 0, column = 0;
          Tensors blocks, bands;
          for (const Tensor& t : in) {
            check_runtime(t.ndim() <= 2, "tensors must have at most two axes, got ", t);
            blocks.push_back(t.ndim() == 2 ? t : reshape(t, {1, t.numel()}));
            columns += blocks.back().shape()[1];
          }
          if (blocks.empty()) return {zeros({1, 0}, default_dtype())};
          for (const Tensor& t : blocks) {
            bands.push_back(pad({t}, {Dims{column, columns - column - t.shape()[1]}, 0.0}));
            column += t.shape()[1];
          }
          return {cat(bands, 0)};
        });

}  // namespace hw
