// gather, scatter and scatter_add by rows; scatter's threads share the axes along which no two sources can meet.
#include <atomic>
#include <cstring>

#include "base/thread_team.h"
#include "kernels/index/accumulate.h"
#include "kernels/kernel.h"
#include "kernels/loops/convert.h"
#include "kernels/loops/each.h"
#include "kernels/loops/nest.h"

namespace hw {

namespace {

/// Strides over the shape of the index; `dim` taken out of the nest, whose operands are index, table, other.
struct Plan {
  Nest nest;
  int64_t axis, size, length;                  // of the table along dim; of the index along dim
  int64_t table_step, index_step, other_step;  // along dim

  bool make(const TensorSpec& table, const TensorSpec& index, const TensorSpec& other, int64_t dim,
            std::string& why_not) {
    const bool scalar = other.shape.empty();
    if (table.shape.empty() || index.shape.size() != table.shape.size() || index.dtype != DType::I64 ||
        (!scalar && other.shape.size() != index.shape.size())) {
      why_not = "needs int64 indices and no 0-d operands";
      return false;
    }
    axis = normalize_axis(dim, table.ndim());
    const size_t a = static_cast<size_t>(axis);
    const Dims zero(index.shape.size(), 0);
    Dims operands[] = {strides_of(index), strides_of(table), scalar ? zero : strides_of(other)};
    size = table.shape[a];
    length = index.shape[a];
    index_step = operands[0][a], table_step = operands[1][a], other_step = operands[2][a];
    Dims shape = index.shape;
    shape[a] = 1;
    nest = make_nest(shape, operands);
    return true;
  }

  /// f(index, table, other, count, index step, table step, other step) for runs of one of the two inner loops: along dim
  /// (table step 0: the index moves within the row) or along the innermost other axis.
  template <class F>
  void runs(int64_t begin, int64_t end, F&& f) const {
    const int64_t is = nest.stride(0, 0), ts = nest.stride(1, 0), os = nest.stride(2, 0);
    NestWalk walk(nest, 3, begin);
    for (int64_t at = begin; at < end;) {
      const int64_t n = std::min(end - at, walk.left_in_row());
      const int64_t i = walk.offset(0), t = walk.offset(1), o = walk.offset(2);
      if (index_step == 1 || n < 4)
        for (int64_t k = 0; k < n; ++k)
          f(i + k * is, t + k * ts, o + k * os, length, index_step, int64_t{0}, other_step);
      else
        for (int64_t j = 0; j < length; ++j) f(i + j * index_step, t, o + j * other_step, n, is, ts, os);
      walk.advance(n);
      at += n;
    }
  }

  int64_t grain() const { return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, length)); }

  void report(int64_t bad, LaunchStatus* status) const {
    status->report("index %ld is out of range for axis %ld with size %ld", static_cast<long>(bad),
                   static_cast<long>(axis), static_cast<long>(size));
  }
};

class Gather final : public Kernel {
 public:
  Gather(Plan plan, DType dtype) : plan_(std::move(plan)), bytes_(dtype_size(dtype)) {}
  void run(const KernelArgs& args) const override {
    const int64_t* index = static_cast<const int64_t*>(args.inputs[1]);
    std::atomic<bool> failed{false};
    std::atomic<int64_t> bad{0};
    visit_size(bytes_, [&]<class T>(Type<T>) {
      const T* x = static_cast<const T*>(args.inputs[0]);
      T* y = static_cast<T*>(args.outputs[0]);
      const uint64_t size = static_cast<uint64_t>(plan_.size);
      const int64_t step = plan_.table_step;
      parallel_for(plan_.nest.count, plan_.grain(), [&](int64_t begin, int64_t end) {
        plan_.runs(begin, end, [&](int64_t i, int64_t t, int64_t o, int64_t n, int64_t is, int64_t ts, int64_t os) {
          if (is == 1 && os == 1 && ts == 0) {  // along the last axis
            const T* from = x + t;
            T* to = y + o;
            const int64_t* at = index + i;
            bool good = true;
            for (int64_t k = 0; k < n; ++k) good &= static_cast<uint64_t>(at[k]) < size;
            if (good) {
              for (int64_t k = 0; k < n; ++k) to[k] = from[at[k] * step];
              return;
            }
          }
          for (int64_t k = 0; k < n; ++k) {
            const int64_t v = index[i + k * is];
            if (static_cast<uint64_t>(v) >= size) [[unlikely]] {
              bad = v;
              failed = true;
              return;
            }
            y[o + k * os] = x[t + k * ts + v * step];
          }
        });
      });
    });
    if (failed) plan_.report(bad, args.status);
  }

