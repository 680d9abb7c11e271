// Generating the code of loops: grouping, writing, compiling all at once, kernels; see the header.
#include "codegen/loop_code.h"

#include <unistd.h>

#include <algorithm>

#include "base/flags.h"
#include "base/text.h"
#include "codegen/groups.h"
#include "codegen/rows_kernel.h"

namespace hw {

namespace {

constexpr int64_t kLeastElements = 1 << 15;  // of all pieces together, for which code is generated
constexpr size_t kMostOutputs = 14;

/// Output sizes from which on the cache cannot hold what is written until it is read: not above 32 MiB, because a large cache is shared.
/// HEADWATER_STREAM_BYTES sets another.
int64_t streaming_bytes() {
  static const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return flag_int("HEADWATER_STREAM_BYTES", std::clamp<int64_t>(cache, int64_t{16} << 20, int64_t{32} << 20));
}

/// A group over a piece of one size: the shape its code runs on, and the text of the code.
struct Written {
  RowsShape shape;
  std::string code, streaming;
};

/// A loop on its way.
struct Draft {
  Grouping grouping;
  std::vector<Written> whole, last;  // by group
};

class LoopWriter {
 public:
  LoopWriter(const PlanLoop& loop, int lanes, bool always) : loop_(loop), lanes_(lanes), always_(always) {
    for (int64_t c : loop.counts) pieces_ *= c;
  }

  Draft run() {
    Draft draft;
    draft.grouping = group_steps(loop_);
    Grouping& all = draft.grouping;
    std::vector<bool> kept(all.groups.size());
    for (size_t g = 0; g < all.groups.size(); ++g) {
      Written whole, last;
      kept[g] = write(all.groups[g], false, whole, all.note) &&
                (!loop_.has_last || write(all.groups[g], true, last, all.note));
      draft.whole.push_back(std::move(whole));
      draft.last.push_back(std::move(last));
    }
    dissolve(draft, kept);
    return draft;
  }

 private:
  const TensorSpec& spec(int32_t tile, bool last) const {
    const PlanTile& t = loop_.tiles[static_cast<size_t>(tile)];
    return last ? t.last_spec : t.spec;
  }
  bool write(const StepGroup& group, bool last, Written& made, std::string& note) const;
  bool streams(const StepGroup& group) const;
  static void dissolve(Draft& draft, const std::vector<bool>& kept);

  const PlanLoop& loop_;
  int lanes_;
  bool always_;
  int64_t pieces_ = 1;
};

/// Whether all results go to memory from which they are read much later.
bool LoopWriter::streams(const StepGroup& group) const {
  int64_t least = INT64_MAX;
  for (int32_t t : group.outputs) {
    const TensorSpec& s = spec(t, false);
    if (loop_.tiles[static_cast<size_t>(t)].operand < 0) return false;
    least = std::min(least, pieces_ * s.numel() * dtype_size(s.dtype));
  }
  return least >= streaming_bytes();
}

bool LoopWriter::write(const StepGroup& group, bool last, Written& made, std::string& note) const {
  if (group.outputs.empty() || group.outputs.size() > kMostOutputs) {
    note = "too many results";
    return false;
  }
  const Dims& shape = spec(group.outputs[0], last).shape;
  std::vector<Dims> strides;
  std::vector<int32_t> tiles = group.inputs;
  tiles.insert(tiles.end(), group.outputs.begin(), group.outputs.end());
  int64_t smallest = 8;
  for (int32_t t : tiles) {
    const TensorSpec& s = spec(t, last);
    strides.push_back(broadcast_strides(s.shape, s.strides, shape));
    made.shape.sizes.push_back(dtype_size(s.dtype));
    smallest = std::min(smallest, made.shape.sizes.back());
  }
  if (!last && !always_ && pieces_ * numel(shape) < kLeastElements) {
    note = "too few elements";
    return false;
  }
  // The nest is sorted by the outputs, so they come first.
  const size_t inputs = group.inputs.size();
  std::rotate(strides.begin(), strides.begin() + static_cast<std::ptrdiff_t>(inputs), strides.end());
  const Nest nest = make_nest(shape, strides);
  made.shape.num_inputs = inputs;
  made.shape.lanes = lanes_ * (smallest <= 2 ? 2 : 1);
  made.shape.nest.sizes = nest.sizes;
  made.shape.nest.count = nest.count;
  FusedExpression expression = group.expression;
  for (size_t o = 0; o < tiles.size(); ++o) {
    const int64_t from = static_cast<int64_t>(o < inputs ? o + group.outputs.size() : o - inputs);
    for (int64_t a = 0; a < nest.axes(); ++a) made.shape.nest.strides.push_back(nest.stride(from, a));
    const int64_t inner = nest.stride(from, 0);
    if (inner != 1 && (inner != 0 || o >= inputs)) {
      note = text("an operand is neither contiguous nor broadcast along the innermost axis");
      return false;
    }
    made.shape.varies.push_back(inner == 1);
    if (o < inputs) expression.inputs[o].varies = inner == 1;
  }
  if (!last && nest.sizes[0] < made.shape.lanes) {
    note = "rows are shorter than a vector";
    return false;
  }
  made.code = write_code(expression, {made.shape.lanes, false}, note);
  if (!last && streams(group)) made.streaming = write_code(expression, {made.shape.lanes, true}, note);
  return !made.code.empty();
}

/// Groups that get no code become single steps again.
void LoopWriter::dissolve(Draft& draft, const std::vector<bool>& kept) {
  std::vector<int32_t> order;
  for (int32_t unit : draft.grouping.order) {
    if (unit >= 0 || kept[static_cast<size_t>(-1 - unit)])
      order.push_back(unit);
    else
      for (int32_t s : draft.grouping.groups[static_cast<size_t>(-1 - unit)].steps) order.push_back(s);
  }
  draft.grouping.order = std::move(order);
}

/// Offsets in scratch, by first fit over the order of the units. Tiles that stay in registers get none.
class ScratchPlacer {
 public:
  ScratchPlacer(const PlanLoop& loop, const std::vector<LoopUnit>& units) : loop_(loop) {
    first_.assign(loop.tiles.size(), -1);
    last_.assign(loop.tiles.size(), -1);
    for (size_t u = 0; u < units.size(); ++u) {
      const LoopUnit& unit = units[u];
      const bool plain = unit.step >= 0;
      const PlanStep* step = plain ? &loop.body[static_cast<size_t>(unit.step)] : nullptr;
      for (int32_t t : plain ? step->inputs : unit.inputs) touch(t, static_cast<int32_t>(u));
      for (int32_t t : plain ? step->outputs : unit.outputs) touch(t, static_cast<int32_t>(u));
    }
  }
  void run(LoopCode& code) {
    code.offsets.assign(loop_.tiles.size(), 0);
    std::vector<size_t> placed;
    for (size_t t = 0; t < loop_.tiles.size(); ++t) {
      if (loop_.tiles[t].operand >= 0 || first_[t] < 0) continue;
      int64_t offset = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (size_t other : placed) {
          const bool apart = last_[other] < first_[t] || last_[t] < first_[other];
          const int64_t end = code.offsets[other] + bytes(other);
          if (apart || end <= offset || code.offsets[other] >= offset + bytes(t)) continue;
          offset = end;
          moved = true;
        }
      }
      code.offsets[t] = offset;
      placed.push_back(t);
      code.scratch_bytes = std::max(code.scratch_bytes, offset + bytes(t));
    }
  }

