// Lowering a region. A piece is one index of the outer loops and a block of the innermost one, as many as fit the cache.
#include "compiler/regions/lower_region.h"

#include <algorithm>

#include "compiler/memory/place.h"
#include "compiler/regions/aliasing.h"
#include "compiler/regions/region.h"
#include "op/rules.h"

namespace hw {

namespace {

constexpr int64_t kPieceBytes = 96 << 10;  // all operands of a piece together

class RegionLowering {
 public:
  RegionLowering(const Node& node, std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs)
      : node_(node), body_(*node.bodies[0]), loops_(node.attrs[0].ints()), inputs_(inputs), outputs_(outputs) {}

  PlanLoop run() {
    choose_piece();
    for (size_t j = 0; j < used_; ++j) loop_.counts.push_back(j + 1 < used_ ? loops_[j] : blocks_);
    loop_.has_last = loops_[used_ - 1] % block_ != 0;
    loop_.num_inputs = inputs_.size();
    make_tiles();
    make_body();
    return std::move(loop_);
  }

 private:
  int64_t axis_of(ValueId v, size_t loop) const {
    return node_.attrs[1].ints()[static_cast<size_t>(v) * loops_.size() + loop];
  }
  int64_t bytes_per_index(size_t used) const;
  void choose_piece();
  TensorSpec piece_of(ValueId v, TensorSpec spec, int64_t block) const;
  void make_tiles();
  void place_scratch();
  void make_body();

