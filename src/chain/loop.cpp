// Running a loop: threads share the pieces out among themselves; each takes its pieces through all kernels, one piece after the other.
#include "chain/loop.h"

#include <algorithm>

#include "base/error.h"
#include "base/thread_team.h"

namespace hw {

namespace {

constexpr int64_t kLeastBytes = 1 << 16;  // that are worth another thread
constexpr size_t kMostOperands = 32;      // of one kernel in a loop

class LoopKernel final : public Kernel {
 public:
  LoopKernel(const PlanLoop& loop, LoopCode code);
  size_t scratch_bytes() const override { return static_cast<size_t>(pieces_) * thread_bytes_; }
  void run(const KernelArgs& args) const override {
    if (total_ == 0) return;
    if (pieces_ == 1) return run_range(args, 0, total_, static_cast<char*>(args.scratch));
    const int64_t each = (total_ + pieces_ - 1) / pieces_;
    parallel_for(pieces_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p)
        run_range(args, p * each, std::min(total_, (p + 1) * each),
                  static_cast<char*>(args.scratch) + static_cast<size_t>(p) * thread_bytes_);
    });
  }

 private:
  struct Call {
    std::unique_ptr<Kernel> kernel;
    size_t num_inputs, num_outputs;
    int32_t operands[kMostOperands];  // inputs, then outputs
    const Attrs* attrs;
  };

  size_t tile_bytes() const { return (loop_.tiles.size() * sizeof(void*) + 63) / 64 * 64; }
  void prepare(const PlanStep& step, bool last, std::vector<Call>& calls);
  void take(LoopUnit& unit);
  void run_range(const KernelArgs& args, int64_t begin, int64_t end, char* scratch) const;
  void run_piece(const std::vector<Call>& calls, void* const* tiles, const KernelArgs& args, char* scratch) const;

  const PlanLoop& loop_;
  LoopCode code_;
  std::vector<Call> calls_, last_calls_;
  int64_t total_ = 1, pieces_ = 1;
  size_t thread_bytes_ = 0, kernel_scratch_ = 0;
};

LoopKernel::LoopKernel(const PlanLoop& loop, LoopCode code) : loop_(loop), code_(std::move(code)) {
  for (int64_t c : loop.counts) total_ *= c;
  for (LoopUnit& u : code_.units) {
    if (u.step < 0) {
      take(u);
      continue;
    }
    const PlanStep& s = loop.body[static_cast<size_t>(u.step)];
    prepare(s, false, calls_);
    if (loop.has_last) prepare(s, true, last_calls_);
  }
  int64_t piece_bytes = 0;
  for (const PlanTile& t : loop.tiles) piece_bytes += t.spec.numel() * dtype_size(t.spec.dtype);
  const int64_t grain = std::max<int64_t>(1, kLeastBytes / std::max<int64_t>(piece_bytes, 1));
  pieces_ = std::max<int64_t>(1, parallel_pieces(total_, grain));
  thread_bytes_ = (tile_bytes() + static_cast<size_t>(code_.scratch_bytes) + kernel_scratch_ + 127) / 64 * 64;
}

void LoopKernel::prepare(const PlanStep& step, bool last, std::vector<Call>& calls) {
  Call c;
  if (step.inputs.size() + step.outputs.size() > kMostOperands) bug(step.op, " has too many operands for a loop");
  std::vector<TensorSpec> in, out;
  c.num_inputs = step.inputs.size();
  c.num_outputs = step.outputs.size();
  size_t at = 0;
  auto spec = [&](int32_t tile) {
    const PlanTile& t = loop_.tiles[static_cast<size_t>(tile)];
    return last ? t.last_spec : t.spec;
  };
  for (int32_t t : step.inputs) {
    in.push_back(t < 0 ? TensorSpec{} : spec(t));
    c.operands[at++] = t;
  }
  for (int32_t t : step.outputs) {
    out.push_back(spec(t));
    c.operands[at++] = t;
  }
  c.attrs = &step.attrs;
  c.kernel = prepare_kernel({step.op, in, out, step.attrs, step.compute}, DeviceType::CPU);
  kernel_scratch_ = std::max(kernel_scratch_, c.kernel->scratch_bytes());
  calls.push_back(std::move(c));
}

