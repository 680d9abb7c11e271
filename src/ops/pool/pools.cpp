// Shape rules and bodies that the pooling ops share.
#include "ops/pool/pools.h"

#include "base/error.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/conv/sizes.h"

namespace hw {

int64_t pooled_size(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil_mode) {
  int64_t span = in + 2 * padding - dilation * (kernel - 1) - 1 + (ceil_mode ? stride - 1 : 0);
  int64_t out = (span >= 0 ? span / stride : -((-span + stride - 1) / stride)) + 1;
  if (ceil_mode && (out - 1) * stride >= in + padding) --out;
  return out;
}

Dims pooled_shape(const InferCtx& c) {
  const TensorSpec& x = c.in[0];
  int64_t ndim = static_cast<int64_t>(c.attr("kernel_size").ints().size()), leading = x.ndim() - ndim;
  bool max = c.op.attr_index("dilation") >= 0;
  Dims out = x.shape;
  for (int64_t a = 0; a < ndim; ++a) {
    int64_t kernel = per_axis(c.attr("kernel_size"), a, ndim, "kernel_size"),
            stride = per_axis(c.attr("stride"), a, ndim, "stride");
    int64_t padding = per_axis(c.attr("padding"), a, ndim, "padding");
    int64_t dilation = max ? per_axis(c.attr("dilation"), a, ndim, "dilation") : 1;
    check_runtime(kernel > 0 && stride > 0 && dilation > 0, "kernel_size, stride and dilation must be positive, got ",
                  kernel, ", ", stride, " and ", dilation);
    check_runtime(padding >= 0 && padding <= ((kernel - 1) * dilation + 1) / 2,
                  "padding must be between 0 and half the kernel, got ", padding, " for a kernel that spans ",
                  (kernel - 1) * dilation + 1);
    int64_t size = x.shape[static_cast<size_t>(leading + a)];
    int64_t pooled = pooled_size(size, kernel, stride, padding, dilation, c.attr("ceil_mode").truth());
    check_runtime(size > 0 && pooled > 0, "an input of ", size, " points along axis ", leading + a,
                  " is too small for a window of ", (kernel - 1) * dilation + 1);
    out[static_cast<size_t>(leading + a)] = pooled;
  }
  return out;
}

Dims adaptive_shape(const InferCtx& c) {
  const TensorSpec& x = c.in[0];
  const Dims& size = c.attr("output_size").ints();
  int64_t leading = x.ndim() - static_cast<int64_t>(size.size());
  check_runtime(leading >= 0, "input ", x.shape, " has fewer axes than output_size ", size);
  Dims out = x.shape;
  for (size_t a = 0; a < size.size(); ++a) {
    size_t axis = static_cast<size_t>(leading) + a;
    check_runtime(x.shape[axis] > 0, "axis ", static_cast<int64_t>(axis), " of the input is empty");
    check_runtime(size[a] >= 0, "output_size must not be negative, got ", size);
    out[axis] = size[a];
  }
  return out;
}

Dims unpooled_shape(const InferCtx& c, int64_t ndim) {
  Dims out = c.attr("input_shape").ints();
  const TensorSpec& dy = c.in[0];
  check_runtime(out.size() == dy.shape.size() && ndim <= dy.ndim(), "input_shape ", out, " does not fit the gradient ",
                dy.shape);
  for (int64_t axis = 0; axis < dy.ndim() - ndim; ++axis)
    out[static_cast<size_t>(axis)] = dy.shape[static_cast<size_t>(axis)];
  return out;
}

namespace sbp {
void leading_axes(SbpCtx& c, int64_t ndim) {
  for (int64_t axis = 0; axis < c.in()[0].ndim() - ndim; ++axis)
    c.add(std::vector<Sbp>(c.in().size(), split(axis)), std::vector<Sbp>(c.out().size(), split(axis)));
}
}  // namespace sbp

static void check_axes(const Tensor& x, int64_t ndim) {
  for (int64_t n : x.shape()) check_runtime(n <= int64_t{1} << 31, "an axis of ", n, " elements is beyond 2^31");
  check_runtime(x.ndim() == ndim + 2 || x.ndim() == ndim + 1, "input must have ", ndim + 2,
                " axes [batch, channels, ...] or ", ndim + 1, " without the batch, got ", x.shape());
}

static Dims stride_or_kernel(const AttrValue& stride, const Dims& kernel, int64_t ndim) {
  return stride.none() || stride.ints().empty() ? kernel : spread(stride, ndim, "stride");
}

/// The values, and the indices if they are asked for.
static Tensors asked(Tensors found, bool indices) {
  if (!indices) found.pop_back();
  return found;
}

Tensors max_pool(std::span<const Tensor> in, const Attrs& attrs, int64_t ndim) {
  static const Op op{"max_pool"};
  check_axes(in[0], ndim);
  Dims kernel = spread(attrs[0], ndim, "kernel_size");
  return asked(op.all({in[0]}, {kernel, stride_or_kernel(attrs[1], kernel, ndim), spread(attrs[2], ndim, "padding"),
                                spread(attrs[3], ndim, "dilation"), attrs[4]}),
               attrs[5].truth());
}

Tensor avg_pool(std::span<const Tensor> in, const Attrs& attrs, int64_t ndim) {
  static const Op op{"avg_pool"};
  check_axes(in[0], ndim);
  Dims kernel = spread(attrs[0], ndim, "kernel_size");
  AttrValue divisor = attrs.size() > 5 ? attrs[5] : AttrValue();
  check_runtime(divisor.none() || divisor.i64() != 0, "divisor_override must not be zero");
  return op({in[0]}, {kernel, stride_or_kernel(attrs[1], kernel, ndim), spread(attrs[2], ndim, "padding"), attrs[3],
                      attrs[4], divisor});
}

/// output_size with -1 (as None in torch) replaced by the input's size.
static Dims output_size(const Tensor& x, const AttrValue& size, int64_t ndim) {
  check_axes(x, ndim);
  Dims out = spread(size, ndim, "output_size");
  for (int64_t a = 0; a < ndim; ++a)
    if (out[static_cast<size_t>(a)] == -1) out[static_cast<size_t>(a)] = x.size(x.ndim() - ndim + a);
  return out;
}

Tensor adaptive_avg_pool(std::span<const Tensor> in, const Attrs& attrs, int64_t ndim) {
  static const Op op{"adaptive_avg_pool"};
  return op({in[0]}, {output_size(in[0], attrs[0], ndim)});
}

Tensors adaptive_max_pool(std::span<const Tensor> in, const Attrs& attrs, int64_t ndim) {
  static const Op op{"adaptive_max_pool"};
  return asked(op.all({in[0]}, {output_size(in[0], attrs[0], ndim)}), attrs[1].truth());
}

}  // namespace hw
