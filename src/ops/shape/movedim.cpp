// movedim: axes moved to new places.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("movedim")
        .doc("Returns a view with the axes `source` moved to `destination`; the other axes keep their order.")
        .example(">>> hw.movedim(hw.zeros(2, 3, 5), 0, -1).shape\nheadwater.Size([3, 5, 2])")
        .in("input", "any shape")
        .attr_required("source", AttrValue::Kind::Ints, "axis or axes to move")
        .attr_required("destination", AttrValue::Kind::Ints, "where they go")
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          const Dims &source = attrs[0].ints(), &destination = attrs[1].ints();
          const int64_t n = in[0].ndim();
          check_runtime(source.size() == destination.size(), "source ", source, " and destination ", destination,
                        " differ in length");
          Dims order(static_cast<size_t>(n), -1);
          Dims moved(static_cast<size_t>(n), 0);
          for (size_t i = 0; i < source.size(); ++i) {
            int64_t from = normalize_axis(source[i], n), to = normalize_axis(destination[i], n);
            if (n == 0) continue;
            check_runtime(!moved[static_cast<size_t>(from)] && order[static_cast<size_t>(to)] < 0,
                          "an axis appears twice in source ", source, " or destination ", destination);
            moved[static_cast<size_t>(from)] = 1;
            order[static_cast<size_t>(to)] = from;
          }
          int64_t next = 0;
          for (int64_t& place : order) {
            if (place >= 0) continue;
            while (moved[static_cast<size_t>(next)]) ++next;
            place = next++;
          }
          return {permute(in[0], order)};
        });

}  // namespace hw
