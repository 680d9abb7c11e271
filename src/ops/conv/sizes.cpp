// Sizes of convolutions, and what the convolution ops share.
#include "ops/conv/sizes.h"

#include <algorithm>

#include "base/error.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

constexpr int64_t kMostSize = int64_t{1} << 31;  // so that no product of two overflows

int64_t per_axis(const AttrValue& attr, int64_t axis, int64_t ndim, const char* what) {
  const Dims& v = attr.ints();
  check_runtime(v.size() == 1 || static_cast<int64_t>(v.size()) == ndim, what, " needs one value or ", ndim, ", got ",
                v);
  int64_t value = v[v.size() == 1 ? 0 : static_cast<size_t>(axis)];
  check_runtime(value >= -kMostSize && value <= kMostSize, what, " ", value, " is beyond 2^31");
  return value;
}

Dims spread(const AttrValue& attr, int64_t ndim, const char* what) {
  Dims out;
  for (int64_t axis = 0; axis < ndim; ++axis) out.push_back(per_axis(attr, axis, ndim, what));
  return out;
}

static void check_settings(const InferCtx& c, int64_t ndim) {
  for (int64_t a = 0; a < ndim; ++a) {
    check_runtime(per_axis(c.attr("stride"), a, ndim, "stride") > 0, "stride must be positive, got ", c.attr("stride"));
    check_runtime(per_axis(c.attr("dilation"), a, ndim, "dilation") > 0, "dilation must be positive, got ",
                  c.attr("dilation"));
    check_runtime(per_axis(c.attr("padding"), a, ndim, "padding") >= 0, "padding must not be negative, got ",
                  c.attr("padding"));
  }
  check_runtime(c.attr("groups").i64() > 0, "groups must be positive, got ", c.attr("groups"));
}

static void check_same_dtype(const InferCtx& c) {
  for (const TensorSpec& s : c.in)
    check_runtime(!s.given() || s.dtype == c.in[0].dtype, "all inputs must have the same dtype, got ", c.in[0].dtype,
                  " and ", s.dtype, ". Convert one with .to().");
}

Dims convolution_shape(const InferCtx& c) {
  const TensorSpec &x = c.in[0], &w = c.in[1], &b = c.in[2];
  check_same_dtype(c);
  check_runtime(x.ndim() >= 3 && x.ndim() <= 5 && w.ndim() == x.ndim(),
                "input and weight must both have 3 to 5 axes, got ", x.shape, " and ", w.shape);
  int64_t ndim = x.ndim() - 2, groups = c.attr("groups").i64();
  check_settings(c, ndim);
  check_runtime(x.shape[1] == w.shape[1] * groups, "input has ", x.shape[1], " channels, weight ", w.shape,
                " with groups=", groups, " takes ", w.shape[1] * groups);
  check_runtime(w.shape[0] % groups == 0, w.shape[0], " output channels do not divide into ", groups, " groups");
  check_runtime(!b.given() || (b.ndim() == 1 && b.shape[0] == w.shape[0]), "bias ", b.shape, " does not fit ",
                w.shape[0], " output channels");
  Dims out{x.shape[0], w.shape[0]};
  for (int64_t a = 0; a < ndim; ++a) {
    int64_t padded = x.shape[static_cast<size_t>(a + 2)] + 2 * per_axis(c.attr("padding"), a, ndim, "padding");
    int64_t window = per_axis(c.attr("dilation"), a, ndim, "dilation") * (w.shape[static_cast<size_t>(a + 2)] - 1) + 1;
    check_runtime(w.shape[static_cast<size_t>(a + 2)] > 0, "the kernel ", w.shape, " is empty");
    check_runtime(padded >= window, "the kernel spans ", window, " points along spatial axis ", a,
                  ", the padded input has only ", padded, ". Use more padding or a smaller kernel.");
    out.push_back((padded - window) / per_axis(c.attr("stride"), a, ndim, "stride") + 1);
  }
  return out;
}

Dims convolution_input_shape(const InferCtx& c) {
  const TensorSpec &dy = c.in[0], &w = c.in[1];
  check_same_dtype(c);
  Dims out = c.attr("input_shape").ints();
  check_runtime(dy.ndim() >= 3 && dy.ndim() <= 5 && w.ndim() == dy.ndim() && out.size() == dy.shape.size(),
                "dy, weight and input_shape must have the same number of axes, 3 to 5; got ", dy.shape, ", ", w.shape,
                " and ", out);
  check_settings(c, dy.ndim() - 2);
  int64_t groups = c.attr("groups").i64();
  check_runtime(dy.shape[1] == w.shape[0] && w.shape[0] % groups == 0, "dy has ", dy.shape[1], " channels, weight ",
                w.shape, " makes ", w.shape[0], " in ", groups, " groups");
  out[0] = dy.shape[0], out[1] = w.shape[1] * groups;
  return out;
}

