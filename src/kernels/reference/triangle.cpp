// tril and triu: each row is kept on one side of the diagonal and zero on the other.
#include <algorithm>

#include "base/thread_team.h"
#include "kernels/kernel.h"
#include "kernels/loops/convert.h"
#include "kernels/loops/each.h"

namespace hw {

namespace {

class Triangle final : public Kernel {
 public:
  Triangle(const KernelRequest& r, bool lower)
      : x_(strides_of(r.inputs[0])),
        y_(strides_of(r.outputs[0])),
        shape_(r.outputs[0].shape),
        from_(dtype_size(r.inputs[0].dtype)),
        to_(dtype_size(r.outputs[0].dtype)),
        diagonal_(std::clamp<int64_t>(r.attrs[0].i64(), -(int64_t{1} << 60), int64_t{1} << 60)),
        lower_(lower),
        move_(find_convert(r.inputs[0].dtype, r.outputs[0].dtype)),
        fill_(find_convert(r.outputs[0].dtype, r.outputs[0].dtype)) {}
  void run(const KernelArgs& args) const override {
    const int64_t width = shape_.back(), rows = width ? numel(shape_) / width : 0;
    parallel_for(rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, width)), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        one_row(static_cast<const char*>(args.inputs[0]), static_cast<char*>(args.outputs[0]), row);
    });
  }

 private:
  void one_row(const char* x, char* y, int64_t row) const {
    static constexpr char kZero[16] = {};
    const int64_t width = shape_.back(), in_matrix = row % shape_[shape_.size() - 2];
    for (size_t a = shape_.size() - 1; a-- > 0;) {
      const int64_t i = row % shape_[a];
      row /= shape_[a];
      x += i * x_[a] * from_;
      y += i * y_[a] * to_;
    }
    // Columns [0, edge) lie strictly below the diagonal, or for tril on it too.
    const int64_t edge = std::clamp<int64_t>(in_matrix + diagonal_ + (lower_ ? 1 : 0), 0, width);
    const int64_t first = lower_ ? 0 : edge, last = lower_ ? edge : width;
    if (x != y) move_(x + first * x_.back() * from_, x_.back(), y + first * y_.back() * to_, y_.back(), last - first);
    fill_(kZero, 0, y, y_.back(), first);
    fill_(kZero, 0, y + last * y_.back() * to_, y_.back(), width - last);
  }

  Dims x_, y_, shape_;
  int64_t from_, to_, diagonal_;
  bool lower_;
  ConvertFn move_, fill_;
};

std::unique_ptr<Kernel> prepare_tril(const KernelRequest& r, std::string&) {
  return std::make_unique<Triangle>(r, true);
}
std::unique_ptr<Kernel> prepare_triu(const KernelRequest& r, std::string&) {
  return std::make_unique<Triangle>(r, false);
}

const RegisterKernel tril({"tril", "reference", DeviceType::CPU, kReferencePriority, &prepare_tril});
const RegisterKernel triu({"triu", "reference", DeviceType::CPU, kReferencePriority, &prepare_triu});

}  // namespace
}  // namespace hw
