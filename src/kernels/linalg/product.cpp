// Reads a matrix-product op as sizes and strides; see the header.
#include "kernels/linalg/product.h"

#include <cstring>

#include "base/error.h"
#include "core/visit.h"

namespace hw {

Product Product::transposed() const {
  Product t = *this;
  t.m = n, t.n = m;
  t.a_batch = b_batch, t.a_row = b_col, t.a_col = b_row;
  t.b_batch = a_batch, t.b_row = a_col, t.b_col = a_row;
  t.c_row = c_col, t.c_col = c_row;
  t.input_row = input_col, t.input_col = input_row;
  return t;
}

void gather(const void* from, const TensorSpec& spec, void* to) {
  int64_t ndim = spec.ndim(), total = spec.numel();
  if (total == 0) return;
  visit_size(dtype_size(spec.dtype), [&]<class T>(Type<T>) {
    auto* source = static_cast<const T*>(from);
    auto* target = static_cast<T*>(to);
    int64_t inner = ndim ? spec.shape[ndim - 1] : 1, step = ndim ? spec.strides[ndim - 1] : 1;
    Dims index(static_cast<size_t>(ndim), 0);
    int64_t offset = 0;
    for (int64_t done = 0; done < total; done += inner, target += inner) {
      if (step == 1)
        std::memcpy(static_cast<void*>(target), source + offset, static_cast<size_t>(inner) * sizeof(T));
      else
        for (int64_t i = 0; i < inner; ++i) target[i] = source[offset + i * step];
      for (int64_t axis = ndim - 2; axis >= 0; --axis) {
        offset += spec.strides[axis];
        if (++index[axis] < spec.shape[axis]) break;
        offset -= spec.strides[axis] * spec.shape[axis];
        index[axis] = 0;
      }
    }
  });
}

static void fits(std::string_view op, int64_t a_columns, int64_t b_rows) {
  check(a_columns == b_rows, op, ": inner sizes differ: the left side has ", a_columns, " columns, the right side has ",
        b_rows, " rows. Transpose one, or swap them.");
}

/// Leading axes of `spec` (all but the last) as at most two (size, stride) groups; false when that is not enough.
static bool leading_groups(const TensorSpec& spec, int64_t (&size)[2], int64_t (&stride)[2]) {
  int groups = 0;
  size[0] = size[1] = 1, stride[0] = stride[1] = 0;
  for (int64_t axis = spec.ndim() - 2; axis >= 0; --axis) {  // from the inside; group 0 is the innermost
    if (spec.shape[axis] == 1) continue;
    if (groups > 0 && spec.strides[axis] == size[groups - 1] * stride[groups - 1]) {
      size[groups - 1] *= spec.shape[axis];
      continue;
    }
    if (groups == 2) return false;
    size[groups] = spec.shape[axis], stride[groups] = spec.strides[axis];
    ++groups;
  }
  return true;
}

static bool read_linear(const KernelRequest& request, ProductRequest& out, std::string& why_not) {
  const TensorSpec &x = request.inputs[0], &w = request.inputs[1], &y = request.outputs[0];
  check(x.ndim() >= 1 && w.ndim() == 2, "linear: needs an input with at least 1 axis and a weight with 2, got ", x,
        " and ", w);
  fits("linear", x.shape.back(), w.shape[1]);
  Product& p = out.product;
  p.n = w.shape[0], p.k = w.shape[1];
  p.b_row = w.strides[1], p.b_col = w.strides[0];
  if (!y.contiguous()) {
    why_not = "the output is not contiguous";
    return false;
  }
  p.c_col = 1, p.c_row = p.n;
  int64_t rows = 1;
  for (int64_t axis = 0; axis + 1 < x.ndim(); ++axis) rows *= x.shape[axis];
  int64_t size[2], stride[2];
  p.m = rows, p.a_row = p.k, p.a_col = 1;
  out.gather_a = rows > 0 && !leading_groups(x, size, stride);
  if (rows > 0 && !out.gather_a) {
    p.m = size[0], p.a_row = stride[0], p.a_col = x.strides.back();
    p.batch = size[1], p.a_batch = stride[1], p.c_batch = p.m * p.n;
  }
  if (request.inputs.size() > 2 && request.inputs[2].given()) {
    const TensorSpec& bias = request.inputs[2];
    check(bias.ndim() <= 1 && (bias.numel() == p.n || bias.numel() == 1), "linear: the bias is ", bias,
          ", the weight has ", p.n, " rows");
    out.input = 2, p.has_input = true;
    p.input_col = bias.numel() == p.n && bias.ndim() == 1 ? bias.strides[0] : 0;
  }
  return true;
}

static void read_addend(const KernelRequest& request, ProductRequest& out, bool batched) {
  Product& p = out.product;
  const TensorSpec& input = request.inputs[0];
  Dims to = batched ? Dims{p.batch, p.m, p.n} : Dims{p.m, p.n};
  Dims strides = broadcast_strides(input.shape, input.strides, to);
  p.beta = request.attrs[0].f64(), p.alpha = request.attrs[1].f64();
  p.has_input = p.beta != 0;  // as in torch: a beta of 0 ignores even a NaN
  out.input = 0;
  size_t axis = 0;
  if (batched) p.input_batch = strides[axis++];
  p.input_row = strides[axis], p.input_col = strides[axis + 1];
}

bool read_product(const KernelRequest& request, ProductRequest& out, std::string& why_not) {
  std::string_view op = request.op;
  bool adds = op == "addmm" || op == "baddbmm", batched = op == "bmm" || op == "baddbmm";
  out = {};
  out.product.dtype = request.outputs[0].dtype;
  for (const TensorSpec& input : request.inputs)
    if (input.given() && input.dtype != out.product.dtype) {
      why_not = text("inputs of different dtypes: ", input.dtype, " and ", out.product.dtype);
      return false;
    }
  if (op == "linear") return read_linear(request, out, why_not);
  out.a = adds ? 1 : 0, out.b = adds ? 2 : 1;
  const TensorSpec &a = request.inputs[out.a], &b = request.inputs[out.b], &c = request.outputs[0];
  int64_t ndim = batched ? 3 : 2;
  check(a.ndim() == ndim && b.ndim() == ndim, op, ": needs two tensors with ", ndim, " axes, got ", a, " and ", b);
  fits(op, a.shape[ndim - 1], b.shape[ndim - 2]);
  Product& p = out.product;
  if (batched) {
    check(a.shape[0] == b.shape[0], op, ": batch sizes differ: ", a.shape[0], " and ", b.shape[0]);
    p.batch = a.shape[0];
    p.a_batch = a.strides[0], p.b_batch = b.strides[0], p.c_batch = c.strides[0];
  }
  p.m = a.shape[ndim - 2], p.k = a.shape[ndim - 1], p.n = b.shape[ndim - 1];
  p.a_row = a.strides[ndim - 2], p.a_col = a.strides[ndim - 1];
  p.b_row = b.strides[ndim - 2], p.b_col = b.strides[ndim - 1];
  p.c_row = c.strides[ndim - 2], p.c_col = c.strides[ndim - 1];
  if (adds) read_addend(request, out, batched);
  return true;
}

}  // namespace hw
