// The loop driver: contiguous operands go straight to the loop, all others through staging buffers of 512 elements.
#include "kernels/elementwise/driver.h"

#include <algorithm>
#include <cstddef>

#include "base/thread_team.h"
#include "kernels/loops/convert.h"
#include "kernels/loops/nest.h"

namespace hw {

namespace {

constexpr int64_t kPiece = 32768;  // elements per thread below which a cheap loop stays on the caller
constexpr int64_t kChunk = 512;    // elements per staging buffer
constexpr int64_t kShortRow = 64;  // rows shorter than this are staged several at a time
constexpr int kMaxInputs = 4;

class EmptyKernel final : public Kernel {
 public:
  void run(const KernelArgs&) const override {}
};

/// All operands contiguous and of the loop's dtypes.
class DirectKernel final : public Kernel {
 public:
  DirectKernel(const ElementwisePlan& plan, int64_t n)
      : loop_(plan.entry->loop),
        n_(n),
        grain_(std::max<int64_t>(kPiece / plan.entry->cost, 1)),
        plan_(plan),
        params_(plan.params) {}

  void run(const KernelArgs& args) const override {
    if (plan_.checks_divisor) report_zero_divisor(plan_.entry->compute, args.inputs[1], n_, args.status);
    if (n_ <= grain_) return loop_(args.inputs, args.outputs[0], n_, params_.data());
    run_pieces(args);
  }

 private:
  void run_pieces(const KernelArgs& args) const {
    const int64_t in_size = dtype_size(plan_.entry->compute), out_size = dtype_size(plan_.entry->out);
    parallel_for(n_, grain_, [&](int64_t begin, int64_t end) {
      const void* in[kMaxInputs];
      for (int i = 0; i < plan_.entry->arity; ++i) in[i] = static_cast<const char*>(args.inputs[i]) + begin * in_size;
      loop_(in, static_cast<char*>(args.outputs[0]) + begin * out_size, end - begin, params_.data());
    });
  }

  ElementwiseLoop loop_;
  int64_t n_, grain_;
  ElementwisePlan plan_;
  LoopParams params_;
};

/// How one operand (0: the output) is reached.
struct Operand {
  int64_t size = 0;          // bytes per element in memory
  int64_t staged_size = 0;   // and in the loop
  int64_t inner_stride = 0;  // elements
  bool same_dtype = false;   // memory and loop agree
  bool linear = false;       // contiguous over the whole nest: usable in place for any range
  bool constant = false;     // the same element everywhere
  ConvertFn convert = nullptr;
  ConvertRowFn row = nullptr;  // faster, for contiguous rows
  bool in_place() const { return same_dtype && inner_stride == 1; }
};

class RowsKernel final : public Kernel {
 public:
  RowsKernel(const ElementwisePlan& plan, Nest nest);
  void run(const KernelArgs& args) const override {
    if (nest_.count <= grain_) return run_range(args, 0, nest_.count);
    parallel_for(nest_.count, grain_, [&](int64_t begin, int64_t end) { run_range(args, begin, end); });
  }

 private:
  /// Staging buffers, and for each the constant or row start that already fills a part of it.
  struct Stage {
    alignas(64) std::byte buffer[kMaxInputs + 1][kChunk * 16];
    const void* splat[kMaxInputs + 1] = {};
    int64_t splat_count[kMaxInputs + 1] = {};
  };

  void run_range(const KernelArgs& args, int64_t begin, int64_t end) const;
  int64_t chunk_at(const NestWalk& walk, int64_t left) const;
  const void* load(int o, const void* base, const NestWalk& walk, int64_t at, int64_t n, Stage& stage) const;
  void store(void* base, const NestWalk& walk, int64_t n, const void* staged) const;
  int arity() const { return plan_.entry->arity; }

