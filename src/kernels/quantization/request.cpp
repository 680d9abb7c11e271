// Reads the request of a quantising operator.
#include "kernels/quantization/request.h"

#include "core/visit.h"
#include "kernels/loops/each.h"

namespace hw {

namespace {

Dims steps_strides(const TensorSpec& steps, int64_t axis, size_t ndim) {
  Dims strides(ndim, 0);
  if (axis >= 0 && steps.given()) strides[static_cast<size_t>(axis)] = strides_of(steps)[0];
  return strides;
}

int64_t lowest(DType d) { return d == DType::U8 ? 0 : -(int64_t{1} << (8 * dtype_size(d) - 1)); }
int64_t highest(DType d) { return d == DType::U8 ? 255 : (int64_t{1} << (8 * dtype_size(d) - 1)) - 1; }

}  // namespace

QuantizeRequest read_quantize_request(const KernelRequest& r) {
  const TensorSpec &x = r.inputs[0], &scale = r.inputs[1], &zero = r.inputs[2], &y = r.outputs[0];
  QuantizeRequest q;
  const int64_t axis = r.attrs[0].none() || x.ndim() == 0 ? -1 : normalize_axis(r.attrs[0].i64(), x.ndim());
  q.shape = x.shape;
  q.x = strides_of(x), q.y = strides_of(y);
  q.scale = steps_strides(scale, axis, x.shape.size()), q.zero = steps_strides(zero, axis, x.shape.size());
  q.x_dtype = x.dtype, q.y_dtype = y.dtype, q.scale_dtype = scale.dtype, q.zero_dtype = zero.dtype;
  q.wide = r.op == "dequantize_linear" ? y.dtype == DType::F64 : x.dtype == DType::F64;
  if (r.op == "quantize_linear") {
    q.low = r.attrs[2].none() ? lowest(y.dtype) : r.attrs[2].i64();
    q.high = r.attrs[3].none() ? highest(y.dtype) : r.attrs[3].i64();
  } else if (r.op == "fake_quantize") {
    q.low = r.attrs[1].i64(), q.high = r.attrs[2].i64();
  }
  q.length = x.numel(), q.rows = 1;
  if (axis < 0) {
    q.dense = q.x == q.y && is_non_overlapping(q.shape, q.x);
    int64_t reach = 1;
    for (size_t a = 0; a < q.shape.size(); ++a) reach += (q.shape[a] - 1) * q.x[a];
    q.dense = q.dense && reach == x.numel();
  } else {
    q.channels = q.shape[static_cast<size_t>(axis)];
    q.length = 1;
    for (size_t a = static_cast<size_t>(axis) + 1; a < q.shape.size(); ++a) q.length *= q.shape[a];
    q.rows = q.length ? x.numel() / q.length : 0;
    q.dense = x.contiguous() && y.contiguous();
  }
  return q;
}

ReadFn find_read(DType dtype) {
  if (dtype == DType::None) return [](const void*, int64_t) { return 0.0; };
  return visit_dtype(dtype, []<class T>(Type<T>) -> ReadFn {
    if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>)
      return nullptr;
    else
      return [](const void* data, int64_t i) { return static_cast<double>(static_cast<const T*>(data)[i]); };
  });
}

}  // namespace hw
