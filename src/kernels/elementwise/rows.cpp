// The driver by rows of the innermost axis: long rows in pieces of the staging buffers, short rows several at a time.
#include "base/thread_team.h"
#include "kernels/elementwise/operand.h"

namespace hw {

Operand make_operand(const ElementwisePlan& plan, const Nest& nest, int o) {
  Operand p;
  const DType memory = plan.dtypes[static_cast<size_t>(o)], loop = o == 0 ? plan.entry->out : plan.entry->compute;
  p.size = dtype_size(memory);
  p.staged_size = dtype_size(loop);
  p.inner_stride = nest.stride(o, 0);
  p.same_dtype = memory == loop;
  p.linear = p.same_dtype;
  p.constant = p.periodic = true;
  int64_t contiguous = 1;
  for (int64_t a = 0; a < nest.axes(); ++a) {
    p.linear = p.linear && nest.stride(o, a) == contiguous;
    p.constant = p.constant && nest.stride(o, a) == 0;
    p.periodic = p.periodic && (a == 0 || nest.stride(o, a) == 0);
    contiguous *= nest.sizes[static_cast<size_t>(a)];
  }
  p.convert = o == 0 ? find_convert(loop, memory) : find_convert(memory, loop);
  p.gather = find_gather(p.size);
  p.row = o == 0 ? find_convert_row(loop, memory) : find_convert_row(memory, loop);
  p.shuffled = o == 0 ? find_convert_shuffled(loop, memory) : find_convert_shuffled(memory, loop);
  return p;
}

namespace {

constexpr int64_t kShortRow = 128;  // rows shorter than this are staged several at a time

class RowsKernel final : public Kernel {
 public:
  RowsKernel(const ElementwisePlan& plan, Nest nest)
      : plan_(plan), nest_(std::move(nest)), grain_(std::max<int64_t>(piece_size(plan) / 2, 1)) {
    for (int o = 0; o <= arity(); ++o) {
      operands_[o] = make_operand(plan, nest_, o);
      all_in_place_ = all_in_place_ && operands_[o].in_place();
      const bool repeated = o > 0 && operands_[o].inner_stride == 0;
      shuffled_ = shuffled_ && (repeated || (operands_[o].shuffled && operands_[o].inner_stride == 1));
    }
    short_rows_ = nest_.axes() > 1 && nest_.sizes[0] < kShortRow;
  }

  void run(const KernelArgs& args) const override {
    if (nest_.count <= grain_) return run_range(args, 0, nest_.count);
    parallel_for(nest_.count, grain_, [&](int64_t begin, int64_t end) { run_range(args, begin, end); });
  }

 private:
  void run_range(const KernelArgs& args, int64_t begin, int64_t end) const;
  int64_t chunk_at(const NestWalk& walk, int64_t left) const;
  const void* load(int o, const void* base, const NestWalk& walk, int64_t at, int64_t n, Stage& stage) const;
  void load_rows(int o, const void* base, const NestWalk& walk, int64_t n, std::byte* buffer) const;
  void store(void* base, const NestWalk& walk, int64_t n, const void* staged) const;
  int arity() const { return plan_.entry->arity; }

