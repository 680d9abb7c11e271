// The driver of line kernels; see the header.
#include "kernels/lines/lines.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/thread_team.h"
#include "kernels/loops/convert.h"
#include "kernels/loops/nest.h"

namespace hw {

namespace {

constexpr int64_t kPiece = 32768;        // units of work below which lines stay on the caller
constexpr int64_t kDirectGroup = 64;     // lines between two looks at the layout when nothing is gathered
constexpr int64_t kGroup = 16;           // lines that are gathered side by side when their neighbours are contiguous
constexpr int64_t kMostBytes = 1 << 20;  // of staging per thread before groups shrink to one line

// Lines side by side: how many at once.
constexpr int64_t kUnit = 16;  // a multiple of it
constexpr int64_t kLeastWidth = 32, kMostWidth = 1024;
constexpr int64_t kBlockBytes = 1 << 18;  // of operands and scratch together, to stay in the second-level cache

struct Operand {
  bool given = true, direct = false, single = false, shared = false, summed = false, same = false;
  int64_t memory = 0, staged = 0;  // bytes per element
  Dims line_sizes, line_strides;   // outermost first
  ConvertFn convert = nullptr;
  ConvertRowFn row = nullptr;
  int64_t slot = 0;  // staging: offset in bytes within a thread's scratch
};

bool has(const Dims& axes, size_t axis) {
  return std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
}

/// Merges neighbouring axes of a line where the strides allow it.
void merge_axes(Dims& sizes, Dims& strides) {
  Dims s, t;
  for (size_t a = 0; a < sizes.size(); ++a) {
    if (sizes[a] == 1) continue;
    if (!s.empty() && t.back() == strides[a] * sizes[a]) {
      s.back() *= sizes[a];
      t.back() = strides[a];
    } else {
      s.push_back(sizes[a]);
      t.push_back(strides[a]);
    }
  }
  if (s.empty()) s.push_back(1), t.push_back(1);
  sizes = s, strides = t;
}

class LineKernel final : public Kernel {
 public:
  LineKernel(const KernelRequest& request, LineSpec spec);
  size_t scratch_bytes() const override { return static_cast<size_t>(parts_ * bytes_); }
  void run(const KernelArgs& args) const override;
  int64_t bytes() const { return bytes_; }

 private:
  Operand operand(const TensorSpec& spec, const TensorSpec& x, const LineOperand& how, bool output, Dims& kept) const;
  bool side_by_side() const;
  void lay_out();
  void lay_out_blocks();
  void run_range(const KernelArgs& args, int64_t begin, int64_t end, char* scratch) const;
  void run_block(const KernelArgs& args, char* const* data, int64_t lines, char* scratch) const;
  void store_sums(const KernelArgs& args, char* scratch) const;
  void gather(const Operand& o, const char* from, int64_t step, int64_t lines, char* to) const;
  void scatter(const Operand& o, const char* from, char* to, int64_t step, int64_t lines) const;

