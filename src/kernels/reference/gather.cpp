// gather and the scatter family: one element at a time along an axis.
#include <atomic>
#include <limits>

#include "base/thread_team.h"
#include "core/tensor.h"
#include "kernels/index/accumulate.h"
#include "kernels/kernel.h"
#include "kernels/loops/convert.h"
#include "kernels/loops/each.h"

namespace hw {

namespace {

/// Sizes and strides of one call; the offset of an element along `dim` comes from the index.
struct AlongDim {
  Dims shape;                              // of the index
  Dims x, index, other;                    // strides over `shape`; those of x are 0 along dim
  int64_t axis = 0, size = 1, stride = 0;  // of x along dim
  bool wide = true;                        // int64 indices

  AlongDim(const TensorSpec& table, const TensorSpec& i, const TensorSpec& o, int64_t dim) {
    shape = i.shape;
    index = strides_of(i);
    x = strides_of(table);
    other = o.shape.size() == shape.size() ? strides_of(o) : Dims(shape.size(), 0);
    wide = i.dtype == DType::I64;
    axis = normalize_axis(dim, table.ndim());
    if (table.shape.empty() || shape.empty()) {  // 0-d counts as one element on one axis
      size = table.numel();
      stride = table.shape.empty() ? 0 : x[0];
      x = Dims(shape.size(), 0);
      if (o.shape.size() != shape.size()) other = Dims(shape.size(), 0);
      return;
    }
    const size_t a = static_cast<size_t>(axis);
    size = table.shape[a];
    stride = x[a];
    x[a] = 0;
  }

  int64_t at(const void* data, int64_t offset) const {
    return wide ? static_cast<const int64_t*>(data)[offset] : static_cast<const int32_t*>(data)[offset];
  }
  /// Reports the first index out of range. torch allows no negative ones here.
  bool check(const void* data, LaunchStatus* status) const {
    std::atomic<bool> bad{false};
    std::atomic<int64_t> which{0};
    parallel_for(numel(shape), 32768, [&](int64_t begin, int64_t end) {
      int64_t found = 0;
      bool wrong = false;
      auto one = [&](int64_t offset) {
        const int64_t v = at(data, offset);
        if (v < 0 || v >= size) wrong = true, found = v;
      };
      if (is_contiguous(shape, index))
        for (int64_t i = begin; i < end; ++i) one(i);
      else
        each<1>(shape, {index}, one, begin, end);
      if (wrong) which = found, bad = true;
    });
    if (bad)
      status->report("index %ld is out of range for axis %ld with size %ld", static_cast<long>(which.load()),
                     static_cast<long>(axis), static_cast<long>(size));
    return !bad;
  }
};

class Gather final : public Kernel {
 public:
  explicit Gather(const KernelRequest& r)
      : plan_(r.inputs[0], r.inputs[1], r.outputs[0], r.attrs[0].i64()), bytes_(dtype_size(r.inputs[0].dtype)) {}
  void run(const KernelArgs& args) const override {
    if (!plan_.check(args.inputs[1], args.status)) return;
    visit_size(bytes_, [&]<class T>(Type<T>) {
      const T* x = static_cast<const T*>(args.inputs[0]);
      T* y = static_cast<T*>(args.outputs[0]);
      parallel_for(numel(plan_.shape), 16384, [&](int64_t begin, int64_t end) {
        each<3>(
            plan_.shape, {plan_.x, plan_.index, plan_.other},
            [&](int64_t from, int64_t i, int64_t to) { y[to] = x[from + plan_.at(args.inputs[1], i) * plan_.stride]; },
            begin, end);
      });
    });
  }

 private:
  AlongDim plan_;
  int64_t bytes_;
};

enum class How { Set, Add, Multiply, Max, Min, Mean };

class Scatter final : public Kernel {
 public:
  Scatter(const KernelRequest& r, How how, bool include_self)
      : plan_(r.outputs[0], r.inputs[1], r.inputs[2], r.attrs[0].i64()),
        how_(how),
        self_(include_self),
        x_(r.inputs[0]),
        y_(r.outputs[0]),
        source_size_(dtype_size(r.inputs[2].dtype)),
        copy_(find_convert(x_.dtype, y_.dtype)),
        load_(find_convert(r.inputs[2].dtype, y_.dtype)) {}
  size_t scratch_bytes() const override {
    return how_ == How::Mean ? static_cast<size_t>(y_.numel()) * sizeof(int32_t) : 0;
  }
  void run(const KernelArgs& args) const override {
    if (args.inputs[0] != args.outputs[0]) {
      const int64_t from = dtype_size(x_.dtype), to = dtype_size(y_.dtype);
      const char* x = static_cast<const char*>(args.inputs[0]);
      char* y = static_cast<char*>(args.outputs[0]);
      if (x_.contiguous() && y_.contiguous())
        copy_(x, 1, y, 1, y_.numel());
      else
        each<2>(y_.shape, {strides_of(x_), strides_of(y_)},
                [&](int64_t a, int64_t b) { copy_(x + a * from, 1, y + b * to, 1, 1); });
    }
    if (!plan_.check(args.inputs[1], args.status)) return;
    visit_dtype(y_.dtype, [&]<class T>(Type<T>) { write<T>(args); });
  }