  ElementwisePlan plan_;
  Nest nest_;
  int64_t grain_;
  bool all_in_place_ = true, short_rows_ = false;
  bool shuffled_ = true;  // within a row, all operands can be converted in another order
  Operand operands_[kMaxInputs + 1];
};

/// One row or a part of it; or whole short rows, after what is left of one.
int64_t RowsKernel::chunk_at(const NestWalk& walk, int64_t left) const {
  const int64_t row = nest_.sizes[0];
  if (short_rows_) return std::min(left, walk.left_in_row() == row ? kChunk / row * row : walk.left_in_row());
  const int64_t n = std::min(left, walk.left_in_row());
  return all_in_place_ ? n : std::min(n, kChunk);
}

/// The n elements of input `o` at the walk's position, contiguous and in the dtype of the loop.
const void* RowsKernel::load(int o, const void* base, const NestWalk& walk, int64_t at, int64_t n, Stage& stage) const {
  const Operand& p = operands_[o];
  if (p.linear) return static_cast<const char*>(base) + at * p.size;
  const char* source = static_cast<const char*>(base) + walk.offset(o) * p.size;
  const bool one_row = n <= walk.left_in_row();
  if (one_row && p.in_place()) return source;
  std::byte* buffer = stage.buffer[o];
  // What repeats is staged once.
  const bool repeats = p.constant || (one_row && p.inner_stride == 0) || (!one_row && p.periodic);
  if (repeats && stage.source[o] == source && stage.count[o] >= n) return buffer;
  stage.source[o] = repeats ? source : nullptr;
  stage.count[o] = n;
  if (p.constant || (one_row && p.inner_stride == 0)) {
    if (p.same_dtype)
      p.gather(source, 0, buffer, n, 1, 0);
    else
      p.convert(source, 0, buffer, 1, n);
  } else if (!one_row)
    load_rows(o, base, walk, n, buffer);
  else if (shuffled_)
    p.shuffled(source, buffer, n);
  else if (p.row && p.inner_stride == 1)
    p.row(source, buffer, n);
  else
    p.convert(source, p.inner_stride, buffer, 1, n);
  return buffer;
}

/// Several rows. Where the next axis has them all, they are evenly spaced.
void RowsKernel::load_rows(int o, const void* base, const NestWalk& walk, int64_t n, std::byte* buffer) const {
  const Operand& p = operands_[o];
  const char* source = static_cast<const char*>(base);
  const int64_t length = nest_.sizes[0], row_stride = nest_.stride(o, 1);
  NestWalk rows = walk;
  for (int64_t done = 0; done < n;) {
    const int64_t even = std::min((n - done) / length, rows.left_in_axis(1));
    std::byte* target = buffer + done * p.staged_size;
    const char* first = source + rows.offset(o) * p.size;
    if (p.same_dtype && even > 0) {
      p.gather(first, p.inner_stride, target, length, even, row_stride);
      done += even * length;
      rows.advance_rows(even);
      continue;
    }
    const int64_t part = std::min(n - done, rows.left_in_row());
    p.convert(first, p.inner_stride, target, 1, part);
    rows.advance(part);
    done += part;
  }
}

void RowsKernel::store(void* base, const NestWalk& walk, int64_t n, const void* staged) const {
  const Operand& p = operands_[0];
  char* target = static_cast<char*>(base);
  const char* source = static_cast<const char*>(staged);
  if (shuffled_ && n <= walk.left_in_row()) return p.shuffled(source, target + walk.offset(0) * p.size, n);
  NestWalk rows = walk;
  for (int64_t done = 0; done < n;) {
    const int64_t part = std::min(n - done, rows.left_in_row());
    char* to = target + rows.offset(0) * p.size;
    if (p.row && p.inner_stride == 1)
      p.row(source + done * p.staged_size, to, part);
    else
      p.convert(source + done * p.staged_size, 1, to, p.inner_stride, part);
    done += part;
    if (done < n) rows.advance(part);
  }
}

void RowsKernel::run_range(const KernelArgs& args, int64_t begin, int64_t end) const {
  Stage stage;
  NestWalk walk(nest_, arity() + 1, begin);
  const Operand& out = operands_[0];
  char* target = static_cast<char*>(args.outputs[0]);
  for (int64_t at = begin; at < end;) {
    const int64_t n = chunk_at(walk, end - at);
    const void* in[kMaxInputs];
    for (int i = 0; i < arity(); ++i) in[i] = load(i + 1, args.inputs[i], walk, at, n, stage);
    if (plan_.checks_divisor) report_zero_divisor(plan_.entry->compute, in[1], n, args.status);
    if (out.linear || (out.in_place() && n <= walk.left_in_row())) {
      plan_.entry->loop(in, target + (out.linear ? at : walk.offset(0)) * out.size, n, plan_.params.data());
    } else {
      plan_.entry->loop(in, stage.buffer[0], n, plan_.params.data());
      store(target, walk, n, stage.buffer[0]);
    }
    at += n;
    if (at >= end) break;
    if (n <= walk.left_in_row())
      walk.advance(n);
    else
      walk = NestWalk(nest_, arity() + 1, at);
  }
}

}  // namespace

std::unique_ptr<Kernel> make_rows_kernel(const ElementwisePlan& plan, Nest nest) {
  return std::make_unique<RowsKernel>(plan, std::move(nest));
}

}  // namespace hw