/// Generated code is a call like any other.
void LoopKernel::take(LoopUnit& unit) {
  auto call = [&](std::unique_ptr<Kernel> kernel) {
    Call c;
    c.num_inputs = unit.inputs.size();
    c.num_outputs = unit.outputs.size();
    if (c.num_inputs + c.num_outputs > kMostOperands) bug("generated code has too many operands for a loop");
    std::copy(unit.inputs.begin(), unit.inputs.end(), c.operands);
    std::copy(unit.outputs.begin(), unit.outputs.end(), c.operands + c.num_inputs);
    c.attrs = nullptr;
    c.kernel = std::move(kernel);
    return c;
  };
  calls_.push_back(call(std::move(unit.kernel)));
  if (loop_.has_last) last_calls_.push_back(call(std::move(unit.last_kernel)));
}

void LoopKernel::run_piece(const std::vector<Call>& calls, void* const* tiles, const KernelArgs& args,
                           char* scratch) const {
  for (const Call& c : calls) {
    const void* in[kMostOperands];
    void* out[kMostOperands];
    for (size_t i = 0; i < c.num_inputs; ++i) in[i] = c.operands[i] < 0 ? nullptr : tiles[c.operands[i]];
    for (size_t i = 0; i < c.num_outputs; ++i) out[i] = tiles[c.operands[c.num_inputs + i]];
    c.kernel->run({in, out, scratch, c.attrs, args.status});
  }
}

void LoopKernel::run_range(const KernelArgs& args, int64_t begin, int64_t end, char* scratch) const {
  void** tiles = reinterpret_cast<void**>(scratch);  // where each tile is now
  scratch += tile_bytes();
  char* kernel_scratch = scratch + (code_.scratch_bytes + 63) / 64 * 64;
  const size_t loops = loop_.counts.size();
  int64_t index[8];
  int64_t rest = begin;
  for (size_t j = loops; j-- > 0;) {
    index[j] = rest % loop_.counts[j];
    rest /= loop_.counts[j];
  }
  for (size_t t = 0; t < loop_.tiles.size(); ++t) {
    const PlanTile& tile = loop_.tiles[t];
    if (tile.operand < 0) {
      tiles[t] = scratch + code_.offsets[t];
      continue;
    }
    const auto operand = static_cast<size_t>(tile.operand);
    auto* base = operand < loop_.num_inputs ? static_cast<char*>(const_cast<void*>(args.inputs[operand]))
                                            : static_cast<char*>(args.outputs[operand - loop_.num_inputs]);
    for (size_t j = 0; j < loops; ++j) base += index[j] * tile.steps[j];
    tiles[t] = base;
  }
  for (int64_t i = begin; i < end; ++i) {
    const bool last = loop_.has_last && index[loops - 1] == loop_.counts[loops - 1] - 1;
    run_piece(last ? last_calls_ : calls_, tiles, args, kernel_scratch);
    for (size_t j = loops; j-- > 0;) {
      const bool wraps = ++index[j] == loop_.counts[j];
      for (size_t t = 0; t < loop_.tiles.size(); ++t)
        if (const PlanTile& tile = loop_.tiles[t]; tile.operand >= 0)
          tiles[t] = static_cast<char*>(tiles[t]) + tile.steps[j] * (wraps ? 1 - loop_.counts[j] : 1);
      if (!wraps) break;
      index[j] = 0;
    }
  }
}

}  // namespace

std::unique_ptr<Kernel> prepare_loop(const PlanLoop& loop, LoopCode code) {
  return std::make_unique<LoopKernel>(loop, std::move(code));
}

}  // namespace hw
