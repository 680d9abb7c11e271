// searchsorted: where elements belong in a sorted sequence.
#include "base/error.h"
#include "op/cost.h"
#include "op/rules.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  const TensorSpec &sequence = c.in[0], &x = c.in[1];
  check_runtime(sequence.ndim() > 0, "sorted_sequence needs an axis");
  const AttrValue& side = c.attr("side");
  check_runtime(side.none() || side.text() == "left" || side.text() == "right", "side must be 'left' or 'right', got ",
                side);
  check_runtime(side.none() || side.text() == "right" || !c.attr("right").truth(),
                "side='left' contradicts right=True");
  if (sequence.ndim() == 1) return x.shape;
  bool fits = sequence.ndim() == x.ndim();
  for (size_t a = 0; fits && a + 1 < x.shape.size(); ++a) fits = sequence.shape[a] == x.shape[a];
  check_runtime(fits, "sorted_sequence is ", sequence, ", the input ", x, ": all axes but the last must be equal");
  return x.shape;
}

static const RegisterOp op =
    OpDef("searchsorted")
        .doc(
            "Returns, for each element of the input, the first position in the sorted sequence (its last axis) whose "
            "element is not smaller; with right=True, larger.")
        .in("sorted_sequence", "1-d, or the leading axes of the input", real_types)
        .in("input", "what to look for", real_types)
        .attr("out_int32", false, "int32 instead of int64")
        .keyword()
        .attr("right", false, "whether equal elements count as smaller")
        .attr_none("side", AttrValue::Kind::Text, "'left' or 'right'; says the same as `right`")
        .out(
            "y", [](const InferCtx& c) { return c.attr("out_int32").truth() ? DType::I32 : DType::I64; }, shape_of)
        .method(false)
        .flops(cost::searching)
        .sbp([](SbpCtx& c) {
          const TensorSpec &sequence = c.in()[0], &x = c.in()[1];
          for (int64_t a = 0; a < x.ndim(); ++a) {
            if (sequence.ndim() == 1)
              c.add({broadcast(), split(a)}, {split(a)});
            else if (a < x.ndim() - 1)
              c.add({split(a), split(a)}, {split(a)});
          }
        })
        .no_grad("the output is an integer")
        .no_onnx("ONNX has no search");

}  // namespace hw