 private:
  template <class F>
  void positions(const KernelArgs& args, F&& f) const {
    each<3>(plan_.shape, {plan_.x, plan_.index, plan_.other},
            [&](int64_t to, int64_t i, int64_t from) { f(to + plan_.at(args.inputs[1], i) * plan_.stride, from); });
  }

  template <class T>
  void write(const KernelArgs& args) const {
    T* y = static_cast<T*>(args.outputs[0]);
    const char* source = static_cast<const char*>(args.inputs[2]);
    if (!self_) positions(args, [&](int64_t to, int64_t) { y[to] = start<T>(); });
    auto with = [&](auto combine) {
      positions(args, [&](int64_t to, int64_t from) {
        T value{};
        load_(source + from * source_size_, 1, &value, 1, 1);
        y[to] = combine(y[to], value);
      });
    };
    switch (how_) {
      case How::Set: return with([](T, T b) { return b; });
      case How::Multiply: return with([](T a, T b) { return multiplied(a, b); });
      case How::Add: return with([](T a, T b) { return added(a, b); });
      case How::Mean: with([](T a, T b) { return added(a, b); }); return divide(args, y);
      case How::Max:
        if constexpr (std::is_convertible_v<T, double>) with([](T a, T b) { return a != a || a > b ? a : b; });
        return;
      case How::Min:
        if constexpr (std::is_convertible_v<T, double>) with([](T a, T b) { return a != a || a < b ? a : b; });
        return;
    }
  }

  /// The element that changes nothing.
  template <class T>
  T start() const {
    if constexpr (std::is_convertible_v<T, double>) {
      using L =
          std::numeric_limits<std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>>;
      if (how_ == How::Max) return T(L::has_infinity ? -L::infinity() : L::lowest());
      if (how_ == How::Min) return T(L::has_infinity ? L::infinity() : L::max());
      return T(how_ == How::Multiply ? 1 : 0);
    }
    return how_ == How::Multiply ? T(1) : T(0);
  }

  template <class T>
  void divide(const KernelArgs& args, T* y) const {
    int32_t* count = static_cast<int32_t*>(args.scratch);  // by position in y, row-major
    const int64_t n = y_.numel();
    for (int64_t i = 0; i < n; ++i) count[i] = self_ ? 1 : 0;
    // The same walk over a dense layout of y.
    TensorSpec dense = y_;
    dense.strides = contiguous_strides(y_.shape);
    AlongDim plan = plan_;
    if (!y_.shape.empty() && !plan_.shape.empty()) {
      plan.x = dense.strides;
      plan.stride = plan.x[static_cast<size_t>(plan.axis)];
      plan.x[static_cast<size_t>(plan.axis)] = 0;
    }
    each<2>(plan.shape, {plan.x, plan.index},
            [&](int64_t to, int64_t i) { ++count[to + plan.at(args.inputs[1], i) * plan.stride]; });
    each<2>(y_.shape, {strides_of(y_), dense.strides}, [&](int64_t to, int64_t i) {
      if (count[i] < 2) return;
      if constexpr (std::is_integral_v<T>) {
        // Rounded down, as torch does.
        int64_t v = static_cast<int64_t>(y[to]), q = v / count[i];
        y[to] = static_cast<T>(v % count[i] < 0 ? q - 1 : q);
      } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
        y[to] = y[to] / T(static_cast<float>(count[i]));
      } else {
        y[to] = T(static_cast<Accumulate<T>>(y[to]) / static_cast<Accumulate<T>>(count[i]));
      }
    });
  }

  AlongDim plan_;
  How how_;
  bool self_;
  TensorSpec x_, y_;
  int64_t source_size_;
  ConvertFn copy_, load_;
};

std::unique_ptr<Kernel> prepare_gather(const KernelRequest& r, std::string&) { return std::make_unique<Gather>(r); }
std::unique_ptr<Kernel> prepare_scatter(const KernelRequest& r, std::string&) {
  const AttrValue& reduce = r.attrs[1];
  How how = reduce.none() ? How::Set : reduce.text() == "add" ? How::Add : How::Multiply;
  return std::make_unique<Scatter>(r, how, true);
}
std::unique_ptr<Kernel> prepare_scatter_add(const KernelRequest& r, std::string&) {
  return std::make_unique<Scatter>(r, How::Add, true);
}
std::unique_ptr<Kernel> prepare_scatter_reduce(const KernelRequest& r, std::string&) {
  const std::string& reduce = r.attrs[1].text();
  How how = reduce == "sum"    ? How::Add
            : reduce == "prod" ? How::Multiply
            : reduce == "amax" ? How::Max
            : reduce == "amin" ? How::Min
                               : How::Mean;
  return std::make_unique<Scatter>(r, how, r.attrs[2].truth());
}

const RegisterKernel gather({"gather", "reference", DeviceType::CPU, kReferencePriority, &prepare_gather});
const RegisterKernel scatter({"scatter", "reference", DeviceType::CPU, kReferencePriority, &prepare_scatter});
const RegisterKernel scatter_add({"scatter_add", "reference", DeviceType::CPU, kReferencePriority,
                                  &prepare_scatter_add});
const RegisterKernel scatter_reduce({"scatter_reduce", "reference", DeviceType::CPU, kReferencePriority,
                                     &prepare_scatter_reduce});

}  // namespace
}  // namespace hw
