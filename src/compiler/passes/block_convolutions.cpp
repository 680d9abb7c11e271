// block_convolutions: images between convolutions lie in blocks of channels, weights are packed, when frozen.
#include <algorithm>
#include <cmath>
#include <optional>

#include "compiler/add_call.h"
#include "compiler/pass.h"
#include "compiler/passes/int8_layer.h"
#include "compiler/steady.h"
#include "ir/rewrite.h"
#include "kernels/conv/winograd.h"
#include "kernels/isa.h"
#include "kernels/kernel.h"
#include "kernels/tuning/tuning.h"
#include "op/op_def.h"
#include "op/rules.h"

namespace hw {

namespace {

/// A convolution whose weights depend on state alone becomes _conv2d_packed or _conv2d_winograd, which read and write images
/// [n, c / b, h, w, b]. Its neighbours are taken along: each plain value [n, c, h, w] may have a blocked twin, and a node whose
/// inputs have twins works on them. A plain value is made of its twin only where something else reads it. Sums are taken in
/// another order than by `convolution`, and winograd_error() bounds what a smaller number of multiplications adds. Between dequantised
/// operands it becomes _conv2d_int8, which reads the bytes: sums are exact in integers, and what is rounded is the scaled sum, once.
class Blocking {
 public:
  explicit Blocking(Graph& graph)
      : g_(graph),
        frozen_(steady_values(graph)),
        r_(graph),
        block_(isa() == Isa::AVX512 && all_divide(16) ? 16 : 8),
        twin_(graph.values.size(), kNone),
        layers_(g_, r_, frozen_) {}

  bool run() {
    if (!gives_outputs_only(g_)) return false;  // not frozen after all
    for (NodeId n = r_.first(); n != kNone;) {
      const NodeId at = n;
      n = r_.next(n);
      if (g_.node(at).op == "convolution" ? convolution(at) : follow(at)) blocked_.push_back(at);
    }
    for (size_t i = blocked_.size(); i-- > 0;) remove(blocked_[i]);
    for (NodeId n : dequantized_)
      if (r_.placed(n)) r_.erase_if_unused(n);
    return !blocked_.empty();
  }

 private:
  // ---------------------------------------------------------------- twins
  ValueId twin(ValueId v) const {
    return static_cast<size_t>(v) < twin_.size() ? twin_[static_cast<size_t>(v)] : kNone;
  }
  void set_twin(ValueId v, ValueId blocked) { twin_[static_cast<size_t>(v)] = blocked; }
  bool frozen(ValueId v) const { return static_cast<size_t>(v) >= frozen_.size() || frozen_[static_cast<size_t>(v)]; }
  /// A plain image that divides into blocks.
  bool divides(const Dims& shape) const { return shape.size() == 4 && shape[1] % block_ == 0 && numel(shape) > 0; }
  Dims blocked(const Dims& s) const { return {s[0], s[1] / block_, s[2], s[3], block_}; }

  ValueId view(NodeId before, ValueId v, Dims shape) { return add_call(r_, before, "view", {v}, {std::move(shape)}); }
  /// The same elements in another order of axes, one behind the other in memory.
  ValueId reorder(NodeId before, ValueId v, Dims axes) {
    return add_call(r_, before, "clone", {add_call(r_, before, "permute", {v}, {std::move(axes)})}, {});
  }
  ValueId dense(NodeId before, ValueId v) {
    return g_.spec(v).contiguous() ? v : add_call(r_, before, "clone", {v}, {});
  }

  /// The blocked form of a plain image, made now if there is none.
  ValueId blocked_value(NodeId before, ValueId v) {
    if (twin(v) != kNone) return twin(v);
    const Dims s = g_.spec(v).shape;
    const ValueId plain = dense(before, v);
    if (s[2] == 1 && s[3] == 1) return view(before, plain, blocked(s));
    const ValueId made =
        reorder(before, view(before, plain, {s[0], s[1] / block_, block_, s[2], s[3]}), {0, 1, 3, 4, 2});
    if (static_cast<size_t>(v) < twin_.size()) set_twin(v, made);
    return made;
  }

  ValueId plain_value(NodeId before, ValueId twin, const Dims& s) {
    if (s[2] == 1 && s[3] == 1) return view(before, twin, s);
    return view(before, reorder(before, twin, {0, 1, 4, 2, 3}), s);
  }

  /// Takes a node whose outputs have twins out of the graph; who reads them otherwise gets them from the twins.
  void remove(NodeId n) {
    for (ValueId v : std::vector<ValueId>(g_.node(n).outputs))
      if (!r_.unused(v)) r_.replace(v, plain_value(n, twin(v), g_.spec(v).shape));
    r_.erase(n);
  }

