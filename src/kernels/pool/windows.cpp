// Tables of pooling windows; see the header.
#include "kernels/pool/windows.h"

#include <algorithm>

#include "base/error.h"

namespace hw {

double PoolWindows::divisor(int64_t o0, int64_t o1, int64_t o2) const {
  if (divisor_override != 0) return divisor_override;
  auto points = [&](const PoolAxis& a, int64_t o) { return count_include_pad ? a.padded[o] : a.count[o]; };
  return static_cast<double>(points(axis[0], o0) * points(axis[1], o1) * points(axis[2], o2));
}

int64_t pool_out_size(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil_mode) {
  int64_t span = in + 2 * padding - dilation * (kernel - 1) - 1;
  if (span < 0) return ceil_mode && span > -stride ? (padding + in > 0 ? 1 : 0) : 0;
  int64_t out = (span + (ceil_mode ? stride - 1 : 0)) / stride + 1;
  if (ceil_mode && (out - 1) * stride >= in + padding) --out;
  return out;
}

static void regular(PoolAxis& a, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
  a.step = dilation;
  a.begin.assign(a.out, 0), a.count.assign(a.out, 0), a.padded.assign(a.out, 0);
  for (int64_t o = 0; o < a.out; ++o) {
    int64_t start = o * stride - padding, stop = std::min(start + dilation * (kernel - 1) + 1, a.in + padding);
    a.padded[o] = std::max<int64_t>(0, (stop - start + dilation - 1) / dilation);
    if (start < 0) start += (-start + dilation - 1) / dilation * dilation;
    stop = std::min(stop, a.in);
    a.begin[o] = start;
    a.count[o] = std::max<int64_t>(0, (stop - start + dilation - 1) / dilation);
  }
}

static void adaptive(PoolAxis& a) {
  a.begin.assign(a.out, 0), a.count.assign(a.out, 0);
  for (int64_t o = 0; o < a.out; ++o) {
    a.begin[o] = o * a.in / a.out;
    a.count[o] = ((o + 1) * a.in + a.out - 1) / a.out - a.begin[o];
  }
  a.padded = a.count;
}

PoolWindows read_windows(const KernelRequest& request) {
  std::string_view op = request.op;
  bool grad = op.ends_with("_grad");
  const Dims& x = grad ? request.outputs[0].shape : request.inputs[0].shape;
  const Dims& y = grad ? request.inputs[0].shape : request.outputs[0].shape;
  std::span<const AttrValue> attrs(request.attrs);
  if (grad) attrs = attrs.subspan(1);  // the input's shape, which is x
  PoolWindows w;
  bool counted = op == "max_pool_grad" || op == "adaptive_avg_pool_grad";
  w.ndim = static_cast<int>(counted ? attrs[0].i64() : static_cast<int64_t>(attrs[0].ints().size()));
  int64_t leading = static_cast<int64_t>(x.size()) - w.ndim;
  for (int64_t i = 0; i < leading; ++i) w.planes *= x[i];
  for (int a = 0; a < w.ndim; ++a) {
    PoolAxis& axis = w.axis[3 - w.ndim + a];
    axis.in = x[leading + a], axis.out = y[leading + a];
  }
  if (op.starts_with("adaptive")) {
    for (PoolAxis& axis : w.axis) adaptive(axis);
    return w;
  }
  if (op == "max_pool_grad") return w;
  bool max = op == "max_pool";
  auto value = [&](size_t attr, int a) {
    const Dims& d = attrs[attr].ints();
    return d[d.size() == 1 ? 0 : static_cast<size_t>(a)];
  };
  for (int a = 0; a < w.ndim; ++a) {
    int64_t stride = attrs[1].none() || attrs[1].ints().empty() ? value(0, a) : value(1, a);
    regular(w.axis[3 - w.ndim + a], value(0, a), stride, value(2, a), max ? value(3, a) : 1);
  }
  if (!max) {
    w.count_include_pad = attrs[4].truth();
    w.divisor_override = attrs[5].none() ? 0 : attrs[5].f64();
  }
  return w;
}

}  // namespace hw