Dims convolution_weight_shape(const InferCtx& c) {
  const TensorSpec &dy = c.in[0], &x = c.in[1];
  check_same_dtype(c);
  Dims out = c.attr("weight_shape").ints();
  check_runtime(dy.ndim() >= 3 && dy.ndim() <= 5 && x.ndim() == dy.ndim() && out.size() == dy.shape.size(),
                "dy, input and weight_shape must have the same number of axes, 3 to 5; got ", dy.shape, ", ", x.shape,
                " and ", out);
  check_settings(c, dy.ndim() - 2);
  int64_t groups = c.attr("groups").i64();
  check_runtime(dy.shape[0] == x.shape[0] && dy.shape[1] % groups == 0 && x.shape[1] % groups == 0, "dy ", dy.shape,
                " and input ", x.shape, " do not fit with ", groups, " groups");
  out[0] = dy.shape[1], out[1] = x.shape[1] / groups;
  return out;
}

static const Op convolution{"convolution"}, input_grad{"convolution_input_grad"};

/// An input without a batch axis gets one; returns whether it did.
static bool with_batch(Tensor& x, int64_t ndim) {
  for (int64_t n : x.shape()) check_runtime(n <= kMostSize, "an axis of ", n, " elements is beyond 2^31");
  check_runtime(x.ndim() == ndim + 2 || x.ndim() == ndim + 1, "input must have ", ndim + 2,
                " axes [batch, channels, ...] or ", ndim + 1, " without the batch, got ", x.shape());
  if (x.ndim() == ndim + 2) return false;
  x = unsqueeze(x, 0);
  return true;
}

Tensor convolve(std::span<const Tensor> in, const Attrs& attrs, int64_t ndim) {
  Tensor x = in[0];
  const Tensor& w = in[1];
  bool unbatched = with_batch(x, ndim);
  check_runtime(w.ndim() == ndim + 2, "weight must have ", ndim + 2, " axes, got ", w.shape());
  Dims stride = spread(attrs[0], ndim, "stride"), dilation = spread(attrs[2], ndim, "dilation"),
       padding(static_cast<size_t>(ndim), 0);
  Dims extra(static_cast<size_t>(ndim), 0);  // output points that an even window leaves over at the front
  if (attrs[1].kind() != AttrValue::Kind::Text) {
    padding = spread(attrs[1], ndim, "padding");
  } else if (attrs[1].text() == "same") {
    for (size_t a = 0; a < padding.size(); ++a) {
      check_runtime(stride[a] == 1, "padding='same' needs a stride of 1, got ", stride);
      int64_t total = dilation[a] * (w.shape()[a + 2] - 1);
      padding[a] = (total + 1) / 2, extra[a] = total % 2;
    }
  } else {
    check_runtime(attrs[1].text() == "valid", "padding must be numbers, 'same' or 'valid', got '", attrs[1].text(),
                  "'");
  }
  Tensor y = convolution({x, w, in[2]}, {stride, padding, dilation, attrs[3]});
  for (size_t a = 0; a < extra.size(); ++a)
    if (extra[a]) y = narrow(y, static_cast<int64_t>(a) + 2, 1, y.shape()[a + 2] - 1);
  return unbatched ? squeeze(y, 0) : y;
}

Tensor convolve_transposed(std::span<const Tensor> in, const Attrs& attrs, int64_t ndim) {
  Tensor x = in[0];
  const Tensor &w = in[1], &bias = in[2];
  bool unbatched = with_batch(x, ndim);
  check_runtime(w.ndim() == ndim + 2, "weight must have ", ndim + 2,
                " axes [in_channels, out_channels / groups, ...], got ", w.shape());
  check_runtime(x.size(1) == w.size(0), "input has ", x.size(1), " channels, weight takes ", w.size(0));
  Dims stride = spread(attrs[0], ndim, "stride"), padding = spread(attrs[1], ndim, "padding");
  Dims output_padding = spread(attrs[2], ndim, "output_padding"), dilation = spread(attrs[4], ndim, "dilation");
  int64_t groups = attrs[3].i64();
  check_runtime(groups > 0 && w.size(0) % groups == 0, w.size(0), " input channels do not divide into ", groups,
                " groups");
  Dims shape{x.size(0), w.size(1) * groups};
  for (size_t a = 0; a < stride.size(); ++a) {
    check_runtime(output_padding[a] >= 0 && (output_padding[a] < stride[a] || output_padding[a] < dilation[a]),
                  "output_padding ", output_padding, " must be smaller than stride ", stride, " or dilation ",
                  dilation);
    int64_t size = (x.shape()[a + 2] - 1) * stride[a] - 2 * padding[a] + dilation[a] * (w.shape()[a + 2] - 1) +
                   output_padding[a] + 1;
    check_runtime(size > 0, "the output would have size ", size, " along spatial axis ", static_cast<int64_t>(a));
    shape.push_back(size);
  }
  Tensor y = input_grad({x, w}, {shape, stride, padding, dilation, attrs[3]});
  if (bias.defined()) {
    check_runtime(bias.ndim() == 1 && bias.size(0) == y.size(1), "bias ", bias.shape(), " does not fit ", y.size(1),
                  " output channels");
    Dims wide(static_cast<size_t>(ndim + 1), 1);
    wide[0] = bias.size(0);
    y = y + reshape(bias, wide);
  }
  return unbatched ? squeeze(y, 0) : y;
}

}  // namespace hw
