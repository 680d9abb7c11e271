// _embedding_grad: rows of gradients added in order. Each thread owns a range of columns, so nothing is shared.
#include <algorithm>
#include <cstring>

#include "base/thread_team.h"
#include "core/visit.h"
#include "kernels/kernel.h"
#include "kernels/loops/each.h"

namespace hw {

namespace {

class EmbeddingGrad final : public Kernel {
 public:
  explicit EmbeddingGrad(const KernelRequest& r)
      : dy_(r.inputs[0]),
        index_(r.inputs[1]),
        dw_(r.outputs[0]),
        rows_(r.attrs[0].i64()),
        padding_(r.attrs[1].i64()),
        by_frequency_(r.attrs[2].truth()),
        features_(dw_.shape[1]),
        count_(index_.numel()) {
    dy_strides_ = strides_of(dy_);
    step_ = dy_strides_.back();
    dy_strides_.pop_back();
    reduced_ = is_reduced(dw_.dtype);
  }
  // Row numbers; how often each row occurs; and, for 16-bit types, float sums of the rows that occur and where each has its sum.
  size_t scratch_bytes() const override {
    const int64_t sums = std::min(count_, rows_) * features_;
    return static_cast<size_t>(2 * count_ + rows_) * 8 + (reduced_ ? static_cast<size_t>(rows_ * 8 + sums * 4) : 0);
  }
  void run(const KernelArgs& args) const override {
    int64_t* row = static_cast<int64_t*>(args.scratch);
    int64_t* from = row + count_;
    int64_t* occurs = from + count_;
    if (!list(args, row, from)) return;
    if (by_frequency_) {
      std::memset(occurs, 0, static_cast<size_t>(rows_) * 8);
      for (int64_t i = 0; i < count_; ++i) ++occurs[row[i]];
    }
    visit_floating(dw_.dtype, [&]<class T>(Type<T>) {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
        run_reduced<T>(args, row, from, occurs);
      else
        run_plain<T>(args, row, from, occurs);
    });
  }

 private:
  int64_t row_grain() const { return std::max<int64_t>(1, 65536 / std::max<int64_t>(1, features_)); }
  int64_t column_grain() const { return std::max<int64_t>(16, 16384 / std::max<int64_t>(1, count_)); }

  /// Sets rows [begin, end) of the result to zero.
  template <class T>
  void clear(T* dw, int64_t begin, int64_t end) const {
    const Dims to = strides_of(dw_);
    if (to[1] == 1 && to[0] == features_) return std::fill(dw + begin * features_, dw + end * features_, T());
    for (int64_t r = begin; r < end; ++r)
      for (int64_t k = 0; k < features_; ++k) dw[r * to[0] + k * to[1]] = T();
  }

  template <class T>
  void run_plain(const KernelArgs& args, const int64_t* row, const int64_t* from, const int64_t* occurs) const {
    T* dw = static_cast<T*>(args.outputs[0]);
    const Dims to = strides_of(dw_);
    parallel_for(rows_, row_grain(), [&](int64_t begin, int64_t end) { clear(dw, begin, end); });
    parallel_for(features_, column_grain(), [&](int64_t begin, int64_t end) {
      add_columns<T>(args, row, row, from, occurs, dw, to[0], to[1], begin, end);
    });
  }

  /// 16-bit rows are summed in float; only the rows that occur have sums, and only they are converted.
  template <class T>
  void run_reduced(const KernelArgs& args, const int64_t* row, const int64_t* from, int64_t* occurs) const {
    int64_t* place = occurs + rows_;  // row -> its sums, or -1
    float* sums = reinterpret_cast<float*>(place + rows_);
    std::fill(place, place + rows_, int64_t{-1});
    int64_t distinct = 0;
    for (int64_t i = 0; i < count_; ++i)
      if (place[row[i]] < 0) place[row[i]] = distinct++;
    parallel_for(distinct, row_grain(), [&](int64_t begin, int64_t end) {
      std::fill(sums + begin * features_, sums + end * features_, 0.0f);
    });
    parallel_for(features_, column_grain(), [&](int64_t begin, int64_t end) {
      add_columns<T>(args, row, place, from, occurs, sums, features_, 1, begin, end);
    });
    T* dw = static_cast<T*>(args.outputs[0]);
    const Dims to = strides_of(dw_);
    parallel_for(rows_, row_grain(), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        if (place[r] < 0) {
          clear(dw, r, r + 1);
          continue;
        }
        const float* sum = sums + place[r] * features_;
        for (int64_t k = 0; k < features_; ++k) dw[r * to[0] + k * to[1]] = T(sum[k]);
      }
    });
  }

  /// The row of each gradient and where it lies.
  bool list(const KernelArgs& args, int64_t* row, int64_t* from) const {
    int64_t i = 0, bad = -1;
    each<2>(index_.shape, {strides_of(index_), dy_strides_}, [&](int64_t at, int64_t dy) {
      const int64_t r = index_.dtype == DType::I64 ? static_cast<const int64_t*>(args.inputs[1])[at]
                                                   : static_cast<const int32_t*>(args.inputs[1])[at];
      row[i] = r;
      if (row[i] < 0 || row[i] >= rows_) bad = i;
      from[i++] = dy;
    });
    if (bad >= 0)
      args.status->report("index %ld is out of range for axis 0 with size %ld", static_cast<long>(row[bad]),
                          static_cast<long>(rows_));
    return bad < 0;
  }

  /// Adds columns [begin, end) of every gradient to the row of `table` where its own row lies (`place` by row, or `row` itself).
  template <class T, class A>
  void add_columns(const KernelArgs& args, const int64_t* row, const int64_t* place, const int64_t* from,
                   const int64_t* occurs, A* table, int64_t pitch, int64_t column, int64_t begin, int64_t end) const {
    for (int64_t i = 0; i < count_; ++i) {
      if (row[i] == padding_) continue;
      const T* __restrict dy = static_cast<const T*>(args.inputs[0]) + from[i];
      A* __restrict to = table + (place == row ? row[i] : place[row[i]]) * pitch;
      if (by_frequency_) {
        const A factor = A(1) / static_cast<A>(occurs[row[i]]);
        for (int64_t k = begin; k < end; ++k) to[k * column] += static_cast<A>(dy[k * step_]) * factor;
      } else if (step_ == 1 && column == 1) {
        for (int64_t k = begin; k < end; ++k) to[k] += static_cast<A>(dy[k]);
      } else {
        for (int64_t k = begin; k < end; ++k) to[k * column] += static_cast<A>(dy[k * step_]);
      }
    }
  }

  TensorSpec dy_, index_, dw_;
  Dims dy_strides_;
  int64_t rows_, padding_;
  bool by_frequency_, reduced_;
  int64_t features_, count_, step_;
};

std::unique_ptr<Kernel> prepare(const KernelRequest& r, std::string& why_not) {
  if (is_floating(r.outputs[0].dtype)) return std::make_unique<EmbeddingGrad>(r);
  why_not = "the table must be floating";
  return nullptr;
}
const RegisterKernel embedding_grad({"_embedding_grad", "reference", DeviceType::CPU, kReferencePriority, &prepare});

}  // namespace
}  // namespace hw
