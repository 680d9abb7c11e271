// index, index_select and embedding by whole rows.
#include <cstring>

#include "backends/cpu/index/rows.h"
#include "base/thread_team.h"
#include "core/visit.h"
#include "kernels/loops/convert.h"
#include "kernels/loops/each.h"

namespace hw {

namespace {

class GatherRows final : public Kernel {
 public:
  GatherRows(IndexPlan plan, Rows rows, size_t x, DType dtype)
      : plan_(std::move(plan)), rows_(rows), x_(x), size_(dtype_size(dtype)), move_(find_convert(dtype, dtype)) {}
  size_t scratch_bytes() const override { return plan_.scratch_bytes(); }
  void run(const KernelArgs& args) const override {
    int64_t* offsets = static_cast<int64_t*>(args.scratch);
    if (!index_offsets(plan_, args, offsets) || plan_.count == 0) return;
    const char* x = static_cast<const char*>(args.inputs[x_]);
    char* y = static_cast<char*>(args.outputs[0]);
    const int64_t n = plan_.post_count;
    const int64_t grain = std::max<int64_t>(1, 65536 / std::max<int64_t>(8, n * size_));
    parallel_for(plan_.pre_count * plan_.count, grain, [&](int64_t begin, int64_t end) {
      const int64_t first = begin / plan_.count, last = (end + plan_.count - 1) / plan_.count;
      int64_t p = first;
      each<2>(
          plan_.pre, {plan_.x_pre, plan_.y_pre},
          [&](int64_t x_pre, int64_t y_pre) {
            const int64_t from = p == first ? begin - first * plan_.count : 0;
            const int64_t to = std::min(plan_.count, end - p * plan_.count);
            some(x + x_pre * size_, y + y_pre * size_, offsets, from, to);
            ++p;
          },
          first, last);
    });
  }

 private:
  void some(const char* x, char* y, const int64_t* offsets, int64_t begin, int64_t end) const {
    const int64_t n = plan_.post_count, step = rows_.y_step * size_;
    if (n == 1) {
      visit_size(size_, [&]<class T>(Type<T>) {
        const T* from = static_cast<const T*>(static_cast<const void*>(x));
        T* to = static_cast<T*>(static_cast<void*>(y));
        for (int64_t i = begin; i < end; ++i) to[i * rows_.y_step] = from[offsets[i]];
      });
    } else if (n == 0) {
      return;
    } else if (rows_.x_stride == 1 && rows_.y_stride == 1) {
      for (int64_t i = begin; i < end; ++i)
        std::memcpy(y + i * step, x + offsets[i] * size_, static_cast<size_t>(n * size_));
    } else {
      for (int64_t i = begin; i < end; ++i)
        move_(x + offsets[i] * size_, rows_.x_stride, y + i * step, rows_.y_stride, n);
    }
  }

  IndexPlan plan_;
  Rows rows_;
  size_t x_;
  int64_t size_;
  ConvertFn move_;
};

std::unique_ptr<Kernel> make(IndexPlan plan, size_t x, DType dtype, std::string& why_not) {
  Rows rows;
  if (rows.make(plan)) return std::make_unique<GatherRows>(std::move(plan), rows, x, dtype);
  why_not = "the axes that are not indexed do not form rows";
  return nullptr;
}

std::unique_ptr<Kernel> prepare_index(const KernelRequest& r, std::string& why_not) {
  return make(make_index_plan(r.inputs[0], r.outputs[0], r.inputs.subspan(1), 1), 0, r.inputs[0].dtype, why_not);
}

std::unique_ptr<Kernel> prepare_index_select(const KernelRequest& r, std::string& why_not) {
  TensorSpec index = r.inputs[1];
  if (index.shape.empty()) {
    index.shape = {1};
    index.strides = {1};
  }
  const int64_t axis = normalize_axis(r.attrs[0].i64(), r.inputs[0].ndim());
  return make(make_index_plan(r.inputs[0], r.outputs[0], index, 1, axis), 0, r.inputs[0].dtype, why_not);
}

std::unique_ptr<Kernel> prepare_embedding(const KernelRequest& r, std::string& why_not) {
  return make(make_index_plan(r.inputs[1], r.outputs[0], r.inputs[0], 0, 0), 1, r.inputs[1].dtype, why_not);
}

const RegisterKernel index({"index", "cpu", DeviceType::CPU, 10, &prepare_index});
const RegisterKernel index_select({"index_select", "cpu", DeviceType::CPU, 10, &prepare_index_select});
const RegisterKernel embedding({"embedding", "cpu", DeviceType::CPU, 10, &prepare_embedding});

}  // namespace
}  // namespace hw