  // ---------------------------------------------------------------- convolutions
  static bool is_convolution(const Graph& g, const Node& n) {
    return n.op == "convolution" && g.spec(n.inputs[0]).ndim() == 4;
  }
  bool all_divide(int64_t block) const {
    return std::all_of(g_.order.begin(), g_.order.end(), [&](NodeId n) {
      const Node& node = g_.node(n);
      if (!is_convolution(g_, node)) return true;
      const int64_t in = g_.spec(node.inputs[0]).shape[1];
      return (in <= kPlainChannels || in % block == 0) && g_.spec(node.outputs[0]).shape[1] % block == 0;
    });
  }

  struct Convolution {
    Dims x, w;
    int64_t stride[2], padding[2], dilation[2], groups;
    bool depthwise() const { return groups > 1 && groups == x[1] && groups == w[0]; }
  };

  bool read(const Node& n, Convolution& c) const {
    if (!is_convolution(g_, n) || !n.bindings.empty()) return false;
    for (ValueId v : {n.inputs[0], n.inputs[1], n.inputs[2], n.outputs[0]})
      if (v != kNone && g_.spec(v).dtype != DType::F32) return false;
    const ValueId bias = n.inputs[2];
    if (!frozen(n.inputs[1]) || frozen(n.inputs[0])) return false;
    c.x = g_.spec(n.inputs[0]).shape, c.w = g_.spec(n.inputs[1]).shape;
    if (bias != kNone && g_.spec(bias).shape != Dims{c.w[0]}) return false;
    for (size_t a = 0; a < 2; ++a) {
      const auto of = [&](size_t attr) {
        const Dims& values = n.attrs[attr].ints();
        return values[values.size() == 1 ? 0 : a];
      };
      c.stride[a] = of(0), c.padding[a] = of(1), c.dilation[a] = of(2);
      if (c.padding[a] < 0) return false;
    }
    c.groups = n.attrs[3].i64();
    const Dims& y = g_.spec(n.outputs[0]).shape;
    if (numel(c.x) == 0 || numel(y) == 0 || c.w[0] % block_ != 0) return false;
    if (c.groups == 1) return c.x[1] <= kPlainChannels || c.x[1] % block_ == 0;
    return c.depthwise() || (c.w[1] % block_ == 0 && c.w[0] / c.groups % block_ == 0);
  }

  /// Of bytes, if both operands are dequantised ones.
  bool int8_convolution(NodeId n, const Convolution& c) {
    const Node node = g_.node(n);
    const std::optional<Int8Layer> layer = layers_.read(node.inputs[0], node.inputs[1]);
    if (!layer || (c.groups != 1 && !c.depthwise()) || (c.depthwise() && !divides(c.x))) return false;
    const ValueId image = divides(c.x) ? blocked_value(n, layer->q) : dense(n, layer->q);
    const ValueId packed =
        add_call(r_, n, "_pack_int8_conv_weight", {dense(n, layer->weight)}, {AttrValue(c.depthwise())});
    const ValueId bias = node.inputs[2] == kNone ? kNone : dense(n, node.inputs[2]);
    set_twin(
        node.outputs[0],
        add_call(
            r_, n, "_conv2d_int8",
            {image, packed, int8_product_scale(r_, n, *layer), layer->zero, bias, kNone, kNone, kNone, kNone, kNone},
            {c.w[0], Dims{c.w[2], c.w[3]}, node.attrs[0], node.attrs[1], node.attrs[2], "none", block_, 0.0, 0.0}));
    for (size_t i : {0, 1}) {
      dequantized_.push_back(g_.values[static_cast<size_t>(node.inputs[i])].producer);
      if (const ValueId other = twin(node.inputs[i]); other != kNone)
        dequantized_.push_back(g_.values[static_cast<size_t>(other)].producer);
    }
    return true;
  }

  bool convolution(NodeId n) {
    Convolution c;
    if (!read(g_.node(n), c)) return false;
    if (int8_convolution(n, c)) return true;
    const Node node = g_.node(n);
    const bool plain = c.groups == 1 && c.x[1] <= kPlainChannels;
    const std::optional<Way> way = best_way(node, c);
    if (!way) return false;
    const ValueId image = plain ? dense(n, node.inputs[0]) : blocked_value(n, node.inputs[0]);
    const ValueId bias = node.inputs[2] == kNone ? kNone : dense(n, node.inputs[2]);
    set_twin(node.outputs[0],
             add_call(r_, n, way->op, {image, pack(n, node.inputs[1], c, way->tile), bias, kNone}, way->attrs));
    return true;
  }

  /// One operator that computes a convolution on blocks, and its operands.
  struct Way {
    int64_t tile = 0;  // of winograd; 0: direct
    std::string op;
    Attrs attrs;
    std::vector<TensorSpec> in;
    TensorSpec out;
    KernelRequest request() const { return {op, in, {&out, 1}, attrs}; }
  };

