// Reductions over any axes of any layout. Rows: the reduced axis is innermost. Columns: a kept axis is, and whole rows of results
// are accumulated side by side. Operands that are not contiguous there, or of another dtype, pass through staging buffers.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "backends/cpu/reduce/loops.h"
#include "base/thread_team.h"
#include "kernels/loops/convert.h"

namespace hw {

namespace {

constexpr int64_t kPiece = 32768;     // elements per thread below which the work stays on the caller
constexpr int64_t kBlock = 16384;     // elements of a row between two steps of the cascade
constexpr int64_t kChunk = 512;       // elements of a row in a staging buffer
constexpr int64_t kMostSize = 24;     // bytes of an accumulator
constexpr int64_t kTileBytes = 4096;  // of accumulators side by side
constexpr int64_t kNarrow = 64;       // results side by side below which several rows are taken as one
constexpr int64_t kShortRow = 16;     // rows shorter than this are reduced as columns

/// Partial results summed like the carries of a binary counter, so that rounding grows with the logarithm of their number.
class Cascade {
 public:
  Cascade(const ReduceLoops& loops, int64_t size, int64_t n, std::byte* levels)
      : loops_(loops), bytes_(size * n), n_(n), levels_(levels) {}
  static constexpr int kLevels = 6;
  /// Where the next partial result is to be accumulated.
  void* open() {
    loops_.clear(levels_, n_);
    return levels_;
  }
  void close() {
    int64_t rest = count_++;
    int level = 0;
    for (; (rest & (kFan - 1)) == kFan - 1 && level + 2 < kLevels; rest /= kFan) {
      fold(level);
      ++level;
    }
    fold(level);
  }
  /// acc = combine(acc, all partial results).
  void finish(void* acc) {
    for (int level = 1; level < kLevels; ++level)
      if (used_ >> level & 1) loops_.merge(levels_ + level * bytes_, n_, acc);
  }

 private:
  static constexpr int64_t kFan = 8;
  /// Level `level` is merged into the one above and begins anew.
  void fold(int level) {
    std::byte *from = levels_ + level * bytes_, *to = from + bytes_;
    if (used_ >> (level + 1) & 1)
      loops_.merge(from, n_, to);
    else
      std::memcpy(to, from, static_cast<size_t>(bytes_));
    used_ |= 1u << (level + 1);
    used_ &= ~(1u << level);
  }

  const ReduceLoops& loops_;
  int64_t bytes_, n_, count_ = 0;
  std::byte* levels_;
  uint32_t used_ = 0;
};

class ReduceKernel final : public Kernel {
 public:
  ReduceKernel(const ReduceRecipe& recipe, const ReduceLoops& loops, const KernelRequest& request);
  size_t scratch_bytes() const override {
    return static_cast<size_t>(parts_ > 1 ? parts_ * plan_.kept.count * size_ : 0);
  }
  void run(const KernelArgs& args) const override;

 private:
  void rows(const KernelArgs& args, int64_t begin, int64_t end) const;
  void row_range(const char* base, int64_t begin, int64_t end, void* acc) const;
  void tiles(const KernelArgs& args, int64_t begin, int64_t end) const;
  void tile_range(const char* base, int64_t width, int64_t begin, int64_t end, std::byte* acc) const;
  void narrow_range(const char* base, int64_t begin, int64_t end, std::byte* acc) const;
  void parts(const KernelArgs& args) const;
  void part(const char* in, std::byte* acc, int64_t begin, int64_t end) const;
  void store(void* acc, int64_t n, const KernelArgs& args, int64_t offset) const;
  const void* staged(const char* from, int64_t stride, int64_t n, std::byte* buffer) const {
    if (direct_ && stride == 1) return from;
    if (load_row_ && stride == 1)
      load_row_(from, buffer, n);
    else
      load_(from, stride, buffer, 1, n);
    return buffer;
  }

