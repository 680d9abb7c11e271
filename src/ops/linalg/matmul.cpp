// matmul: the product of vectors, matrices and batches of matrices, which are broadcast.
#include "base/error.h"
#include "op/math.h"
#include "op/rules.h"
#include "op/split_form.h"
#include "ops/linalg/products.h"

namespace hw {

static const Op mm_op{"mm"}, bmm_op{"bmm"}, batches_op{"_bmm_batches"}, linear_op{"linear"};

/// x with its batch axes expanded to `batch` and flattened into one.
static Tensor as_batch(const Tensor& x, const Dims& batch, int64_t flat) {
  Dims shape = batch;
  int64_t rows = x.size(-2), columns = x.size(-1);
  shape.push_back(rows), shape.push_back(columns);
  Tensor wide = x.shape() == shape ? x : expand(x, shape);
  return wide.ndim() == 3 ? wide : reshape(wide, {flat, rows, columns});
}

/// Both have two axes or more.
static Tensor batched(const Tensor& a, const Tensor& b) {
  Dims a_batch(std::span<const int64_t>(a.shape().data(), a.shape().size() - 2));
  Dims b_batch(std::span<const int64_t>(b.shape().data(), b.shape().size() - 2));
  Dims batch = broadcast_shapes(a_batch, b_batch);
  const auto axes = static_cast<int64_t>(batch.size());
  if (axes > 1 && (split_within(a, 1, a.ndim() - 2) || split_within(b, 1, b.ndim() - 2))) {
    // One axis made of several is split by the first of them only.
    auto wide = [&](const Tensor& x) {
      Dims shape = batch;
      shape.push_back(x.size(-2)), shape.push_back(x.size(-1));
      return x.shape() == shape ? x : expand(x, shape);
    };
    return batches_op({wide(a), wide(b)});
  }
  int64_t flat = numel(batch);
  Tensor y = bmm_op({as_batch(a, batch, flat), as_batch(b, batch, flat)});
  if (batch.size() == 1) return y;
  batch.push_back(a.size(-2)), batch.push_back(b.size(-1));
  return reshape(y, batch);
}

static Tensors matmul_body(std::span<const Tensor> in, const Attrs&) {
  const Tensor &a = in[0], &b = in[1];
  check_runtime(a.ndim() > 0 && b.ndim() > 0, "both inputs need at least one axis; multiply by a number with *");
  int64_t columns = a.size(-1), rows = b.size(b.ndim() == 1 ? 0 : -2);
  check_runtime(columns == rows, "inner sizes differ: input has ", columns, " columns, other has ", rows,
                " rows. Transpose one input, or swap them.");
  check_runtime(a.dtype() == b.dtype(), "both inputs must have the same dtype, got ", a.dtype(), " and ", b.dtype(),
                ". Convert one with .to().");
  if (a.ndim() == 2 && b.ndim() == 2) return {mm_op({a, b})};
  if (a.ndim() == 1 && b.ndim() == 1) return {reshape(mm_op({unsqueeze(a, 0), unsqueeze(b, 1)}), {})};
  if (a.ndim() == 1) return {squeeze(b.ndim() == 2 ? mm_op({unsqueeze(a, 0), b}) : batched(unsqueeze(a, 0), b), -2)};
  if (b.ndim() == 1) return {squeeze(linear_op({a, unsqueeze(b, 0), Tensor()}), -1)};
  if (b.ndim() == 2) return {linear_op({a, mT(b), Tensor()})};
  return {batched(a, b)};
}

static const RegisterOp op = OpDef("matmul")
                                 .doc(
                                     "Returns the matrix product. Vectors count as a row on the left and a column on "
                                     "the right; axes before the last two are "
                                     "batches and broadcast.")
                                 .example(">>> hw.matmul(hw.tensor([[1., 2.]]), hw.tensor([3., 4.]))\ntensor([11.])")
                                 .in("input", "[..., m, k] or [k]", numeric)
                                 .in("other", "[..., k, n] or [k]", numeric)
                                 .out("y")
                                 .composite(matmul_body);

}  // namespace hw
