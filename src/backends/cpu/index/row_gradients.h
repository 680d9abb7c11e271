// The gradients of looked-up rows, and their sums by row of the table.
#pragma once

#include <algorithm>
#include <cstring>

#include "kernels/kernel.h"
#include "kernels/loops/convert.h"
#include "kernels/loops/each.h"

namespace hw {

/// Gradients [..., features] with rows of single stride, and the row number of each.
class RowGradients {
 public:
  RowGradients(const TensorSpec& dy, const TensorSpec& index, int64_t rows, bool by_frequency)
      : index_(index),
        dy_strides_(strides_of(dy)),
        count_(index.numel()),
        rows_(rows),
        size_(dtype_size(dy.dtype)),
        double_(dy.dtype == DType::F64),
        by_frequency_(by_frequency),
        widen_(find_convert_row(dy.dtype, DType::F32)),
        narrow_(find_convert_row(DType::F32, dy.dtype)) {
    dy_strides_.pop_back();
  }
  int64_t count() const { return count_; }

  /// The row of each gradient and where it lies, in elements; false, and a complaint, if a row is out of range.
  bool read(const KernelArgs& args, const void* index, int64_t* row, int64_t* from) const {
    int64_t i = 0, bad = -1, wrong = 0;
    each<2>(index_.shape, {strides_of(index_), dy_strides_}, [&](int64_t at, int64_t dy) {
      const int64_t r =
          index_.dtype == DType::I64 ? static_cast<const int64_t*>(index)[at] : static_cast<const int32_t*>(index)[at];
      if (r < 0 || r >= rows_) bad = i, wrong = r;
      row[i] = r;
      from[i++] = dy;
    });
    if (bad >= 0)
      args.status->report("index %ld is out of range for axis 0 with size %ld", static_cast<long>(wrong),
                          static_cast<long>(rows_));
    return bad < 0;
  }

  /// Columns [column, last) of gradient i and of those after it (next[i], until -1), summed in that order; by frequency their mean.
  void sum(const void* dy, const int64_t* from, const int64_t* next, int64_t i, int64_t column, int64_t last,
           char* to) const {
    if (next[i] < 0)
      std::memcpy(to, static_cast<const char*>(dy) + (from[i] + column) * size_,
                  static_cast<size_t>((last - column) * size_));
    else if (double_)
      sum_as<double>(static_cast<const char*>(dy), from, next, i, column, last, to);
    else
      sum_as<float>(static_cast<const char*>(dy), from, next, i, column, last, to);
  }

 private:
  static constexpr int64_t kChunk = 256;  // columns summed at a time

  template <class A>
  void sum_as(const char* dy, const int64_t* from, const int64_t* next, int64_t i, int64_t column, int64_t last,
              char* to) const {
    alignas(64) A total[kChunk], wide[kChunk];
    for (int64_t c = column; c < last; c += kChunk, to += kChunk * size_) {
      const int64_t n = std::min(kChunk, last - c);
      auto values = [&](int64_t g, A* buffer) -> const A* {
        const char* at = dy + (from[g] + c) * size_;
        if (size_ == sizeof(A)) return reinterpret_cast<const A*>(at);
        widen_(at, buffer, n);
        return buffer;
      };
      std::copy_n(values(i, wide), n, total);
      int64_t count = 1;
      for (int64_t g = next[i]; g >= 0; g = next[g], ++count) {
        const A* x = values(g, wide);
        for (int64_t k = 0; k < n; ++k) total[k] += x[k];
      }
      if (by_frequency_)
        for (int64_t k = 0; k < n; ++k) total[k] /= static_cast<A>(count);
      if (size_ == sizeof(A))
        std::memcpy(to, total, static_cast<size_t>(n) * sizeof(A));
      else
        narrow_(total, to, n);
    }
  }

  TensorSpec index_;
  Dims dy_strides_;
  int64_t count_, rows_, size_;
  bool double_, by_frequency_;
  ConvertRowFn widen_, narrow_;
};

}  // namespace hw