  ElementwisePlan plan_;
  Nest nest_;
  int64_t grain_;
  bool all_in_place_ = true;
  Operand operands_[kMaxInputs + 1];
};

RowsKernel::RowsKernel(const ElementwisePlan& plan, Nest nest)
    : plan_(plan), nest_(std::move(nest)), grain_(std::max<int64_t>(kPiece / 2 / plan.entry->cost, 1)) {
  for (int o = 0; o <= arity(); ++o) {
    Operand& p = operands_[o];
    const DType memory = plan.dtypes[static_cast<size_t>(o)], loop = o == 0 ? plan.entry->out : plan.entry->compute;
    p.size = dtype_size(memory);
    p.staged_size = dtype_size(loop);
    p.inner_stride = nest_.stride(o, 0);
    p.same_dtype = memory == loop;
    p.linear = p.same_dtype;
    p.constant = true;
    int64_t contiguous = 1;
    for (int64_t a = 0; a < nest_.axes(); ++a) {
      p.linear = p.linear && nest_.stride(o, a) == contiguous;
      p.constant = p.constant && nest_.stride(o, a) == 0;
      contiguous *= nest_.sizes[static_cast<size_t>(a)];
    }
    p.convert = o == 0 ? find_convert(loop, memory) : find_convert(memory, loop);
    p.row = o == 0 ? find_convert_row(loop, memory) : find_convert_row(memory, loop);
    all_in_place_ = all_in_place_ && p.in_place();
  }
}

/// One row or a part of it; several short rows at once.
int64_t RowsKernel::chunk_at(const NestWalk& walk, int64_t left) const {
  if (nest_.axes() > 1 && nest_.sizes[0] < kShortRow) return std::min(left, kChunk);
  const int64_t n = std::min(left, walk.left_in_row());
  return all_in_place_ ? n : std::min(n, kChunk);
}

/// The n elements of input `o` at the walk's position, contiguous and in the dtype of the loop.
const void* RowsKernel::load(int o, const void* base, const NestWalk& walk, int64_t at, int64_t n, Stage& stage) const {
  const Operand& p = operands_[o];
  const char* source = static_cast<const char*>(base);
  if (p.linear) return source + at * p.size;
  const bool one_row = n <= walk.left_in_row();
  source += walk.offset(o) * p.size;
  if (one_row && p.in_place()) return source;
  std::byte* buffer = stage.buffer[o];
  if (p.constant || (one_row && p.inner_stride == 0)) {
    if (stage.splat[o] == source && stage.splat_count[o] >= n) return buffer;
    p.convert(source, 0, buffer, 1, n);
    stage.splat[o] = source;
    stage.splat_count[o] = n;
    return buffer;
  }
  stage.splat[o] = nullptr;
  if (one_row) {
    if (p.row && p.inner_stride == 1)
      p.row(source, buffer, n);
    else
      p.convert(source, p.inner_stride, buffer, 1, n);
    return buffer;
  }
  NestWalk rows = walk;
  for (int64_t done = 0; done < n;) {
    const int64_t length = std::min(n - done, rows.left_in_row());
    p.convert(static_cast<const char*>(base) + rows.offset(o) * p.size, p.inner_stride, buffer + done * p.staged_size,
              1, length);
    rows.advance(length);
    done += length;
  }
  return buffer;
}

void RowsKernel::store(void* base, const NestWalk& walk, int64_t n, const void* staged) const {
  const Operand& p = operands_[0];
  char* target = static_cast<char*>(base);
  if (n <= walk.left_in_row()) {
    target += walk.offset(0) * p.size;
    if (p.row && p.inner_stride == 1) return p.row(staged, target, n);
    return p.convert(staged, 1, target, p.inner_stride, n);
  }
  NestWalk rows = walk;
  const char* source = static_cast<const char*>(staged);
  for (int64_t done = 0; done < n;) {
    const int64_t length = std::min(n - done, rows.left_in_row());
    p.convert(source + done * p.staged_size, 1, target + rows.offset(0) * p.size, p.inner_stride, length);
    rows.advance(length);
    done += length;
  }
}

void RowsKernel::run_range(const KernelArgs& args, int64_t begin, int64_t end) const {
  Stage stage;
  NestWalk walk(nest_, arity() + 1, begin);
  const Operand& out = operands_[0];
  for (int64_t at = begin; at < end;) {
    const int64_t n = chunk_at(walk, end - at);
    const void* in[kMaxInputs];
    for (int i = 0; i < arity(); ++i) in[i] = load(i + 1, args.inputs[i], walk, at, n, stage);
    if (plan_.checks_divisor) report_zero_divisor(plan_.entry->compute, in[1], n, args.status);
    char* target = static_cast<char*>(args.outputs[0]);
    if (out.linear || (out.in_place() && n <= walk.left_in_row())) {
      plan_.entry->loop(in, target + (out.linear ? at : walk.offset(0)) * out.size, n, plan_.params.data());
    } else {
      plan_.entry->loop(in, stage.buffer[0], n, plan_.params.data());
      store(target, walk, n, stage.buffer[0]);
    }
    at += n;
    for (int64_t rest = n; rest > 0;) {
      const int64_t step = std::min(rest, walk.left_in_row());
      walk.advance(step);
      rest -= step;
    }
  }
}

}  // namespace

std::unique_ptr<Kernel> prepare_elementwise(const KernelRequest& request, std::string& why_not) {
  ElementwisePlan plan;
  if (!make_elementwise_plan(request, &find_elementwise, plan, why_not)) return nullptr;
  Nest nest = make_nest(plan.shape, plan.strides);
  if (nest.count == 0) return std::make_unique<EmptyKernel>();
  bool direct = nest.axes() == 1 && plan.dtypes[0] == plan.entry->out;
  for (int o = 0; o <= plan.entry->arity; ++o) direct = direct && nest.stride(o, 0) == 1;
  for (int i = 1; i <= plan.entry->arity; ++i)
    direct = direct && plan.dtypes[static_cast<size_t>(i)] == plan.entry->compute;
  if (direct) return std::make_unique<DirectKernel>(plan, nest.count);
  return std::make_unique<RowsKernel>(plan, std::move(nest));
}

}  // namespace hw