 private:
  Plan plan_;
  int64_t bytes_;
};

class Scatter final : public Kernel {
 public:
  Scatter(const KernelRequest& r, Plan plan, bool adds)
      : plan_(std::move(plan)),
        adds_(adds),
        dtype_(r.outputs[0].dtype),
        count_(r.outputs[0].numel()),
        scalar_(r.inputs[2].shape.empty()),
        convert_(find_convert(r.inputs[2].dtype, dtype_)) {}
  void run(const KernelArgs& args) const override {
    const int64_t* index = static_cast<const int64_t*>(args.inputs[1]);
    if (!check(index, args.status)) return;
    if (args.inputs[0] != args.outputs[0])
      parallel_for(count_ * dtype_size(dtype_), 1 << 18, [&](int64_t begin, int64_t end) {
        std::memcpy(static_cast<char*>(args.outputs[0]) + begin, static_cast<const char*>(args.inputs[0]) + begin,
                    static_cast<size_t>(end - begin));
      });
    visit_dtype(dtype_, [&]<class T>(Type<T>) {
      T value{};
      if (scalar_) convert_(args.inputs[2], 1, &value, 1, 1);
      const T* source = scalar_ ? &value : static_cast<const T*>(args.inputs[2]);
      T* y = static_cast<T*>(args.outputs[0]);
      const int64_t step = plan_.table_step;
      parallel_for(plan_.nest.count, plan_.grain(), [&](int64_t begin, int64_t end) {
        plan_.runs(begin, end, [&](int64_t i, int64_t t, int64_t o, int64_t n, int64_t is, int64_t ts, int64_t os) {
          if (adds_) {
            for (int64_t k = 0; k < n; ++k) {
              T& to = y[t + k * ts + index[i + k * is] * step];
              to = added(to, source[o + k * os]);
            }
          } else {
            for (int64_t k = 0; k < n; ++k) y[t + k * ts + index[i + k * is] * step] = source[o + k * os];
          }
        });
      });
    });
  }

 private:
  /// Before anything is written.
  bool check(const int64_t* index, LaunchStatus* status) const {
    std::atomic<bool> failed{false};
    std::atomic<int64_t> bad{0};
    const uint64_t size = static_cast<uint64_t>(plan_.size);
    parallel_for(plan_.nest.count, 4 * plan_.grain(), [&](int64_t begin, int64_t end) {
      plan_.runs(begin, end, [&](int64_t i, int64_t, int64_t, int64_t n, int64_t is, int64_t, int64_t) {
        bool wrong = false;
        int64_t found = 0;
        for (int64_t k = 0; k < n; ++k)
          if (static_cast<uint64_t>(index[i + k * is]) >= size) wrong = true, found = index[i + k * is];
        if (wrong) bad = found, failed = true;
      });
    });
    if (failed) plan_.report(bad, status);
    return !failed;
  }

  Plan plan_;
  bool adds_;
  DType dtype_;
  int64_t count_;
  bool scalar_;
  ConvertFn convert_;
};

std::unique_ptr<Kernel> prepare_gather(const KernelRequest& r, std::string& why_not) {
  Plan plan;
  if (!plan.make(r.inputs[0], r.inputs[1], r.outputs[0], r.attrs[0].i64(), why_not)) return nullptr;
  return std::make_unique<Gather>(std::move(plan), r.inputs[0].dtype);
}

std::unique_ptr<Kernel> prepare_scatter(const KernelRequest& r, std::string& why_not) {
  const bool adds = r.op == "scatter_add" || !r.attrs[1].none();
  Plan plan;
  if (r.op == "scatter" && adds && r.attrs[1].text() != "add")
    why_not = "multiplies nothing";
  else if (r.inputs[0].dtype != r.outputs[0].dtype || !r.inputs[0].contiguous() || !r.outputs[0].contiguous())
    why_not = "input and output must be contiguous and alike";
  else if (!r.inputs[2].shape.empty() && r.inputs[2].dtype != r.outputs[0].dtype)
    why_not = "src has another dtype";
  else if (plan.make(r.outputs[0], r.inputs[1], r.inputs[2], r.attrs[0].i64(), why_not))
    return std::make_unique<Scatter>(r, std::move(plan), adds);
  return nullptr;
}

const RegisterKernel gather({"gather", "cpu", DeviceType::CPU, 10, &prepare_gather});
const RegisterKernel scatter({"scatter", "cpu", DeviceType::CPU, 10, &prepare_scatter});
const RegisterKernel scatter_add({"scatter_add", "cpu", DeviceType::CPU, 10, &prepare_scatter});

}  // namespace
}  // namespace hw