  const Node& node_;
  const Graph& body_;
  const Dims& loops_;
  std::span<const TensorSpec> inputs_, outputs_;
  PlanLoop loop_;
  size_t used_ = 1;  // loops that are walked; those further in stay whole in each piece
  int64_t block_ = 1, blocks_ = 1;
  std::vector<int32_t> tile_of_;  // by value
};

/// What one index of the first `used` loops touches.
int64_t RegionLowering::bytes_per_index(size_t used) const {
  int64_t bytes = 0;
  for (size_t v = 0; v < body_.values.size(); ++v) {
    int64_t n = body_.values[v].spec.numel();
    bool walked = false;
    for (size_t j = 0; j < used; ++j)
      if (axis_of(static_cast<ValueId>(v), j) >= 0) {
        n /= std::max<int64_t>(loops_[j], 1);
        walked = true;
      }
    if (walked) bytes += n * dtype_size(body_.values[v].spec.dtype);
  }
  return std::max<int64_t>(bytes, 1);
}

void RegionLowering::choose_piece() {
  used_ = 1;
  while (used_ < loops_.size() && (bytes_per_index(used_) > kPieceBytes || loops_[used_ - 1] == 1)) ++used_;
  const int64_t size = std::max<int64_t>(loops_[used_ - 1], 1);
  const int64_t most = std::clamp<int64_t>(kPieceBytes / bytes_per_index(used_), 1, size);
  blocks_ = (size + most - 1) / most;
  block_ = (size + blocks_ - 1) / blocks_;
  if (blocks_ > 1 && block_ > 64) block_ = (block_ + 15) / 16 * 16;  // whole vectors
  blocks_ = (size + block_ - 1) / block_;
}

TensorSpec RegionLowering::piece_of(ValueId v, TensorSpec spec, int64_t block) const {
  for (size_t j = 0; j < used_; ++j)
    if (int64_t axis = axis_of(v, j); axis >= 0) spec.shape[static_cast<size_t>(axis)] = j + 1 < used_ ? 1 : block;
  return spec;
}

void RegionLowering::make_tiles() {
  const int64_t last = loops_[used_ - 1] - (blocks_ - 1) * block_;
  tile_of_.assign(body_.values.size(), -1);
  auto operand = [&](ValueId v, size_t index, const TensorSpec& whole) {
    PlanTile t;
    t.operand = static_cast<int32_t>(index);
    t.spec = piece_of(v, whole, block_);
    t.last_spec = piece_of(v, whole, last);
    t.spec.wrapped = t.last_spec.wrapped = body_.spec(v).wrapped;
    for (size_t j = 0; j < used_; ++j) {
      const int64_t axis = axis_of(v, j);
      const int64_t stride = axis < 0 ? 0 : whole.strides[static_cast<size_t>(axis)];
      t.steps.push_back(stride * dtype_size(whole.dtype) * (j + 1 < used_ ? 1 : block_));
    }
    tile_of_[static_cast<size_t>(v)] = static_cast<int32_t>(loop_.tiles.size());
    loop_.tiles.push_back(std::move(t));
  };
  for (size_t i = 0; i < inputs_.size(); ++i) operand(body_.sources[i].value, i, inputs_[i]);
  for (size_t i = 0; i < outputs_.size(); ++i) operand(body_.results[i].value, inputs_.size() + i, outputs_[i]);
  for (size_t v = 0; v < body_.values.size(); ++v) {
    if (tile_of_[v] >= 0) continue;
    PlanTile t;
    TensorSpec spec = body_.values[v].spec;
    t.spec = piece_of(static_cast<ValueId>(v), spec, block_);
    t.last_spec = piece_of(static_cast<ValueId>(v), spec, last);
    t.spec.strides = contiguous_strides(t.spec.shape);
    t.last_spec.strides = contiguous_strides(t.last_spec.shape);
    t.steps.resize(used_);
    tile_of_[v] = static_cast<int32_t>(loop_.tiles.size());
    loop_.tiles.push_back(std::move(t));
  }
  place_scratch();
}

/// What stays inside shares scratch memory by its lifetime in the body.
void RegionLowering::place_scratch() {
  std::vector<Block> blocks;
  std::vector<size_t> tiles;
  std::vector<int32_t> last(body_.values.size(), 0), first(body_.values.size(), 0);
  for (size_t step = 0; step < body_.order.size(); ++step) {
    const Node& n = body_.node(body_.order[step]);
    for (ValueId v : n.inputs)
      if (v != kNone) last[static_cast<size_t>(v)] = static_cast<int32_t>(step);
    for (ValueId v : n.outputs)
      first[static_cast<size_t>(v)] = last[static_cast<size_t>(v)] = static_cast<int32_t>(step);
  }
  for (size_t v = 0; v < body_.values.size(); ++v) {
    const PlanTile& t = loop_.tiles[static_cast<size_t>(tile_of_[v])];
    if (t.operand >= 0) continue;
    tiles.push_back(static_cast<size_t>(tile_of_[v]));
    blocks.push_back({t.spec.numel() * dtype_size(t.spec.dtype), first[v], last[v]});
  }
  Placement p = place_blocks(blocks);
  for (size_t i = 0; i < tiles.size(); ++i) loop_.tiles[tiles[i]].offset = p.offsets[i];
  loop_.scratch_bytes = p.bytes;
}

void RegionLowering::make_body() {
  for (NodeId id : body_.order) {
    const Node& n = body_.node(id);
    PlanStep s;
    s.op = n.op;
    s.attrs = n.attrs;
    s.origin = n.origin;
    std::vector<TensorSpec> specs;
    for (ValueId v : n.inputs) {
      specs.push_back(v == kNone ? TensorSpec{} : body_.spec(v));
      s.inputs.push_back(v == kNone ? -1 : tile_of_[static_cast<size_t>(v)]);
    }
    for (ValueId v : n.outputs) s.outputs.push_back(tile_of_[static_cast<size_t>(v)]);
    s.compute = compute_dtype(get_op(n.op), specs);
    loop_.body.push_back(std::move(s));
  }
}

}  // namespace

PlanLoop lower_region(const Node& node, std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) {
  return RegionLowering(node, inputs, outputs).run();
}

bool region_may_overwrite(const Node& node, size_t in, size_t out) {
  const Graph& body = *node.bodies[0];
  const size_t loops = node.attrs[0].ints().size();
  const ValueId x = body.sources[in].value, y = body.results[out].value;
  for (size_t j = 0; j < loops; ++j) {
    const int64_t a = node.attrs[1].ints()[static_cast<size_t>(x) * loops + j];
    if (a < 0 || a != node.attrs[1].ints()[static_cast<size_t>(y) * loops + j]) return false;
  }
  bool written = false;
  for (NodeId id : body.order) {
    const Node& n = body.node(id);
    const bool writes = std::find(n.outputs.begin(), n.outputs.end(), y) != n.outputs.end();
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      if (n.inputs[i] != x) continue;
      if (written) return false;
      if (writes && !may_overwrite(n, i, static_cast<size_t>(body.values[static_cast<size_t>(y)].slot))) return false;
    }
    written = written || writes;
  }
  return true;
}

}  // namespace hw
