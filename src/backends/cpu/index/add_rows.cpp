// index_put_, index_add and index_copy by whole rows: what the gradients of indexing and index_select call, and x[rows] = y.
#include <cstring>

#include "backends/cpu/index/rows.h"
#include "base/thread_team.h"
#include "kernels/index/accumulate.h"
#include "kernels/loops/each.h"

namespace hw {

namespace {

class AddRows final : public Kernel {
 public:
  AddRows(const KernelRequest& r, IndexPlan plan, Rows rows, size_t values, bool adds)
      : plan_(std::move(plan)),
        rows_(rows),
        values_(values),
        adds_(adds),
        dtype_(r.outputs[0].dtype),
        count_(r.outputs[0].numel()) {}
  size_t scratch_bytes() const override { return plan_.scratch_bytes(); }
  void run(const KernelArgs& args) const override {
    int64_t* offsets = static_cast<int64_t*>(args.scratch);
    if (args.inputs[0] != args.outputs[0])
      std::memcpy(args.outputs[0], args.inputs[0], static_cast<size_t>(count_ * dtype_size(dtype_)));
    if (!index_offsets(plan_, args, offsets)) return;
    visit_dtype(dtype_, [&]<class T>(Type<T>) { add<T>(args, offsets); });
  }

 private:
  template <class T>
  void add(const KernelArgs& args, const int64_t* offsets) const {
    T* y = static_cast<T*>(args.outputs[0]);
    const T* v = static_cast<const T*>(args.inputs[values_]);
    // Two sources may meet only along the indexed axes, so threads share the others.
    const int64_t work = std::max<int64_t>(1, plan_.count);
    if (plan_.pre_count > 1) {
      parallel_for(plan_.pre_count, std::max<int64_t>(1, 16384 / (work * std::max<int64_t>(1, plan_.post_count))),
                   [&](int64_t begin, int64_t end) {
                     each<2>(
                         plan_.pre, {plan_.x_pre, plan_.y_pre},
                         [&](int64_t to, int64_t from) { columns(y + to, v + from, offsets, 0, plan_.post_count); },
                         begin, end);
                   });
    } else if (plan_.pre_count == 1) {
      parallel_for(plan_.post_count, std::max<int64_t>(64, 16384 / work),
                   [&](int64_t begin, int64_t end) { columns(y, v, offsets, begin, end); });
    }
  }

  template <class T>
  void columns(T* y, const T* v, const int64_t* offsets, int64_t begin, int64_t end) const {
    const int64_t from_step = rows_.y_stride, to_step = rows_.x_stride;
    for (int64_t i = 0; i < plan_.count; ++i) {
      T* __restrict to = y + offsets[i];
      const T* __restrict from = v + i * rows_.y_step;
      if (!adds_) {
        copy(to, to_step, from, from_step, begin, end);
      } else if (from_step == 1 && to_step == 1) {
        for (int64_t k = begin; k < end; ++k) to[k] = added(to[k], from[k]);
      } else {
        for (int64_t k = begin; k < end; ++k) to[k * to_step] = added(to[k * to_step], from[k * from_step]);
      }
    }
  }

  template <class T>
  static void copy(T* to, int64_t to_step, const T* from, int64_t from_step, int64_t begin, int64_t end) {
    if (from_step == 1 && to_step == 1)
      std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin) * sizeof(T));
    else
      for (int64_t k = begin; k < end; ++k) to[k * to_step] = from[k * from_step];
  }

  IndexPlan plan_;
  Rows rows_;
  size_t values_;
  bool adds_;
  DType dtype_;
  int64_t count_;
};

std::unique_ptr<Kernel> make(const KernelRequest& r, IndexPlan plan, size_t values, bool adds, std::string& why_not) {
  Rows rows;
  const TensorSpec &x = r.inputs[0], &y = r.outputs[0];
  if (x.dtype != y.dtype || r.inputs[values].dtype != y.dtype) {
    why_not = "dtypes differ";
  } else if (!x.contiguous() || !y.contiguous()) {
    why_not = "input and output must be contiguous";
  } else if (!rows.make(plan)) {
    why_not = "the axes that are not indexed do not form rows";
  } else {
    return std::make_unique<AddRows>(r, std::move(plan), rows, values, adds);
  }
  return nullptr;
}

std::unique_ptr<Kernel> prepare_put(const KernelRequest& r, std::string& why_not) {
  return make(r, make_index_plan(r.outputs[0], r.inputs[1], r.inputs.subspan(2), 2), 1, r.attrs[0].truth(), why_not);
}

std::unique_ptr<Kernel> prepare_copy(const KernelRequest& r, std::string& why_not) {
  const int64_t axis = normalize_axis(r.attrs[0].i64(), r.outputs[0].ndim());
  if (!r.inputs[1].shape.empty())
    return make(r, make_index_plan(r.outputs[0], r.inputs[2], r.inputs[1], 1, axis), 2, false, why_not);
  why_not = "needs a 1-d index";
  return nullptr;
}

std::unique_ptr<Kernel> prepare_add(const KernelRequest& r, std::string& why_not) {
  TensorSpec index = r.inputs[1];
  if (r.attrs[1].scalar() != Scalar(1) || index.shape.empty()) {
    why_not = "needs alpha 1 and a 1-d index";
    return nullptr;
  }
  const int64_t axis = normalize_axis(r.attrs[0].i64(), r.outputs[0].ndim());
  return make(r, make_index_plan(r.outputs[0], r.inputs[2], index, 1, axis), 2, true, why_not);
}

const RegisterKernel put({"index_put_", "cpu", DeviceType::CPU, 10, &prepare_put});
const RegisterKernel copy({"index_copy", "cpu", DeviceType::CPU, 10, &prepare_copy});
const RegisterKernel add({"index_add", "cpu", DeviceType::CPU, 10, &prepare_add});

}  // namespace
}  // namespace hw
