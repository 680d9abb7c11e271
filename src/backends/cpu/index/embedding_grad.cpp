// _embedding_grad row by row: gradients are chained by the row of the table they belong to, and each row is written once: zero, a
// copy of one gradient, or a sum in the order of the indices.
#include <algorithm>
#include <cstring>

#include "base/thread_team.h"
#include "kernels/kernel.h"
#include "kernels/loops/convert.h"
#include "kernels/loops/each.h"

namespace hw {

namespace {

constexpr int64_t kChunk = 256;        // columns summed at a time
constexpr int64_t kLeastColumns = 64;  // of a row per thread

class EmbeddingGrad final : public Kernel {
 public:
  explicit EmbeddingGrad(const KernelRequest& r)
      : index_(r.inputs[1]),
        dy_strides_(strides_of(r.inputs[0])),
        dtype_(r.outputs[0].dtype),
        size_(dtype_size(dtype_)),
        rows_(r.attrs[0].i64()),
        padding_(r.attrs[1].i64()),
        by_frequency_(r.attrs[2].truth()),
        features_(r.outputs[0].shape[1]),
        count_(index_.numel()),
        widen_(find_convert_row(dtype_, DType::F32)),
        narrow_(find_convert_row(DType::F32, dtype_)) {
    dy_strides_.pop_back();
  }
  size_t scratch_bytes() const override { return static_cast<size_t>(2 * count_ + rows_) * 8; }

  void run(const KernelArgs& args) const override {
    Chains chains;
    chains.from = static_cast<int64_t*>(args.scratch);
    chains.next = chains.from + count_;
    chains.first = chains.next + count_;
    if (!make_chains(args, chains)) return;
    // Columns first: however often a row occurs, every thread has the same share of it.
    const int64_t work = (rows_ + count_) * features_;
    const int64_t wanted = std::clamp<int64_t>(work / 32768, 1, num_threads());
    const int64_t across = std::clamp<int64_t>(features_ / kLeastColumns, 1, wanted);
    const int64_t down = (wanted + across - 1) / across;
    const int64_t columns = ((features_ + across - 1) / across + 15) / 16 * 16, rows = (rows_ + down - 1) / down;
    parallel_for(across * down, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const int64_t c = std::min(p % across * columns, features_), r = std::min(p / across * rows, rows_);
        const Tile tile{r, std::min(r + rows, rows_), c, std::min(c + columns, features_)};
        if (dtype_ == DType::F64)
          write<double>(args, chains, tile);
        else
          write<float>(args, chains, tile);
      }
    });
  }

 private:
  /// first[row] is the first gradient of a row, next[i] the one after gradient i, or -1; from[i] where it lies.
  struct Chains {
    int64_t *from, *next, *first;
  };
  struct Tile {
    int64_t row, last_row, column, last_column;
  };

  bool make_chains(const KernelArgs& args, const Chains& chains) const {
    int64_t i = 0, bad = -1, wrong = 0;
    each<2>(index_.shape, {strides_of(index_), dy_strides_}, [&](int64_t at, int64_t dy) {
      const int64_t r = index_.dtype == DType::I64 ? static_cast<const int64_t*>(args.inputs[1])[at]
                                                   : static_cast<const int32_t*>(args.inputs[1])[at];
      if (r < 0 || r >= rows_) bad = i, wrong = r;
      chains.next[i] = r;
      chains.from[i++] = dy;
    });
    if (bad >= 0) {
      args.status->report("index %ld is out of range for axis 0 with size %ld", static_cast<long>(wrong),
                          static_cast<long>(rows_));
      return false;
    }
    std::fill_n(chains.first, rows_, int64_t{-1});
    while (i-- > 0) {
      const int64_t r = chains.next[i];
      chains.next[i] = chains.first[r];
      if (r != padding_) chains.first[r] = i;
    }
    return true;
  }

  template <class A>
  void write(const KernelArgs& args, const Chains& chains, const Tile& tile) const {
    const char* dy = static_cast<const char*>(args.inputs[0]);
    const size_t bytes = static_cast<size_t>((tile.last_column - tile.column) * size_);
    for (int64_t r = tile.row; r < tile.last_row; ++r) {
      char* to = static_cast<char*>(args.outputs[0]) + (r * features_ + tile.column) * size_;
      const int64_t i = chains.first[r];
      if (i < 0)
        std::memset(to, 0, bytes);
      else if (chains.next[i] < 0)
        std::memcpy(to, dy + (chains.from[i] + tile.column) * size_, bytes);
      else
        sum<A>(dy, chains, i, tile, to);
    }
  }

  /// The gradients from i on; by frequency their mean.
  template <class A>
  void sum(const char* dy, const Chains& chains, int64_t i, const Tile& tile, char* to) const {
    alignas(64) A total[kChunk], wide[kChunk];
    for (int64_t c = tile.column; c < tile.last_column; c += kChunk, to += kChunk * size_) {
      const int64_t n = std::min(kChunk, tile.last_column - c);
      auto values = [&](int64_t g, A* buffer) -> const A* {
        const char* from = dy + (chains.from[g] + c) * size_;
        if (size_ == sizeof(A)) return reinterpret_cast<const A*>(from);
        widen_(from, buffer, n);
        return buffer;
      };
      std::copy_n(values(i, wide), n, total);
      int64_t count = 1;
      for (int64_t g = chains.next[i]; g >= 0; g = chains.next[g], ++count) {
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
  DType dtype_;
  int64_t size_, rows_, padding_;
  bool by_frequency_;
  int64_t features_, count_;
  ConvertRowFn widen_, narrow_;
};

std::unique_ptr<Kernel> prepare(const KernelRequest& r, std::string& why_not) {
  const TensorSpec &dy = r.inputs[0], &dw = r.outputs[0];
  if (!is_floating(dw.dtype) || dy.dtype != dw.dtype)
    why_not = "needs gradients of the table's floating dtype";
  else if (!dw.contiguous() || strides_of(dy).back() != 1)
    why_not = "needs contiguous rows";
  else
    return std::make_unique<EmbeddingGrad>(r);
  return nullptr;
}

const RegisterKernel registered({"_embedding_grad", "cpu", DeviceType::CPU, 10, &prepare});

}  // namespace
}  // namespace hw
