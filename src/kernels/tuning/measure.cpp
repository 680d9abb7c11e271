// Timing kernels against each other, in turns, so that what else the machine does meets all of them.
#include "kernels/tuning/measure.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include "base/thread_team.h"
#include "core/allocator.h"
#include "core/scalar.h"
#include "core/tensor.h"

namespace hw {

namespace {

constexpr size_t kColdBytes = size_t{16} << 20;  // more than what a core has to itself
constexpr int kRounds = 7;
constexpr double kLongEnough = 0.5;  // seconds, after which no further round begins

struct Block {
  explicit Block(size_t bytes) : bytes(bytes), data(allocate(bytes)) {}
  Block(const Block&) = delete;
  ~Block() { deallocate(data, bytes); }
  size_t bytes;
  void* data;
};

size_t bytes_of(const TensorSpec& s) {
  if (!s.given()) return 0;
  int64_t last = 0;
  for (size_t i = 0; i < s.shape.size(); ++i) {
    if (s.shape[i] == 0) return 0;
    if (!s.strides.empty()) last += (s.shape[i] - 1) * std::max<int64_t>(s.strides[i], 0);
  }
  return static_cast<size_t>((s.strides.empty() ? s.numel() : last + 1) * dtype_size(s.dtype));
}

bool is_float(DType d) { return d == DType::F16 || d == DType::BF16 || d == DType::F32 || d == DType::F64; }

/// Numbers like those of a network in floats; zeros elsewhere, which are right for indices and masks.
void fill(void* data, const TensorSpec& s, size_t bytes) {
  std::memset(data, 0, bytes);
  if (!is_float(s.dtype)) return;
  const auto size = static_cast<size_t>(dtype_size(s.dtype));
  constexpr size_t kPattern = 61;
  const size_t count = bytes / size;
  auto* out = static_cast<char*>(data);
  for (size_t i = 0; i < std::min(count, kPattern); ++i)
    store_scalar(out + i * size, s.dtype, Scalar((static_cast<double>(i * 37 % kPattern) - 30) / 40));
  for (size_t i = kPattern; i < count; ++i) std::memcpy(out + i * size, out + (i - kPattern) * size, size);
}

/// A kernel with memory to run on.
class Run {
 public:
  explicit Run(const TimedKernel& timed) : kernel_(*timed.kernel), attrs_(timed.request->attrs) {
    for (const TensorSpec& s : timed.request->inputs) inputs_.push_back(block(s));
    for (const TensorSpec& s : timed.request->outputs) outputs_.push_back(block(s));
    scratch_ = std::make_unique<Block>(kernel_.scratch_bytes() + 64);
  }

  double once() {
    LaunchStatus status;
    const auto began = std::chrono::steady_clock::now();
    kernel_.run({inputs_.data(), outputs_.data(), scratch_->data, &attrs_, &status});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    return took.count();
  }

 private:
  void* block(const TensorSpec& s) {
    if (!s.given()) return nullptr;
    const size_t bytes = bytes_of(s);
    blocks_.push_back(std::make_unique<Block>(bytes + 64));
    fill(blocks_.back()->data, s, bytes);
    return blocks_.back()->data;
  }

  const Kernel& kernel_;
  const Attrs& attrs_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::unique_ptr<Block> scratch_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
};

/// Every thread reads something else.
void make_cold(const Block& other) {
  std::atomic<uint64_t> sum{0};
  parallel_for(num_threads(), 1, [&](int64_t begin, int64_t end) {
    const auto* words = static_cast<const uint64_t*>(other.data);
    uint64_t s = 0;
    for (size_t i = 0; i < other.bytes / 8; i += 8) s += words[i];
    sum += s + static_cast<uint64_t>(end - begin);
  });
}

}  // namespace

std::vector<double> measure(std::span<const TimedKernel> kernels) {
  std::vector<std::unique_ptr<Run>> runs;
  for (const TimedKernel& k : kernels) runs.push_back(std::make_unique<Run>(k));
  Block other(kColdBytes);
  std::memset(other.data, 1, other.bytes);
  std::vector<double> least(kernels.size(), 1e30);
  const auto began = std::chrono::steady_clock::now();
  for (auto& run : runs) run->once();
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < runs.size(); ++i) {
      make_cold(other);
      least[i] = std::min(least[i], runs[i]->once());
    }
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() > kLongEnough) break;
  }
  return least;
}

}  // namespace hw
