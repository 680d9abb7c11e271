// _lstm_layer: one layer and direction of an LSTM over all steps, given the projected input.
#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/recording.h"
#include "op/rules.h"

namespace hw {

static std::vector<TensorSpec> infer(const InferCtx& c) {
  const TensorSpec &x = c.in[0], &w = c.in[1];
  check_runtime(x.ndim() == 3 && w.ndim() == 2 && w.shape[0] == 4 * w.shape[1] && x.shape[2] == w.shape[0],
                "projected must be [steps, batch, 4 * hidden] and w_hh [4 * hidden, hidden], got ", x, " and ", w);
  for (size_t i : {2, 3})
    check_runtime(c.in[i].shape == Dims{x.shape[1], w.shape[1]}, c.op.inputs()[i].name, " must be ",
                  Dims{x.shape[1], w.shape[1]}, ", got ", c.in[i]);
  for (const TensorSpec& s : c.in)
    check_runtime(s.dtype == x.dtype, "all inputs must have one dtype, got ", s.dtype, " and ", x.dtype);
  TensorSpec state = x, gates = x;
  state.shape[2] = w.shape[1];
  state.strides.clear(), gates.strides.clear();
  return {state, state, gates};
}

/// Gradients of all steps, written with ops, so that they can be differentiated again.
struct Steps {
  Tensor d_projected, d_h0, d_c0;
};
static Steps backward_by_ops(GradCtx& g) {
  static const Op select{"select"}, stack{"stack"};
  const Tensor w = g.in(1), cells = g.out(1), gates = g.out(2);
  const int64_t length = gates.shape()[0], hidden = w.shape()[1];
  const bool reverse = g.attr("reverse").truth();
  auto at = [&](const Tensor& x, int64_t t) { return select({x}, {int64_t{0}, t}); };
  Tensors rows(static_cast<size_t>(length));
  Tensor dh = zeros(g.in(3).shape(), w.dtype()), dc = dh;
  for (int64_t i = length - 1; i >= 0; --i) {
    const int64_t t = reverse ? length - 1 - i : i, before = reverse ? t + 1 : t - 1;
    Tensor act = at(gates, t), in = narrow(act, 1, 0, hidden), forget = narrow(act, 1, hidden, hidden),
           cell = narrow(act, 1, 2 * hidden, hidden), out = narrow(act, 1, 3 * hidden, hidden);
    Tensor squashed = tanh(at(cells, t));
    if (g.has_dy(0)) dh = dh + at(g.dy(0), t);
    if (g.has_dy(1)) dc = dc + at(g.dy(1), t);
    dc = dc + dh * out * (Scalar(1.0) - squashed * squashed);
    const Tensor c_before = i == 0 ? g.in(3) : at(cells, before);
    Tensor d = cat(Tensors{dc * cell, dc * c_before, dc * in, dh * squashed}, 1);
    if (g.has_dy(2)) d = d + at(g.dy(2), t);
    const Tensor gate = narrow(act, 1, 0, 2 * hidden);
    d = d * cat(Tensors{gate * (Scalar(1.0) - gate), Scalar(1.0) - cell * cell, out * (Scalar(1.0) - out)}, 1);
    rows[static_cast<size_t>(t)] = d;
    dh = matmul(d, w);
    dc = dc * forget;
  }
  return {stack(std::span<const Tensor>(rows), {int64_t{0}}), dh, dc};
}

/// The sum over steps of d_projected[t]^T h[t - 1].
static Tensor weight_gradient(const GradCtx& g, const Tensor& d) {
  const Tensor output = g.out(0), h0 = g.in(2);
  const int64_t length = d.shape()[0], batch = d.shape()[1], rows = d.shape()[2], hidden = h0.shape()[1];
  const bool reverse = g.attr("reverse").truth();
  Tensor first = matmul(mT(squeeze(narrow(d, 0, reverse ? length - 1 : 0, 1), 0)), h0);
  if (length == 1) return first;
  const int64_t count = (length - 1) * batch;
  Tensor later = reshape(narrow(d, 0, reverse ? 0 : 1, length - 1), {count, rows});
  Tensor states = reshape(narrow(output, 0, reverse ? 1 : 0, length - 1), {count, hidden});
  return first + matmul(mT(later), states);
}

static void grad(GradCtx& g) {
  static const Op fused{"_lstm_layer_grad"};
  Steps d;
  if (recording() || g.has_dy(2)) {
    d = backward_by_ops(g);
  } else {
    Tensors all = fused.all(
        {g.in(1), g.in(3), g.out(1), g.out(2), g.has_dy(0) ? g.dy(0) : Tensor(), g.has_dy(1) ? g.dy(1) : Tensor()},
        {g.attr("reverse")});
    d = {all[0], all[1], all[2]};
  }
  g.dx(0, d.d_projected);
  if (g.needs(1)) g.dx(1, weight_gradient(g, d.d_projected));
  g.dx(2, d.d_h0);
  g.dx(3, d.d_c0);
}

static const RegisterOp op =
    OpDef("_lstm_layer")
        .doc(
            "One layer and direction of an LSTM: for each step, gates = projected[t] + w_hh h, c = sigmoid(f) c + "
            "sigmoid(i) tanh(g), h = sigmoid(o) tanh(c). Returns h and c of all steps, and the gates after their "
            "functions.")
        .in("projected", "[steps, batch, 4 * hidden], the biases included",
            dtype_bit(DType::F32) | dtype_bit(DType::F64))
        .in("w_hh", "[4 * hidden, hidden]", dtype_bit(DType::F32) | dtype_bit(DType::F64))
        .in("h0", "[batch, hidden]", dtype_bit(DType::F32) | dtype_bit(DType::F64))
        .in("c0", "[batch, hidden]", dtype_bit(DType::F32) | dtype_bit(DType::F64))
        .attr("reverse", false, "from the last step to the first")
        .infer(infer)
        .out("output")
        .out("cells")
        .out("gates")
        .internal()
        .sbp([](SbpCtx& c) {
          c.add({split(1), broadcast(), split(0), split(0)}, {split(1), split(1), split(1)});
        })
        .flops([](const InferCtx& c) {
          return 2.0 * static_cast<double>(c.in[0].numel()) * static_cast<double>(c.in[1].shape[1]);
        })
        .grad("w_hh h0 c0 output cells gates", grad)
        .onnx("LSTM");

}  // namespace hw
