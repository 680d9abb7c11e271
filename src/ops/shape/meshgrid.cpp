// meshgrid: the coordinates of a grid.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("meshgrid")
        .doc(
            "Returns, for 1-d tensors that hold the coordinates of each axis of a grid, one grid of coordinates for "
            "each, as views.")
        .in_list("tensors", "0-d or 1-d")
        .attr("indexing", "ij", "'ij' (axes in the order of the tensors) or 'xy' (the first two swapped)")
        .keyword()
        .out("tensors...")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          const std::string& indexing = attrs[0].text();
          check_runtime(indexing == "ij" || indexing == "xy", "indexing must be 'ij' or 'xy', got '", indexing, "'");
          check_runtime(!in.empty(), "the list of tensors is empty");
          const size_t n = in.size();
          const bool swap = indexing == "xy" && n >= 2;
          Dims shape;
          for (const Tensor& t : in) {
            check_runtime(t.ndim() <= 1, "tensors must be 0-d or 1-d, got ", t);
            shape.push_back(t.numel());
          }
          if (swap) std::swap(shape[0], shape[1]);
          Tensors out;
          for (size_t i = 0; i < n; ++i) {
            Dims own(n, 1);
            own[swap && i < 2 ? 1 - i : i] = in[i].numel();
            out.push_back(expand(reshape(in[i], own), shape));
          }
          return out;
        });

}  // namespace hw
