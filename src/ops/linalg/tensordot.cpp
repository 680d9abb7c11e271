// tensordot: a contraction over chosen axes.
#include "base/error.h"
#include "op/math.h"

namespace hw {

/// x with the axes `last` moved to the end (or, for `front`, the contracted ones to the front), as a matrix.
static Tensor as_matrix(const Tensor& x, const Dims& contracted, bool front, Dims& kept_sizes) {
  Dims order, kept;
  int64_t inner = 1, outer = 1;
  for (int64_t axis : contracted) inner *= x.size(axis);
  for (int64_t axis = 0; axis < x.ndim(); ++axis)
    if (std::find(contracted.begin(), contracted.end(), axis) == contracted.end()) {
      kept.push_back(axis);
      kept_sizes.push_back(x.size(axis));
      outer *= x.size(axis);
    }
  for (int64_t axis : front ? contracted : kept) order.push_back(axis);
  for (int64_t axis : front ? kept : contracted) order.push_back(axis);
  return reshape(permute(x, order), front ? Dims{inner, outer} : Dims{outer, inner});
}

static Tensors tensordot_body(std::span<const Tensor> in, const Attrs& attrs) {
  static const Op mm{"mm"};
  Dims a = attrs[0].ints(), b = attrs[1].ints();
  check_runtime(a.size() == b.size(), "the two lists of axes have different lengths: ", a, " and ", b);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = normalize_axis(a[i], in[0].ndim()), b[i] = normalize_axis(b[i], in[1].ndim());
    check_runtime(in[0].size(a[i]) == in[1].size(b[i]), "contracted sizes differ: axis ", a[i], " of input has ",
                  in[0].size(a[i]), ", axis ", b[i], " of other has ", in[1].size(b[i]));
  }
  Dims shape;
  Tensor left = as_matrix(in[0], a, false, shape);
  Tensor right = as_matrix(in[1], b, true, shape);
  return {reshape(mm({left, right}), shape)};
}

static const RegisterOp op = OpDef("tensordot")
                                 .doc(
                                     "Returns the sum of products over the axes `dims_self` of input and `dims_other` "
                                     "of other; the other axes remain in order.")
                                 .in("input", "any shape", numeric)
                                 .in("other", "any shape", numeric)
                                 .attr_required("dims_self", AttrValue::Kind::Ints, "axes of input")
                                 .attr_required("dims_other", AttrValue::Kind::Ints, "axes of other, in the same order")
                                 .out("y")
                                 .method(false)
                                 .composite(tensordot_body);

}  // namespace hw
