// Plain cat and flip: one element at a time.
#include "kernels/kernel.h"
#include "kernels/loops/convert.h"
#include "kernels/loops/each.h"

namespace hw {

namespace {

/// Writes some inputs into boxes of the output.
class Boxes final : public Kernel {
 public:
  struct Box {
    size_t input;
    Dims shape, from, to;
    int64_t from_offset, to_offset, from_size;
    ConvertFn convert;
  };
  Boxes(std::vector<Box> boxes, DType to) : boxes_(std::move(boxes)), to_size_(dtype_size(to)) {}
  void run(const KernelArgs& args) const override {
    for (const Box& b : boxes_) {
      const char* x = static_cast<const char*>(args.inputs[b.input]) + b.from_offset * b.from_size;
      char* y = static_cast<char*>(args.outputs[0]) + b.to_offset * to_size_;
      each<2>(b.shape, {b.from, b.to},
              [&](int64_t from, int64_t to) { b.convert(x + from * b.from_size, 1, y + to * to_size_, 1, 1); });
    }
  }

 private:
  std::vector<Box> boxes_;
  int64_t to_size_;
};

std::unique_ptr<Kernel> prepare_cat(const KernelRequest& r, std::string&) {
  const TensorSpec& y = r.outputs[0];
  const Dims strides = strides_of(y);
  size_t axis = static_cast<size_t>(normalize_axis(r.attrs[0].i64(), y.ndim()));
  std::vector<Boxes::Box> boxes;
  int64_t at = 0;
  for (size_t i = 0; i < r.inputs.size(); ++i) {
    const TensorSpec& x = r.inputs[i];
    if (x.numel() == 0) {
      if (x.ndim() == y.ndim()) at += x.shape[axis];
      continue;
    }
    boxes.push_back({i, x.shape, strides_of(x), strides, 0, at * strides[axis], dtype_size(x.dtype),
                     find_convert(x.dtype, y.dtype)});
    at += x.shape[axis];
  }
  return std::make_unique<Boxes>(std::move(boxes), y.dtype);
}

std::unique_ptr<Kernel> prepare_flip(const KernelRequest& r, std::string&) {
  const TensorSpec &x = r.inputs[0], &y = r.outputs[0];
  Boxes::Box b{0, x.shape, strides_of(x), strides_of(y), 0, 0, dtype_size(x.dtype), find_convert(x.dtype, y.dtype)};
  for (int64_t dim : r.attrs[0].ints()) {
    if (x.shape.empty() || x.numel() == 0) break;
    size_t a = static_cast<size_t>(normalize_axis(dim, x.ndim()));
    b.from_offset += (x.shape[a] - 1) * b.from[a];
    b.from[a] = -b.from[a];
  }
  return std::make_unique<Boxes>(std::vector<Boxes::Box>{b}, y.dtype);
}

const RegisterKernel cat({"cat", "reference", DeviceType::CPU, kReferencePriority, &prepare_cat});
const RegisterKernel flip({"flip", "reference", DeviceType::CPU, kReferencePriority, &prepare_flip});

}  // namespace
}  // namespace hw
