// _layer_norm: layer or RMS normalisation with its statistics.
#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/norm/layer_norm_rule.h"

namespace hw {

static std::vector<TensorSpec> infer(const InferCtx& c) {
  const TensorSpec& x = c.in[0];
  const Dims& shape = c.attr("normalized_shape").ints();
  const size_t count = shape.size(), lead = x.shape.size() - count;
  check_runtime(count > 0, "normalized_shape is empty; give the sizes of the last axes of the input");
  check_runtime(count <= x.shape.size() && std::equal(shape.begin(), shape.end(), x.shape.begin() + lead),
                "normalized_shape ", shape, " does not match the last axes of the input ", x);
  for (size_t i : {1, 2})
    if (c.in[i].given())
      check_runtime(c.in[i].shape == shape, c.op.inputs()[i].name, " has shape ", c.in[i].shape,
                    ", normalized_shape is ", shape);
  TensorSpec y = x, s = x;
  y.strides.clear(), s.strides.clear();
  s.dtype = statistics_dtype(x.dtype);
  for (size_t a = lead; a < s.shape.size(); ++a) s.shape[a] = 1;
  return {y, s, s};
}

static void norm_grad(GradCtx& g) {
  static const Op grad{"_layer_norm_grad"};
  const bool centred = g.attr("centred").truth();
  const int64_t count = static_cast<int64_t>(g.attr("normalized_shape").ints().size());
  Tensor dx;
  if (g.has_dy(0)) {
    Tensors d = grad.all({g.dy(0), g.in(0), g.out(1), g.out(2), g.in(1)}, {count, centred});
    dx = d[0];
    if (g.needs(1)) g.dx(1, d[1]);
    if (g.needs(2)) g.dx(2, g.in(1).defined() ? d[2] : sum_to(g.dy(0), g.in_spec(2).shape));
  }
  if (!g.needs(0)) return;
  // Gradients that reach the statistics, from the second order.
  double n = 1;
  for (int64_t size : g.attr("normalized_shape").ints()) n *= static_cast<double>(size);
  auto add_part = [&](const Tensor& part) { dx = dx.defined() ? dx + part : part; };
  if (g.has_dy(2)) {
    Tensor rstd = g.out(2), x = g.in(0);
    add_part((x - g.out(1)) * (g.dy(2) * (rstd * rstd * rstd) * Scalar(-1 / n)));
  }
  if (centred && g.has_dy(1)) add_part(expand(g.dy(1) * Scalar(1 / n), g.in_spec(0).shape));
  g.dx(0, dx);
}

static void rows_split(SbpCtx& c) {
  const int64_t lead = c.in()[0].ndim() - static_cast<int64_t>(c.attr("normalized_shape").ints().size());
  for (int64_t axis = 0; axis < lead; ++axis)
    c.add({split(axis), broadcast(), broadcast()}, {split(axis), split(axis), split(axis)});
}

static const RegisterOp op = OpDef("_layer_norm")
                                 .doc(
                                     "Layer normalisation (RMS normalisation unless `centred`) over the last axes, and "
                                     "the mean and 1 / sqrt(var + eps).")
                                 .in("input", "[..., *normalized_shape]", floating)
                                 .in_optional("weight", "normalized_shape", floating)
                                 .in_optional("bias", "normalized_shape", floating)
                                 .attr_required("normalized_shape", AttrValue::Kind::Ints, "the sizes of the last axes")
                                 .attr("eps", 1e-5, "added to the variance")
                                 .attr("centred", true, "whether the mean is subtracted")
                                 .infer(infer)
                                 .out("y")
                                 .out("mean")
                                 .out("rstd")
                                 .internal()
                                 .sbp(rows_split)
                                 .flops([](const InferCtx& c) { return 8.0 * static_cast<double>(c.in[0].numel()); })
                                 .grad("input weight mean rstd", norm_grad)
                                 .onnx("LayerNormalization");

}  // namespace hw
