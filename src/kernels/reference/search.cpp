// searchsorted: binary search for each element.
#include "base/thread_team.h"
#include "kernels/kernel.h"
#include "kernels/loops/convert.h"
#include "kernels/loops/each.h"
#include "kernels/sort/keys.h"

namespace hw {

namespace {

class Search final : public Kernel {
 public:
  explicit Search(const KernelRequest& r)
      : sequence_(r.inputs[0]), x_(r.inputs[1]), y_(r.outputs[0]), steps_(strides_of(r.inputs[0])) {
    right_ = r.attrs[1].truth() || (!r.attrs[2].none() && r.attrs[2].text() == "right");
    n_ = sequence_.shape.back();
    step_ = steps_.back();
    // The strides of the sequence over the input's shape: zero along the last axis, and everywhere if there is one for all.
    over_ = Dims(x_.shape.size(), 0);
    if (sequence_.ndim() > 1)
      for (size_t a = 0; a + 1 < over_.size(); ++a) over_[a] = steps_[a];
    common_ = promote(sequence_.dtype, x_.wrapped ? sequence_.dtype : x_.dtype);
    if (x_.wrapped && !is_floating(common_)) common_ = is_floating(x_.dtype) ? DType::F64 : DType::I64;
    from_sequence_ = find_convert(sequence_.dtype, common_);
    from_x_ = find_convert(x_.dtype, common_);
  }
  void run(const KernelArgs& args) const override {
    parallel_for(y_.numel(), 2048, [&](int64_t begin, int64_t end) {
      visit_sortable(common_, [&]<class T>(Type<T>) {
        each<3>(
            y_.shape, {over_, strides_of(x_), strides_of(y_)},
            [&](int64_t row, int64_t from, int64_t to) { one<T>(args, row, from, to); }, begin, end);
      });
    });
  }

 private:
  template <class T>
  void one(const KernelArgs& args, int64_t row, int64_t from, int64_t to) const {
    const int64_t size = dtype_size(sequence_.dtype);
    const char* sequence = static_cast<const char*>(args.inputs[0]) + row * size;
    T value{};
    from_x_(static_cast<const char*>(args.inputs[1]) + from * dtype_size(x_.dtype), 1, &value, 1, 1);
    const auto key = sort_key(value);
    int64_t low = 0, high = n_;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      T at{};
      from_sequence_(sequence + middle * step_ * size, 1, &at, 1, 1);
      const auto other = sort_key(at);
      if (right_ ? other <= key : other < key)
        low = middle + 1;
      else
        high = middle;
    }
    if (y_.dtype == DType::I32)
      static_cast<int32_t*>(args.outputs[0])[to] = static_cast<int32_t>(low);
    else
      static_cast<int64_t*>(args.outputs[0])[to] = low;
  }

  TensorSpec sequence_, x_, y_;
  Dims steps_, over_;
  bool right_;
  int64_t n_, step_;
  DType common_;
  ConvertFn from_sequence_, from_x_;
};

std::unique_ptr<Kernel> prepare(const KernelRequest& r, std::string&) { return std::make_unique<Search>(r); }
const RegisterKernel search({"searchsorted", "reference", DeviceType::CPU, kReferencePriority, &prepare});

}  // namespace
}  // namespace hw