  Way way_of(const Node& node, const Convolution& c, int64_t tile) const {
    const auto dense_spec = [](Dims shape) { return with_strides({DType::F32, false, {}, std::move(shape), {}}); };
    const bool plain = c.groups == 1 && c.x[1] <= kPlainChannels;
    Way w{tile, tile > 0 ? "_conv2d_winograd" : "_conv2d_packed", {}, {}, {}};
    w.attrs = {node.attrs[0], node.attrs[1], node.attrs[2], "none", 0.0, 0.0};
    if (tile > 0) w.attrs = {c.w[0], tile, node.attrs[1], -INFINITY, INFINITY, c.stride[0]};
    w.in = {dense_spec(plain ? c.x : blocked(c.x)), dense_spec(packed_shape(c, tile)), TensorSpec{}, TensorSpec{}};
    w.out = dense_spec(blocked(g_.spec(node.outputs[0]).shape));
    return w;
  }

  /// A kernel other than the reference.
  static bool has_fast_kernel(const Way& way) {
    std::string chosen;
    return prepare_kernel(way.request(), DeviceType::CPU, &chosen) && chosen != "reference";
  }

  /// As tuning() says: direct always, by formula, or what was measured. Nothing if no fast kernel serves.
  std::optional<Way> best_way(const Node& node, const Convolution& c) const {
    const bool winograd = c.groups == 1 && c.w[2] == 3 && c.w[3] == 3 && c.x[1] % block_ == 0 && c.stride[0] <= 2 &&
                          c.stride[0] == c.stride[1] && c.dilation[0] == 1 && c.dilation[1] == 1;
    std::vector<Way> ways;
    if (!winograd || tuning() == Tuning::Off) {
      ways = {way_of(node, c, 0)};
    } else if (tuning() == Tuning::Heuristic) {
      ways = {way_of(node, c, tile_by_formula(c, g_.spec(node.outputs[0]).shape))};
    } else {
      ways = {way_of(node, c, 0), way_of(node, c, 4)};
      if (c.stride[0] == 1) ways.push_back(way_of(node, c, 2));
    }
    std::erase_if(ways, [](const Way& w) { return !has_fast_kernel(w); });
    if (ways.empty()) return std::nullopt;
    if (ways.size() == 1) return std::move(ways[0]);
    std::vector<KernelRequest> requests;
    for (const Way& w : ways) requests.push_back(w.request());
    return std::move(ways[fastest_way(requests)]);
  }

  /// 0 for a direct convolution.
  static int64_t tile_by_formula(const Convolution& c, const Dims& y) {
    WinogradSizes s;
    s.batch = c.x[0], s.in_channels = c.x[1], s.out_channels = c.w[0], s.out_h = y[2], s.out_w = y[3];
    s.stride = c.stride[0];
    return winograd_packed_tile(s);
  }

  Dims packed_shape(const Convolution& c, int64_t tile) const {
    const int64_t out = c.w[0], in = c.w[1], b = block_;
    if (tile > 0) return {(out + 15) / 16, (tile + 2) * (tile + 2), (in + 3) / 4 * 4, 16};
    if (c.depthwise()) return {out / b, c.w[2], c.w[3], b};
    if (c.groups == 1 && in <= kPlainChannels) return {out / b, c.w[2], c.w[3], in, b};
    if (c.groups == 1) return {out / b, in / b, c.w[2], c.w[3], b, b};
    return {c.groups, out / c.groups / b, in / b, c.w[2], c.w[3], b, b};
  }

  ValueId pack(NodeId n, ValueId weight, const Convolution& c, int64_t tile) {
    const int64_t out = c.w[0], in = c.w[1], h = c.w[2], w = c.w[3], b = block_;
    if (tile > 0) return add_call(r_, n, "_winograd_pack_weight", {weight}, {tile, c.stride[0]});
    const ValueId dense_weight = dense(n, weight);
    if (c.depthwise()) return reorder(n, view(n, dense_weight, {out / b, b, h, w}), {0, 2, 3, 1});
    if (c.groups == 1 && in <= kPlainChannels)
      return reorder(n, view(n, dense_weight, {out / b, b, in, h, w}), {0, 3, 4, 2, 1});
    if (c.groups == 1) return reorder(n, view(n, dense_weight, {out / b, b, in / b, b, h, w}), {0, 2, 4, 5, 3, 1});
    return reorder(n, view(n, dense_weight, {c.groups, out / c.groups / b, b, in / b, b, h, w}), {0, 1, 3, 5, 6, 4, 2});
  }

