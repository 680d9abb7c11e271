// Plain advanced indexing (index, index_select, embedding): one element at a time.
#include <cstring>

#include "kernels/index/plan.h"
#include "kernels/loops/each.h"

namespace hw {

namespace {

class ReferenceIndex final : public Kernel {
 public:
  ReferenceIndex(IndexPlan plan, size_t x, int64_t size) : plan_(std::move(plan)), x_(x), size_(size) {}
  size_t scratch_bytes() const override { return plan_.scratch_bytes(); }
  void run(const KernelArgs& args) const override {
    auto* offsets = static_cast<int64_t*>(args.scratch);
    if (!index_offsets(plan_, args, offsets)) return;
    const char* x = static_cast<const char*>(args.inputs[x_]);
    char* y = static_cast<char*>(args.outputs[0]);
    each<2>(plan_.pre, {plan_.x_pre, plan_.y_pre}, [&](int64_t x_pre, int64_t y_pre) {
      const int64_t* offset = offsets;
      each<1>(plan_.common, {plan_.y_common}, [&](int64_t y_common) {
        each<2>(plan_.post, {plan_.x_post, plan_.y_post}, [&](int64_t x_post, int64_t y_post) {
          std::memcpy(y + (y_pre + y_common + y_post) * size_, x + (x_pre + *offset + x_post) * size_,
                      static_cast<size_t>(size_));
        });
        ++offset;
      });
    });
  }

 private:
  IndexPlan plan_;
  size_t x_;
  int64_t size_;
};

std::unique_ptr<Kernel> prepare_index(const KernelRequest& r, std::string&) {
  return std::make_unique<ReferenceIndex>(make_index_plan(r.inputs[0], r.outputs[0], r.inputs.subspan(1), 1), 0,
                                          dtype_size(r.inputs[0].dtype));
}

std::unique_ptr<Kernel> prepare_index_select(const KernelRequest& r, std::string&) {
  TensorSpec index = r.inputs[1];
  if (index.shape.empty()) {  // a 0-d index counts as one of size 1
    index.shape = {1};
    index.strides = {1};
  }
  int64_t axis = normalize_axis(r.attrs[0].i64(), r.inputs[0].ndim());
  return std::make_unique<ReferenceIndex>(make_index_plan(r.inputs[0], r.outputs[0], index, 1, axis), 0,
                                          dtype_size(r.inputs[0].dtype));
}

/// embedding(indices, table).
std::unique_ptr<Kernel> prepare_embedding(const KernelRequest& r, std::string&) {
  return std::make_unique<ReferenceIndex>(make_index_plan(r.inputs[1], r.outputs[0], r.inputs[0], 0, 0), 1,
                                          dtype_size(r.inputs[1].dtype));
}

const RegisterKernel index({"index", "reference", DeviceType::CPU, kReferencePriority, &prepare_index});
const RegisterKernel index_select({"index_select", "reference", DeviceType::CPU, kReferencePriority,
                                   &prepare_index_select});
const RegisterKernel embedding({"embedding", "reference", DeviceType::CPU, kReferencePriority, &prepare_embedding});

}  // namespace
}  // namespace hw