  ReduceRecipe recipe_;
  ReduceLoops loops_;
  ReducePlan plan_;
  int64_t in_size_, out_size_, value_size_, size_;  // bytes: input, output, element to compute with, accumulator
  bool direct_, by_columns_;
  int outputs_;
  int64_t tile_ = 1, tiles_per_row_ = 1, parts_ = 1, group_ = 1;
  ConvertFn load_, store_;
  ConvertRowFn load_row_;
};

ReduceKernel::ReduceKernel(const ReduceRecipe& recipe, const ReduceLoops& loops, const KernelRequest& request)
    : recipe_(recipe), loops_(loops), plan_(make_reduce_plan(request.inputs[0], request.outputs[0], recipe.axes)) {
  const DType in = request.inputs[0].dtype, out = request.outputs[0].dtype;
  in_size_ = dtype_size(in), out_size_ = dtype_size(out), value_size_ = dtype_size(recipe.compute);
  size_ = value_size_ * loops.numbers;
  direct_ = in == recipe.compute;
  outputs_ = static_cast<int>(request.outputs.size());
  load_ = find_convert(in, recipe.compute);
  load_row_ = find_convert_row(in, recipe.compute);
  store_ = find_convert(recipe.compute, out);
  const Nest &kept = plan_.kept, &reduced = plan_.reduced;
  const int64_t length = reduced.sizes[0], width = kept.sizes[0];
  by_columns_ = width > 1 && (reduced.stride(0, 0) > kept.stride(0, 0) || (length < kShortRow && width >= kShortRow));
  const int64_t threads = num_threads(), work = kept.count * reduced.count;
  const int64_t wanted = std::clamp<int64_t>(work / kPiece, 1, threads);
  if (by_columns_) {
    tile_ = std::min(width, kTileBytes / size_ / 16 * 16);
    // Narrower tiles where there are too few for the team, as long as they stay wide.
    const int64_t outer = kept.count / std::max<int64_t>(width, 1);
    if (wanted > 1 && outer * ((width + tile_ - 1) / tile_) % wanted != 0 && outer < 4 * wanted)
      tile_ = std::min(tile_, std::max<int64_t>((width + wanted - 1) / wanted, 128));
    tiles_per_row_ = (width + tile_ - 1) / tile_;
    if (outer * tiles_per_row_ < wanted) parts_ = std::min(wanted, reduced.count);
  } else if (kept.count < wanted) {
    parts_ = std::min(wanted, reduced.count);
  }
  if (by_columns_ && width < kNarrow && tile_ == width && kept.stride(0, 0) == 1 && reduced.axes() == 1 &&
      reduced.stride(0, 0) == width)
    group_ = kTileBytes / 4 / size_ / width;
  if (parts_ * kept.count * size_ > (int64_t{1} << 26)) parts_ = 1;
}

void ReduceKernel::run(const KernelArgs& args) const {
  const int64_t count = plan_.kept.count;
  if (count == 0) return;
  if (parts_ > 1) return parts(args);
  const int64_t per = std::max<int64_t>(plan_.reduced.count, 1);
  if (by_columns_)
    parallel_for(count / plan_.kept.sizes[0] * tiles_per_row_, std::max<int64_t>(kPiece / (per * tile_), 1),
                 [&](int64_t begin, int64_t end) { tiles(args, begin, end); });
  else
    parallel_for(count, std::max<int64_t>(kPiece / per, 1),
                 [&](int64_t begin, int64_t end) { rows(args, begin, end); });
}

/// The results of n accumulators, from element `offset` of the outputs on.
void ReduceKernel::store(void* acc, int64_t n, const KernelArgs& args, int64_t offset) const {
  const int64_t stride = plan_.kept.stride(1, 0);
  auto to = [&](int output, int64_t k) {
    return static_cast<char*>(args.outputs[output]) + (offset + k * stride) * out_size_;
  };
  if (!loops_.finish) {
    finish_reduction(recipe_.finish, recipe_.compute, acc, n, plan_.reduced.count);
    return store_(acc, 1, to(0, 0), stride, n);
  }
  constexpr int64_t kMost = 64;
  alignas(64) std::byte results[2][kMost * 8];
  for (int64_t k = 0; k < n; k += kMost) {
    const int64_t m = std::min(n - k, kMost);
    loops_.finish(recipe_, plan_.reduced.count, static_cast<std::byte*>(acc) + k * size_, m, results[0], results[1]);
    for (int output = 0; output < outputs_; ++output) store_(results[output], 1, to(output, k), stride, m);
  }
}

/// Results [begin, end) of the kept nest, each from its rows.
void ReduceKernel::rows(const KernelArgs& args, int64_t begin, int64_t end) const {
  constexpr int64_t kGroup = 64;
  alignas(64) std::byte results[kGroup * kMostSize];
  const char* in = static_cast<const char*>(args.inputs[0]);
  NestWalk walk(plan_.kept, 2, begin);
  for (int64_t k = begin; k < end;) {
    const int64_t n = std::min({end - k, walk.left_in_row(), kGroup});
    loops_.clear(results, n);
    const int64_t step = plan_.kept.stride(0, 0) * in_size_;
    const char* from = in + walk.offset(0) * in_size_;
    for (int64_t j = 0; j < n; ++j) row_range(from + j * step, 0, plan_.reduced.count, results + j * size_);
    store(results, n, args, walk.offset(1));
    walk.advance(n);
    k += n;
  }
}

/// Elements [begin, end) of the reduced nest into one accumulator.
void ReduceKernel::row_range(const char* base, int64_t begin, int64_t end, void* acc) const {
  if (begin >= end) return;
  const int64_t stride = plan_.reduced.stride(0, 0);
  const bool in_place = stride == 1 && (direct_ || loops_.row16);
  const auto row = in_place && !direct_ ? loops_.row16 : loops_.row;
  if (plan_.reduced.axes() == 1 && in_place && end - begin <= kBlock)
    return row(base + begin * in_size_, end - begin, acc);
  alignas(64) std::byte buffer[kChunk * 16], levels[Cascade::kLevels * kMostSize];
  Cascade cascade(loops_, size_, 1, levels);
  NestWalk walk(plan_.reduced, 1, begin);
  for (int64_t at = begin; at < end;) {
    void* partial = cascade.open();
    for (int64_t block = 0; block < kBlock && at < end;) {
      const int64_t n = std::min({end - at, walk.left_in_row(), in_place ? kBlock : kChunk});
      const char* from = base + walk.offset(0) * in_size_;
      row(in_place ? from : staged(from, stride, n, buffer), n, partial);
      walk.advance(n);
      block += n;
      at += n;
    }
    cascade.close();
  }
  cascade.finish(acc);
}

/// Tiles [begin, end): each a stretch of one row of results.
void ReduceKernel::tiles(const KernelArgs& args, int64_t begin, int64_t end) const {
  alignas(64) std::byte acc[kTileBytes];
  const char* in = static_cast<const char*>(args.inputs[0]);
  const int64_t width = plan_.kept.sizes[0];
  for (int64_t t = begin; t < end; ++t) {
    const int64_t column = t % tiles_per_row_ * tile_;
    const NestWalk walk(plan_.kept, 2, t / tiles_per_row_ * width);
    const int64_t n = std::min(tile_, width - column);
    loops_.clear(acc, n);
    const char* base = in + (walk.offset(0) + column * plan_.kept.stride(0, 0)) * in_size_;
    tile_range(base, n, 0, plan_.reduced.count, acc);
    store(acc, n, args, walk.offset(1) + column * plan_.kept.stride(1, 0));
  }
}

/// Elements [begin, end) of the reduced nest into `width` accumulators side by side.
void ReduceKernel::tile_range(const char* base, int64_t width, int64_t begin, int64_t end, std::byte* acc) const {
  if (begin >= end) return;
  alignas(64) std::byte buffer[kMostRows * kTileBytes], levels[Cascade::kLevels * kTileBytes];
  const int64_t stride = plan_.kept.stride(0, 0);
  if (group_ > 1 && end - begin >= 8 * group_) return narrow_range(base, begin, end, acc);
  const bool few = end - begin <= 8 * kMostRows;
  Cascade cascade(loops_, size_, width, levels);
  NestWalk walk(plan_.reduced, 1, begin);
  for (int64_t at = begin; at < end;) {
    void* partial = few ? acc : cascade.open();
    for (int group = 0; group < 8 && at < end; ++group) {
      const void* rows[kMostRows];
      int k = 0;
      for (; k < kMostRows && at < end; ++k, ++at) {
        rows[k] = staged(base + walk.offset(0) * in_size_, stride, width, buffer + k * kTileBytes);
        walk.advance(1);
      }
      loops_.columns(rows, k, width, partial);
    }
    if (!few) cascade.close();
  }
  if (!few) cascade.finish(acc);
}

/// A narrow matrix read as one that is `group_` times as wide and shorter: full vectors, whose parts are merged at the end.
void ReduceKernel::narrow_range(const char* base, int64_t begin, int64_t end, std::byte* acc) const {
  const int64_t width = plan_.kept.sizes[0], wide = width * group_, count = (end - begin) / group_;
  alignas(64) std::byte buffer[kMostRows * kTileBytes], levels[Cascade::kLevels * kTileBytes], sums[kTileBytes];
  Cascade cascade(loops_, size_, wide, levels);
  const char* from = base + begin * width * in_size_;
  for (int64_t at = 0; at < count;) {
    void* partial = cascade.open();
    for (int block = 0; block < 8 && at < count; ++block) {
      const void* rows[kMostRows];
      int k = 0;
      for (; k < kMostRows && at < count; ++k, ++at)
        rows[k] = staged(from + at * wide * in_size_, 1, wide, buffer + k * kTileBytes);
      loops_.columns(rows, k, wide, partial);
    }
    cascade.close();
  }
  loops_.clear(sums, wide);
  cascade.finish(sums);
  for (int64_t g = 0; g < group_; ++g) loops_.merge(sums + g * width * size_, width, acc);
  for (int64_t at = begin + count * group_; at < end; ++at) {
    const void* row = staged(base + at * width * in_size_, 1, width, buffer);
    loops_.columns(&row, 1, width, acc);
  }
}

/// The reduced nest cut among the threads: each makes partial results for everything, which are then merged in order.
void ReduceKernel::parts(const KernelArgs& args) const {
  const char* in = static_cast<const char*>(args.inputs[0]);
  auto* scratch = static_cast<std::byte*>(args.scratch);
  const int64_t count = plan_.kept.count, reduced = plan_.reduced.count;
  const int64_t per = (reduced + parts_ - 1) / parts_;
  auto slot = [&](int64_t p) { return scratch + p * count * size_; };
  parallel_for(parts_, 1, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p) {
      loops_.clear(slot(p), count);
      part(in, slot(p), std::min(reduced, p * per), std::min(reduced, (p + 1) * per));
    }
  });
  for (int64_t p = 1; p < parts_; ++p) loops_.merge(slot(p), count, slot(0));
  NestWalk walk(plan_.kept, 2, 0);
  for (int64_t k = 0; k < count;) {
    const int64_t n = std::min(count - k, walk.left_in_row());
    store(slot(0) + k * size_, n, args, walk.offset(1));
    walk.advance(n);
    k += n;
  }
}

