// Writing to indexed places (index_put_, index_add, index_copy, index_fill): one element at a time, later ones win.
#include <cstring>

#include "core/range.h"
#include "core/tensor.h"

#include "base/thread_team.h"
#include "kernels/index/accumulate.h"
#include "kernels/index/plan.h"
#include "kernels/loops/convert.h"
#include "kernels/loops/each.h"

namespace hw {

namespace {

enum class How { Copy, Add };

class ReferenceIndexPut final : public Kernel {
 public:
  /// `values`: which input holds what is written, or -1 for a constant held in `value`.
  ReferenceIndexPut(const KernelRequest& r, IndexPlan plan, How how, int values, Scalar value)
      : plan_(std::move(plan)),
        how_(how),
        values_(values),
        alpha_(value),
        x_(r.inputs[0]),
        y_(r.outputs[0]),
        from_(values < 0 ? r.outputs[0].dtype : r.inputs[static_cast<size_t>(values)].dtype) {
    convert_ = find_convert(from_, y_.dtype);
    copy_ = find_convert(x_.dtype, y_.dtype);
  }
  /// The value, one for all places, is refused if the dtype cannot hold it.
  void refuse_what_does_not_fit() { must_fit_ = from_ != y_.dtype && from_ != DType::Bool; }
  size_t scratch_bytes() const override { return plan_.scratch_bytes(); }

  void run(const KernelArgs& args) const override {
    auto* offsets = static_cast<int64_t*>(args.scratch);
    if (args.inputs[0] != args.outputs[0]) copy_input(args);
    if (!index_offsets(plan_, args, offsets) || (must_fit_ && !value_fits(args))) return;
    visit_dtype(y_.dtype, [&]<class T>(Type<T>) { write<T>(args, offsets); });
  }

 private:
  bool value_fits(const KernelArgs& args) const {
    const Scalar value = load_scalar(args.inputs[values_], from_);
    if (fits(value, y_.dtype)) return true;
    const std::string_view into = dtype_name(y_.dtype);
    args.status->report("RuntimeError: value %g does not fit %.*s", value.c128().real(), static_cast<int>(into.size()),
                        into.data());
    return false;
  }

  void copy_input(const KernelArgs& args) const {
    const int64_t from = dtype_size(x_.dtype), to = dtype_size(y_.dtype);
    const char* x = static_cast<const char*>(args.inputs[0]);
    char* y = static_cast<char*>(args.outputs[0]);
    if (x_.contiguous() && y_.contiguous()) return copy_(x, 1, y, 1, x_.numel());
    each<2>(y_.shape, {strides_of(x_), strides_of(y_)},
            [&](int64_t a, int64_t b) { copy_(x + a * from, 1, y + b * to, 1, 1); });
  }

  template <class T>
  void write(const KernelArgs& args, const int64_t* offsets) const {
    T constant{};
    store_scalar(&constant, y_.dtype, alpha_);
    T* y = static_cast<T*>(args.outputs[0]);
    const char* v = values_ < 0 ? nullptr : static_cast<const char*>(args.inputs[values_]);
    const int64_t size = dtype_size(from_);
    // Two sources may meet only along the indexed axes, so those stay with one thread.
    const bool over_pre = plan_.pre_count > 1;
    const int64_t lanes = over_pre ? plan_.pre_count : plan_.post_count;
    const int64_t work = plan_.count * (over_pre ? plan_.post_count : plan_.pre_count);
    parallel_for(lanes, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, work)), [&](int64_t begin, int64_t end) {
      auto row = [&](int64_t x_pre, int64_t v_pre) {
        const int64_t* offset = offsets;
        each<1>(plan_.common, {plan_.y_common}, [&](int64_t v_common) {
          T* to = y + x_pre + *offset++;
          const char* from = v + (v_pre + v_common) * size;
          write_post(to, from, size, constant, over_pre ? 0 : begin, over_pre ? plan_.post_count : end);
        });
      };
      if (over_pre)
        each<2>(plan_.pre, {plan_.x_pre, plan_.y_pre}, row, begin, end);
      else if (plan_.pre_count)
        row(0, 0);
    });
  }

  template <class T>
  void write_post(T* to, const char* from, int64_t size, T constant, int64_t begin, int64_t end) const {
    each<2>(
        plan_.post, {plan_.x_post, plan_.y_post},
        [&](int64_t at, int64_t source) {
          T value = constant;
          if (values_ >= 0) convert_(from + source * size, 1, &value, 1, 1);
          if (how_ == How::Add)
            to[at] = added(to[at], values_ >= 0 && alpha_ != Scalar(1) ? multiplied(value, constant) : value);
          else
            to[at] = value;
        },
        begin, end);
  }

  IndexPlan plan_;
  How how_;
  int values_;
  Scalar alpha_;
  TensorSpec x_, y_;
  DType from_;
  bool must_fit_ = false;
  ConvertFn convert_, copy_;
};

/// index_put_(x, values, indices...; accumulate).
std::unique_ptr<Kernel> prepare_index_put(const KernelRequest& r, std::string&) {
  return std::make_unique<ReferenceIndexPut>(r, make_index_plan(r.outputs[0], r.inputs[1], r.inputs.subspan(2), 2),
                                             r.attrs[0].truth() ? How::Add : How::Copy, 1, Scalar(1));
}

IndexPlan along_dim(const KernelRequest& r, const TensorSpec& values, bool wraps = false) {
  TensorSpec index = r.inputs[1];
  if (index.shape.empty()) {
    index.shape = {1};
    index.strides = {1};
  }
  return make_index_plan(r.outputs[0], values, index, 1, normalize_axis(r.attrs[0].i64(), r.outputs[0].ndim()), wraps);
}

/// index_add(x, index, source; dim, alpha).
std::unique_ptr<Kernel> prepare_index_add(const KernelRequest& r, std::string&) {
  return std::make_unique<ReferenceIndexPut>(r, along_dim(r, r.inputs[2]), How::Add, 2, r.attrs[1].scalar());
}
std::unique_ptr<Kernel> prepare_index_copy(const KernelRequest& r, std::string&) {
  return std::make_unique<ReferenceIndexPut>(r, along_dim(r, r.inputs[2]), How::Copy, 2, Scalar(1));
}
/// index_fill(x, index, value; dim): the value is a 0-d tensor.
std::unique_ptr<Kernel> prepare_index_fill(const KernelRequest& r, std::string&) {
  auto kernel = std::make_unique<ReferenceIndexPut>(r, along_dim(r, r.inputs[2], true), How::Copy, 2, Scalar(1));
  kernel->refuse_what_does_not_fit();
  return kernel;
}

const RegisterKernel index_put({"index_put_", "reference", DeviceType::CPU, kReferencePriority, &prepare_index_put});
const RegisterKernel index_add({"index_add", "reference", DeviceType::CPU, kReferencePriority, &prepare_index_add});
const RegisterKernel index_copy({"index_copy", "reference", DeviceType::CPU, kReferencePriority, &prepare_index_copy});
const RegisterKernel index_fill({"index_fill", "reference", DeviceType::CPU, kReferencePriority, &prepare_index_fill});

}  // namespace
}  // namespace hw
