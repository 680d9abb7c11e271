// _embedding_grad row by row: gradients are chained by the row of the table they belong to, and each row is written once: zero, a
// copy of one gradient, or a sum in the order of the indices.
#include <algorithm>
#include <cstring>

#include "backends/cpu/index/row_gradients.h"
#include "base/thread_team.h"

namespace hw {

namespace {

constexpr int64_t kLeastColumns = 64;  // of a row per thread

class EmbeddingGrad final : public Kernel {
 public:
  explicit EmbeddingGrad(const KernelRequest& r)
      : gradients_(r.inputs[0], r.inputs[1], r.attrs[0].i64(), r.attrs[2].truth()),
        size_(dtype_size(r.outputs[0].dtype)),
        rows_(r.attrs[0].i64()),
        padding_(r.attrs[1].i64()),
        features_(r.outputs[0].shape[1]),
        count_(gradients_.count()) {}
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
        write(args, chains, tile);
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
    if (!gradients_.read(args, args.inputs[1], chains.next, chains.from)) return false;
    std::fill_n(chains.first, rows_, int64_t{-1});
    for (int64_t i = count_; i-- > 0;) {
      const int64_t r = chains.next[i];
      chains.next[i] = chains.first[r];
      if (r != padding_) chains.first[r] = i;
    }
    return true;
  }

  void write(const KernelArgs& args, const Chains& chains, const Tile& tile) const {
    const size_t bytes = static_cast<size_t>((tile.last_column - tile.column) * size_);
    for (int64_t r = tile.row; r < tile.last_row; ++r) {
      char* to = static_cast<char*>(args.outputs[0]) + (r * features_ + tile.column) * size_;
      if (const int64_t i = chains.first[r]; i < 0)
        std::memset(to, 0, bytes);
      else
        gradients_.sum(args.inputs[0], chains.from, chains.next, i, tile.column, tile.last_column, to);
    }
  }

  RowGradients gradients_;
  int64_t size_, rows_, padding_, features_, count_;
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