void ReduceKernel::part(const char* in, std::byte* acc, int64_t begin, int64_t end) const {
  NestWalk walk(plan_.kept, 2, 0);
  const int64_t most = by_columns_ ? tile_ : 1;
  for (int64_t k = 0; k < plan_.kept.count;) {
    const int64_t n = std::min(walk.left_in_row(), most);
    const char* base = in + walk.offset(0) * in_size_;
    if (by_columns_)
      tile_range(base, n, begin, end, acc + k * size_);
    else
      row_range(base, begin, end, acc + k * size_);
    walk.advance(n);
    k += n;
  }
}

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  ReduceRecipe recipe;
  if (!reduce_recipe(request, recipe, why_not)) return nullptr;
  const bool moments = recipe.kind == ReduceKind::Moments || recipe.kind == ReduceKind::LogSumExp;
  ReduceLoops loops = moments ? find_moment_loops(recipe.kind, recipe.compute)
                              : find_reduce_loops(recipe.kind, recipe.compute, request.inputs[0].dtype);
  if (!loops.row) {
    why_not = "no loop for this dtype";
    return nullptr;
  }
  const TensorSpec &first = request.outputs[0], &last = request.outputs.back();
  if (first.dtype != last.dtype || first.strides != last.strides) {
    why_not = "the outputs differ in layout";
    return nullptr;
  }
  return std::make_unique<ReduceKernel>(recipe, loops, request);
}

constexpr std::string_view kOps[] = {"sum", "mean", "prod",         "amax",      "amin",
                                     "any", "all",  "_vector_norm", "_var_mean", "logsumexp"};
struct RegisterAll {
  RegisterAll() {
    for (std::string_view op : kOps) RegisterKernel({op, "simd", DeviceType::CPU, 10, &prepare});
  }
};
const RegisterAll registered;

}  // namespace

}  // namespace hw