  // ---------------------------------------------------------------- what stands between
  bool follow(NodeId n) {
    const Node& node = g_.node(n);
    const OpDef* op = find_op(node.op);
    if (!op || op->kind() != OpKind::Kernel || op->is_random() || !node.bindings.empty() || node.outputs.empty())
      return false;
    bool any = false;
    for (ValueId v : node.inputs) any |= v != kNone && twin(v) != kNone;
    if (!any || g_.spec(node.outputs[0]).ndim() != 4) return false;
    if (node.op == "max_pool") return max_pool(n);
    if (node.op == "adaptive_avg_pool" || node.op == "mean") return mean(n);
    if (node.op == "cat") return cat(n);
    if (node.op == "quantize_linear" || node.op == "dequantize_linear")
      return node.attrs[0].none() && g_.spec(node.inputs[1]).numel() == 1 && elementwise(n);
    const SbpRule rule = op->sbp_rule();
    return (rule == &sbp::elementwise || rule == &sbp::linear || rule == &sbp::additive) && elementwise(n);
  }

  bool max_pool(NodeId n) {
    const Node node = g_.node(n);
    if (node.attrs[0].ints().size() != 2 || !r_.unused(node.outputs[1]) || g_.spec(node.inputs[0]).dtype != DType::F32)
      return false;
    set_twin(node.outputs[0], add_call(r_, n, "_max_pool2d_blocked", {twin(node.inputs[0])}, node.attrs));
    return true;
  }

  /// Over whole planes.
  bool mean(NodeId n) {
    const Node node = g_.node(n);
    if (node.op == "adaptive_avg_pool") {
      if (node.attrs[0].ints() != Dims{1, 1}) return false;
    } else {
      if (node.attrs[0].none() || !node.attrs[1].truth() || !node.attrs[2].none()) return false;
      Dims axes = node.attrs[0].ints();
      for (int64_t& a : axes) a = a < 0 ? a + 4 : a;
      std::sort(axes.begin(), axes.end());
      if (axes != Dims{2, 3}) return false;
    }
    set_twin(node.outputs[0], add_call(r_, n, "mean", {twin(node.inputs[0])}, {Dims{2, 3}, true, AttrValue()}));
    return true;
  }

  bool cat(NodeId n) {
    const Node node = g_.node(n);
    const int64_t axis = node.attrs[0].i64();
    if (axis != 1 && axis != -3) return false;
    std::vector<ValueId> inputs;
    for (ValueId v : node.inputs)
      if (!divides(g_.spec(v).shape) || g_.spec(v).dtype != g_.spec(node.outputs[0]).dtype) return false;
    for (ValueId v : node.inputs) inputs.push_back(blocked_value(n, v));
    set_twin(node.outputs[0], add_call(r_, n, "cat", std::move(inputs), {int64_t{1}}));
    return true;
  }

  bool elementwise(NodeId n) {
    const Node node = g_.node(n);
    const Dims& y = g_.spec(node.outputs[0]).shape;
    if (node.outputs.size() != 1 || !divides(y)) return false;
    for (ValueId v : node.inputs)
      if (v != kNone && !broadcasts(g_.spec(v).shape, y[1])) return false;
    std::vector<ValueId> inputs;
    for (ValueId v : node.inputs) inputs.push_back(v == kNone ? kNone : operand(n, v, y[1]));
    TensorSpec spec = g_.spec(node.outputs[0]);
    spec.shape = blocked(y), spec.strides = {};
    set_twin(node.outputs[0], r_.add(n, node.op, std::move(inputs), node.attrs, with_strides(spec)));
    return true;
  }

  /// What can stand beside blocked images: one number, an image that divides, or one without channels.
  bool broadcasts(const Dims& s, int64_t channels) const {
    return numel(s) == 1 || (s.size() == 4 && (s[1] == 1 || (s[1] == channels && divides(s))));
  }
  ValueId operand(NodeId n, ValueId v, int64_t channels) {
    const Dims s = g_.spec(v).shape;
    if (numel(s) == 1) return v;
    if (s[1] == channels) return blocked_value(n, v);
    return view(n, dense(n, v), {s[0], 1, s[2], s[3], 1});
  }

  static constexpr int64_t kPlainChannels = 4;  // read from plain images
  Graph& g_;
  std::vector<bool> frozen_;
  Rewriter r_;
  int64_t block_;
  std::vector<ValueId> twin_;    // by plain value
  std::vector<NodeId> blocked_;  // nodes whose outputs have twins
  Int8Layers layers_;
  std::vector<NodeId> dequantized_;  // what may have no reader any more
};

bool block_convolutions(Graph& graph, const PassOptions& options) { return options.frozen && Blocking(graph).run(); }

const RegisterPass pass(
    {"block_convolutions", Stage::Layout,
     "packs weights of convolutions, and keeps images between them in blocks of channels (inference)",
     &block_convolutions});

}  // namespace

}  // namespace hw