 private:
  void touch(int32_t t, int32_t unit) {
    if (t < 0) return;
    const auto at = static_cast<size_t>(t);
    if (first_[at] < 0) first_[at] = unit;
    last_[at] = unit;
  }
  int64_t bytes(size_t t) const {
    const TensorSpec& s = loop_.tiles[t].spec;
    return (s.numel() * dtype_size(s.dtype) + 63) / 64 * 64;
  }

  const PlanLoop& loop_;
  std::vector<int32_t> first_, last_;
};

std::unique_ptr<Kernel> kernel_of(const Written& w, std::string& why_not) {
  const RowsFunction code = compiled_rows(w.code, why_not);
  if (!code) return nullptr;
  RowsFunction streaming = w.streaming.empty() ? nullptr : compiled_rows(w.streaming, why_not);
  return make_code_kernel(w.shape, code, streaming);
}

/// All steps by their own kernels, where the plan put them.
LoopCode plain(const PlanLoop& loop, std::string note) {
  LoopCode code;
  for (size_t i = 0; i < loop.body.size(); ++i) {
    code.units.emplace_back();
    code.units.back().step = static_cast<int32_t>(i);
  }
  for (const PlanTile& t : loop.tiles) code.offsets.push_back(t.offset);
  code.scratch_bytes = loop.scratch_bytes;
  code.note = std::move(note);
  return code;
}

LoopCode finished(const PlanLoop& loop, const Draft& draft) {
  LoopCode code;
  code.note = draft.grouping.note;
  std::string why_not;
  for (int32_t unit : draft.grouping.order) {
    LoopUnit& u = code.units.emplace_back();
    u.step = unit;
    if (unit >= 0) continue;
    const size_t g = static_cast<size_t>(-1 - unit);
    const StepGroup& group = draft.grouping.groups[g];
    u.step = -1;
    u.inputs = group.inputs;
    u.outputs = group.outputs;
    u.kernel = kernel_of(draft.whole[g], why_not);
    if (loop.has_last) u.last_kernel = kernel_of(draft.last[g], why_not);
    if (!u.kernel || (loop.has_last && !u.last_kernel)) return plain(loop, why_not);
    code.fused += static_cast<int32_t>(group.steps.size());
  }
  if (code.fused == 0) return plain(loop, code.note);
  ScratchPlacer(loop, code.units).run(code);
  return code;
}

}  // namespace

std::vector<LoopCode> make_loop_code(std::span<const PlanLoop> loops) {
  const std::string mode = flag_text("HEADWATER_CODEGEN", "auto");
  std::string why_not;
  // Code stands for the SIMD kernels: where these are off, it is too.
  const bool off = mode == "off" || kernels_off().find("simd") != std::string::npos ||
                   kernels_off().find("generated") != std::string::npos;
  const int lanes = off ? 0 : code_lanes(why_not);
  std::vector<LoopCode> made;
  std::vector<Draft> drafts;
  std::vector<std::string> codes;
  if (lanes)
    for (const PlanLoop& loop : loops) {
      Draft& d = drafts.emplace_back(LoopWriter(loop, lanes, mode == "always").run());
      for (int32_t unit : d.grouping.order) {
        if (unit >= 0) continue;
        const size_t g = static_cast<size_t>(-1 - unit);
        codes.push_back(d.whole[g].code);
        if (loop.has_last) codes.push_back(d.last[g].code);
        if (!d.whole[g].streaming.empty()) codes.push_back(d.whole[g].streaming);
      }
    }
  compile_all(codes);
  for (size_t i = 0; i < loops.size(); ++i)
    made.push_back(lanes ? finished(loops[i], drafts[i]) : plain(loops[i], off ? "switched off" : why_not));
  return made;
}

}  // namespace hw
