// Cuts a batch of matrix products into blocks for the thread team; see gemm_block.cpp for what happens inside a block.
#include "backends/cpu/gemm/gemm.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/thread_team.h"

namespace hw {

// Below this many multiply-adds per thread the fork costs more than it saves.
constexpr int64_t kWorkPerThread = 1 << 20;  // some 30 us: waking a thread on a busy machine can cost milliseconds

static int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

/// The pair of factors of `threads` that makes each thread read the least of A and B.
static std::pair<int64_t, int64_t> choose_grid(const Product& s, int64_t threads, int mr, int nr) {
  std::pair<int64_t, int64_t> best{1, 1};
  double best_cost = 1e300;
  for (int64_t gm = 1; gm <= threads; ++gm) {
    int64_t gn = threads / gm;
    int64_t bm = std::min(s.m, round_up((s.m + gm - 1) / gm, mr)),
            bn = std::min(s.n, round_up((s.n + gn - 1) / gn, nr));
    // The slowest thread's products, and what it has to pack (about 8 multiply-adds for each element).
    double cost = static_cast<double>(bm) * static_cast<double>(bn) * s.k + 8.0 * static_cast<double>(bm + bn) * s.k;
    if (cost < best_cost) best_cost = cost, best = {gm, gn};
  }
  return best;
}

bool Gemm::prepare(const Product& given, std::string& why_not, int threads) {
  shape_ = given;
  swapped_ = false;
  // Column vectors become row vectors: the block code looks only at small m.
  bool column_major = shape_.c_row == 1 && shape_.n != 1 && shape_.c_col != 1;
  bool column_vector = shape_.n == 1 && shape_.m > 1 && shape_.c_row == 1;
  if (shape_.n == 1) shape_.c_col = 1;
  if (column_major || column_vector) {
    shape_ = shape_.transposed();
    swapped_ = true;
  }
  if (shape_.n == 1) shape_.c_col = 1;
  if (shape_.c_col != 1) {
    why_not = "the output has no unit stride";
    return false;
  }
  routines_ = gemm_routines(shape_.dtype);
  if (!routines_.block) {
    why_not = "serves f16, bf16, f32 and f64";
    return false;
  }
  int64_t work = shape_.batch * shape_.m * shape_.n * std::max<int64_t>(1, shape_.k);
  int64_t team = threads > 0 ? threads : std::clamp<int64_t>(work / kWorkPerThread, 1, num_threads());
  grid_m_ = grid_n_ = 1;
  if (team > 1 && shape_.batch % team != 0 && shape_.batch < 4 * team)
    std::tie(grid_m_, grid_n_) = choose_grid(shape_, team, routines_.mr, routines_.nr);
  auto cut = [](int64_t size, int64_t& grid, int multiple) {
    int64_t block = std::max<int64_t>(1, round_up((size + grid - 1) / grid, multiple));
    grid = std::max<int64_t>(1, (size + block - 1) / block);
    return std::min(block, size);
  };
  block_m_ = cut(shape_.m, grid_m_, shape_.m > routines_.mr ? routines_.mr : 1);
  block_n_ = cut(shape_.n, grid_n_, shape_.n > routines_.nr ? routines_.nr : 1);
  slots_ = static_cast<size_t>(std::min<int64_t>(team, std::max<int64_t>(1, shape_.batch * grid_m_ * grid_n_)));
  slot_bytes_ = (routines_.scratch(block_m_, block_n_, shape_.k) + 63) / 64 * 64;
  return true;
}

void Gemm::run_unit(int64_t unit, const char* a, const char* b, const char* input, char* c, char* scratch) const {
  int64_t size = dtype_size(shape_.dtype);
  int64_t batch = unit / (grid_m_ * grid_n_), rest = unit % (grid_m_ * grid_n_);
  int64_t i = rest / grid_n_ * block_m_, j = rest % grid_n_ * block_n_;
  GemmBlock block;
  block.m = std::min(block_m_, shape_.m - i), block.n = std::min(block_n_, shape_.n - j), block.k = shape_.k;
  block.a = a + size * (batch * shape_.a_batch + i * shape_.a_row);
  block.b = b + size * (batch * shape_.b_batch + j * shape_.b_col);
  block.c = c + size * (batch * shape_.c_batch + i * shape_.c_row + j);
  block.a_row = shape_.a_row, block.a_col = shape_.a_col, block.b_row = shape_.b_row, block.b_col = shape_.b_col;
  block.c_row = shape_.c_row;
  block.input = nullptr;
  if (shape_.has_input)
    block.input = input + size * (batch * shape_.input_batch + i * shape_.input_row + j * shape_.input_col);
  block.input_row = shape_.input_row, block.input_col = shape_.input_col;
  block.alpha = shape_.alpha, block.beta = shape_.beta;
  block.scratch = scratch;
  if (block.m > 0 && block.n > 0) routines_.block(block);
}

void Gemm::run(const void* a, const void* b, const void* input, void* c, void* scratch) const {
  if (swapped_) std::swap(a, b);
  int64_t units = shape_.batch * grid_m_ * grid_n_, slots = static_cast<int64_t>(slots_);
  auto* base = static_cast<char*>(scratch);
  parallel_for(slots, 1, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot)
      for (int64_t unit = units * slot / slots; unit < units * (slot + 1) / slots; ++unit)
        run_unit(unit, static_cast<const char*>(a), static_cast<const char*>(b), static_cast<const char*>(input),
                 static_cast<char*>(c), base + static_cast<size_t>(slot) * slot_bytes_);
  });
}

}  // namespace hw