  LineSpec spec_;
  std::vector<Operand> operands_;  // inputs, then outputs
  Nest kept_;
  bool blocks_ = false;
  int64_t n_ = 1, group_ = 1, bytes_ = 0, scratch_at_ = 0, parts_ = 1, per_part_ = 0, pitch_ = 0;
};

Operand LineKernel::operand(const TensorSpec& spec, const TensorSpec& x, const LineOperand& how, bool output,
                            Dims& kept) const {
  Operand o;
  o.given = spec.given() && !how.skip;
  o.single = how.role == LineRole::PerLine;
  o.shared = how.role == LineRole::Shared;
  o.summed = output && o.shared;
  size_t axis = 0;
  const bool all_axes = spec.shape.size() == x.shape.size();
  for (size_t a = 0; a < x.shape.size(); ++a) {
    if (has(spec_.axes, a)) {
      if (o.single && all_axes) ++axis;
      continue;
    }
    if (o.shared || !o.given)
      kept.push_back(0);
    else
      kept.push_back(spec.strides[o.single ? axis++ : a]);
  }
  if (!o.given) return o;
  if (!o.single)
    for (size_t i = 0; i < spec_.axes.size(); ++i) {
      o.line_sizes.push_back(x.shape[static_cast<size_t>(spec_.axes[i])]);
      o.line_strides.push_back(spec.strides[o.shared ? i : static_cast<size_t>(spec_.axes[i])]);
    }
  merge_axes(o.line_sizes, o.line_strides);
  o.memory = dtype_size(spec.dtype);
  o.staged = dtype_size(how.compute);
  o.same = spec.dtype == how.compute;
  o.direct = o.same && o.line_sizes.size() == 1 && (o.line_strides[0] == 1 || o.single);
  o.convert = output ? find_convert(how.compute, spec.dtype) : find_convert(spec.dtype, how.compute);
  o.row = output ? find_convert_row(how.compute, spec.dtype) : find_convert_row(spec.dtype, how.compute);
  return o;
}

LineKernel::LineKernel(const KernelRequest& request, LineSpec spec) : spec_(std::move(spec)) {
  const TensorSpec& x = request.inputs[0];
  Dims kept_shape;
  for (size_t a = 0; a < x.shape.size(); ++a) {
    if (has(spec_.axes, a))
      n_ *= x.shape[a];
    else
      kept_shape.push_back(x.shape[a]);
  }
  std::vector<Dims> kept;
  auto add = [&](const TensorSpec& s, const LineOperand& how, bool output) {
    operands_.push_back(operand(s, x, how, output, kept.emplace_back()));
  };
  for (size_t i = 0; i < request.inputs.size(); ++i) add(request.inputs[i], spec_.in[i], false);
  for (size_t i = 0; i < request.outputs.size(); ++i) add(request.outputs[i], spec_.out[i], true);
  kept_ = make_nest(kept_shape, kept);
  blocks_ = side_by_side();
  if (blocks_)
    lay_out_blocks();
  else
    lay_out();
  const int64_t work = kept_.count * std::max<int64_t>(n_, 1) * spec_.cost;
  const int64_t unit = blocks_ ? kUnit : 1, units = (kept_.count + unit - 1) / unit;
  if (spec_.threads) parts_ = std::clamp<int64_t>(std::min(work / kPiece, units), 1, num_threads());
  per_part_ = (units + parts_ - 1) / parts_ * unit;
}

void LineKernel::lay_out() {
  auto layout = [&] {
    bytes_ = 0;
    for (Operand& o : operands_) {
      if (!o.given || (o.direct && !o.summed)) continue;
      o.slot = bytes_;
      bytes_ += ((o.single ? 1 : n_) * (o.shared ? 1 : group_) * o.staged + 63) / 64 * 64;
    }
    scratch_at_ = bytes_;
    bytes_ += (n_ * spec_.scratch + 63) / 64 * 64;
  };
  // Lines whose neighbours are contiguous are gathered several at a time, so that every cache line is read once.
  const Operand& first = operands_[0];
  if (!first.direct && first.line_strides.size() == 1 && first.line_strides[0] > kept_.stride(0, 0)) group_ = kGroup;
  layout();
  if (group_ > 1 && bytes_ > kMostBytes) {
    group_ = 1;
    layout();
  }
  if (std::all_of(operands_.begin(), operands_.end(),
                  [](const Operand& o) { return !o.given || o.direct || o.shared; }))
    group_ = kDirectGroup;
}

/// Whether the spec's block function fits: neighbouring lines are contiguous in every Whole operand, and their elements are not.
bool LineKernel::side_by_side() const {
  if (!spec_.block || operands_[0].direct || kept_.sizes[0] < spec_.block_least) return false;
  for (size_t i = 0; i < operands_.size(); ++i) {
    const Operand& o = operands_[i];
    if (!o.given || o.single) continue;
    if (o.shared || !o.same || o.line_sizes.size() != 1 || kept_.stride(static_cast<int64_t>(i), 0) != 1) return false;
  }
  return true;
}

void LineKernel::lay_out_blocks() {
  int64_t per_line = spec_.block_scratch * n_ + spec_.block_sums;
  for (const Operand& o : operands_)
    if (o.given && !o.single) per_line += n_ * o.memory;
  group_ = std::clamp(kBlockBytes / std::max<int64_t>(per_line, 1) / kUnit * kUnit, kLeastWidth, kMostWidth);
  group_ = std::min(group_, (kept_.sizes[0] + kUnit - 1) / kUnit * kUnit);
  for (size_t i = 0; i < operands_.size(); ++i) {
    Operand& o = operands_[i];
    if (!o.given || !o.single) continue;
    o.direct = o.same && kept_.stride(static_cast<int64_t>(i), 0) == 1;
    if (o.direct) continue;
    o.slot = bytes_;
    bytes_ += (group_ * o.staged + 63) / 64 * 64;
  }
  scratch_at_ = bytes_;
  // An odd number of units: the lines of a column do not fall on each other in the cache.
  pitch_ = group_ / kUnit % 2 ? group_ : group_ + kUnit;
  bytes_ += (pitch_ * (n_ * spec_.block_scratch + spec_.block_sums) + 63) / 64 * 64;
}

void LineKernel::gather(const Operand& o, const char* from, int64_t step, int64_t lines, char* to) const {
  const int64_t n = o.single ? 1 : n_;
  if (lines > 1 && o.line_sizes.size() == 1) {
    for (int64_t i = 0; i < n; ++i)
      o.convert(from + i * o.line_strides[0] * o.memory, step, to + i * o.staged, n, lines);
    return;
  }
  const int64_t inner = o.line_sizes.back(), stride = o.line_strides.back();
  for (int64_t l = 0; l < lines; ++l) {
    for (int64_t done = 0; done < n; done += inner) {
      int64_t rest = done / inner, offset = l * step;
      for (size_t a = o.line_sizes.size() - 1; a-- > 0; rest /= o.line_sizes[a])
        offset += rest % o.line_sizes[a] * o.line_strides[a];
      char* target = to + (l * n + done) * o.staged;
      if (o.row && stride == 1)
        o.row(from + offset * o.memory, target, inner);
      else
        o.convert(from + offset * o.memory, stride, target, 1, inner);
    }
  }
}

void LineKernel::scatter(const Operand& o, const char* from, char* to, int64_t step, int64_t lines) const {
  const int64_t n = o.single ? 1 : n_;
  if (lines > 1 && o.line_sizes.size() == 1) {
    for (int64_t i = 0; i < n; ++i)
      o.convert(from + i * o.staged, n, to + i * o.line_strides[0] * o.memory, step, lines);
    return;
  }
  const int64_t inner = o.line_sizes.back(), stride = o.line_strides.back();
  for (int64_t l = 0; l < lines; ++l) {
    for (int64_t done = 0; done < n; done += inner) {
      int64_t rest = done / inner, offset = l * step;
      for (size_t a = o.line_sizes.size() - 1; a-- > 0; rest /= o.line_sizes[a])
        offset += rest % o.line_sizes[a] * o.line_strides[a];
      const char* source = from + (l * n + done) * o.staged;
      if (o.row && stride == 1)
        o.row(source, to + offset * o.memory, inner);
      else
        o.convert(source, 1, to + offset * o.memory, stride, inner);
    }
  }
}

void LineKernel::run_range(const KernelArgs& args, int64_t begin, int64_t end, char* scratch) const {
  const size_t inputs = spec_.in.size(), count = operands_.size();
  NestWalk walk(kept_, static_cast<int>(count), begin);
  char* data[2 * kMostLineOperands];
  int64_t step[2 * kMostLineOperands];  // bytes from line to line
  for (size_t i = 0; i < inputs; ++i) {
    const Operand& o = operands_[i];
    if (o.given && o.shared && !o.direct) gather(o, static_cast<const char*>(args.inputs[i]), 0, 1, scratch + o.slot);
  }
  Line line{n_, {}, {}, spec_.params.data(), args.status, scratch + scratch_at_};
  for (int64_t at = begin; at < end;) {
    const int64_t lines = std::min({end - at, walk.left_in_row(), group_});
    for (size_t i = 0; i < count; ++i) {
      const Operand& o = operands_[i];
      data[i] = nullptr, step[i] = 0;
      if (!o.given) continue;
      const char* base =
          i < inputs ? static_cast<const char*>(args.inputs[i]) : static_cast<char*>(args.outputs[i - inputs]);
      const int64_t stride = kept_.stride(static_cast<int64_t>(i), 0);
      data[i] = const_cast<char*>(base) + walk.offset(static_cast<int>(i)) * o.memory;
      step[i] = stride * o.memory;
      if ((o.direct && !o.summed) || (blocks_ && !o.single)) continue;
      if (i < inputs && !o.shared) gather(o, data[i], stride, lines, scratch + o.slot);
      data[i] = scratch + o.slot;
      step[i] = o.shared ? 0 : (o.single ? 1 : n_) * o.staged;
    }
    if (blocks_) run_block(args, data, lines, scratch);
    for (int64_t l = 0; l < lines && !blocks_; ++l) {
      for (size_t i = 0; i < inputs; ++i, data[i - 1] += step[i - 1]) line.in[i] = data[i];
      for (size_t i = inputs; i < count; ++i, data[i - 1] += step[i - 1]) line.out[i - inputs] = data[i];
      spec_.fn(line);
    }
    for (size_t i = inputs; i < count; ++i) {
      const Operand& o = operands_[i];
      if (!o.given || o.direct || o.summed || (blocks_ && !o.single)) continue;
      char* to = static_cast<char*>(args.outputs[i - inputs]) + walk.offset(static_cast<int>(i)) * o.memory;
      scatter(o, scratch + o.slot, to, kept_.stride(static_cast<int64_t>(i), 0), lines);
    }
    walk.advance(lines);
    at += lines;
  }
}

void LineKernel::run_block(const KernelArgs& args, char* const* data, int64_t lines, char* scratch) const {
  const size_t inputs = spec_.in.size();
  LineBlock block{n_, lines, {}, {}, {}, {}, spec_.params.data(), args.status, scratch + scratch_at_, pitch_};
  for (size_t i = 0; i < operands_.size(); ++i) {
    const Operand& o = operands_[i];
    const int64_t step = o.given && !o.single ? o.line_strides[0] : 0;
    if (i < inputs)
      block.in[i] = data[i], block.in_step[i] = step;
    else
      block.out[i - inputs] = data[i], block.out_step[i - inputs] = step;
  }
  spec_.block(block);
}

/// The sums of the threads are added in order and stored.
void LineKernel::store_sums(const KernelArgs& args, char* scratch) const {
  for (size_t i = 0; i < spec_.out.size(); ++i) {
    const Operand& o = operands_[spec_.in.size() + i];
    if (!o.summed || !o.given) continue;
    auto add = [&]<class T>(T* sums) {
      for (int64_t p = 1; p < parts_; ++p) {
        const T* part = reinterpret_cast<const T*>(reinterpret_cast<const char*>(sums) + p * bytes_);
        for (int64_t k = 0; k < n_; ++k) sums[k] += part[k];
      }
    };
    char* sums = scratch + o.slot;
    if (o.staged == 8)
      add(reinterpret_cast<double*>(sums));
    else
      add(reinterpret_cast<float*>(sums));
    scatter(o, sums, static_cast<char*>(args.outputs[i]), 0, 1);
  }
}

void LineKernel::run(const KernelArgs& args) const {
  const int64_t count = kept_.count, per = per_part_;
  auto* scratch = static_cast<char*>(args.scratch);
  parallel_for(parts_, 1, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p) {
      char* own = scratch + p * bytes_;
      for (const Operand& o : operands_)
        if (o.summed && n_ > 0) std::memset(own + o.slot, 0, static_cast<size_t>(n_ * o.staged));
      if (p * per < count) run_range(args, p * per, std::min(count, (p + 1) * per), own);
    }
  });
  store_sums(args, scratch);
}

}  // namespace

std::unique_ptr<Kernel> make_line_kernel(const KernelRequest& request, LineSpec spec, std::string& why_not) {
  if (request.inputs.size() + request.outputs.size() > NestWalk::kMaxOperands) {
    why_not = "too many operands";
    return nullptr;
  }
  return std::make_unique<LineKernel>(request, std::move(spec));
}

}  // namespace hw
