// Accumulation of gradients.
#include "autograd/accumulate.h"

#include "autograd/journal.h"
#include "autograd/mode.h"
#include "base/error.h"
#include "op/created_like.h"
#include "op/math.h"

namespace hw {

static PlaceGradient g_place_gradient = nullptr;
static bool (*g_alone)(const Tensor&) = nullptr;
static std::unique_ptr<GradientSums> (*g_make_sums)() = nullptr;
static thread_local GradientSums* t_sums = nullptr;
static bool (*g_alike)(const Tensor&, const Tensor&) = nullptr;
void set_place_gradient(PlaceGradient f, bool (*alone)(const Tensor&), bool (*alike)(const Tensor&, const Tensor&)) {
  g_place_gradient = f, g_alone = alone, g_alike = alike;
}
Tensor placed_gradient(const Tensor& gradient, const Tensor& leaf) {
  return (gradient->global || leaf->global) && g_place_gradient ? g_place_gradient(gradient, leaf) : gradient;
}

void set_gradient_sums(std::unique_ptr<GradientSums> (*make)()) { g_make_sums = make; }

namespace {

/// Adds to `.grad`, which takes `g` over if it is `ours`, without a graph.
void add_to(GradMeta& m, const Tensor& g, bool ours) {
  if (!m.grad.defined()) {
    m.grad = ours ? detach(g) : detach(clone(detach(g)));
    return;
  }
  static const Op add_op{"add"};
  add_op.inplace({m.grad, g});
}

class AccumulateNode final : public GradNode {
 public:
  explicit AccumulateNode(const Tensor& leaf) : leaf_(leaf) { outputs.push_back({leaf.dtype(), leaf.shape()}); }
  ~AccumulateNode() override { grad_meta(leaf_)->accumulator = nullptr; }
  std::string_view name() const override { return "accumulate"; }
  bool is_accumulator() const override { return true; }
  const Tensor& leaf() const { return leaf_; }

  Tensors apply(std::span<const Tensor> dy, bool) override {
    if (!dy[0].defined()) return {};
    GradMeta& m = *grad_meta(leaf_);
    if (t_sums && summed_later(m, dy[0])) return {};
    Tensor g = placed_gradient(dy[0], leaf_);
    for (size_t i = 0; i < m.hooks.size(); ++i) {
      Ref<GradHook> hook = m.hooks[i];
      if (hook->removed) continue;
      Tensor changed = hook->call(g);
      if (!changed.defined()) continue;
      check_hook_result(changed, leaf_.dtype(), leaf_.shape());
      g = changed;
    }
    // Who holds it if nobody else does: this call, the engine's list, and the engine's CreatedLike of a global tensor.
    auto is_g = [&](const Tensor* t) { return uint32_t{t && t->body() == g.body()}; };
    add(m, g, 1 + is_g(&dy[0]) + is_g(t_created_like));
    for (size_t i = 0; i < m.post_hooks.size(); ++i) {
      Ref<GradHook> hook = m.post_hooks[i];
      if (!hook->removed) hook->call(leaf_);
    }
    return {};
  }

 private:
  void add(GradMeta& m, const Tensor& g, uint32_t holders) {
    bool graph = t_grad_mode.enabled;
    if (t_grad_journal) [[unlikely]] {
      t_grad_journal->reading(leaf_);
      if (!m.grad.defined() || graph) t_grad_journal->writing(leaf_);
    }
    if (!m.grad.defined()) {
      // Taken over when it is a plain tensor that only this call holds; else copied, so that nobody's later write shows in it.
      if (graph)
        m.grad = g;
      else
        add_to(m, g, ours(g, holders));
    } else if (graph) {
      m.grad = hw::add(m.grad, g);
    } else {
      add_to(m, g, false);
    }
  }

  static bool ours(const Tensor& g, uint32_t holders) {
    return g->use_count() <= holders && g.contiguous() && g->storage->use_count() == 1 &&
           (g->global ? g_alone(g) : g->storage->bytes() == g.nbytes());
  }

  /// Hooks want the gradient as it is summed, and a graph or a capture wants the ops that sum it.
  bool summed_later(const GradMeta& m, const Tensor& g) const {
    if (!g->global || !leaf_->global || !m.hooks.empty() || !m.post_hooks.empty()) return false;
    if (t_grad_mode.enabled || t_grad_journal) return false;
    return t_sums->take(g, leaf_, ours(g, 1 + uint32_t{t_created_like && t_created_like->body() == g.body()}));
  }

  Tensor leaf_;
};

}  // namespace

SummedLater::SummedLater() : sums_(g_make_sums ? g_make_sums() : nullptr), before_(t_sums) { t_sums = sums_.get(); }
SummedLater::~SummedLater() { t_sums = before_; }
void SummedLater::finish() {
  if (!sums_) return;
  for (const GradientSums::Sum& sum : sums_->finish()) add_to(*grad_meta(sum.leaf), sum.gradient, true);
}

Ref<GradNode> accumulator(const Tensor& leaf) {
  GradMeta& m = *grad_meta(leaf);
  if (m.accumulator) return Ref<GradNode>(m.accumulator);
  auto node = make_ref<AccumulateNode>(leaf);
  m.accumulator = node.get();
  return node;
}

const Tensor& leaf_of(const GradNode& accumulator) {
  if (!accumulator.is_accumulator()) bug(accumulator.name(), " has no leaf");
  return static_cast<const AccumulateNode&>(accumulator).leaf();
}

void check_hook_result(const Tensor& result, DType dtype, const Dims& shape) {
  check_runtime(result.dtype() == dtype && result.shape() == shape,
                "a gradient hook must return a gradient like the one it got, ", dtype, shape, ", got ", result);
}

Tensor add_gradients(Tensor a, const Tensor& b) {
  bool ours = !t_grad_mode.enabled && a->use_count() == 1 && a->storage->use_count() == 1 && a.shape() == b.shape() &&
              a.dtype() == b.dtype() && a.contiguous();
  // Into memory of another placement every term would be moved; the sum of partial values is moved once.
  if (ours && (a->global || b->global)) ours = g_alike && g_alike(a, b);
  if (!ours) return add(a, b);
  static const Op add_op{"add"};
  add_op.inplace({a, b});
  return a;
}

}  // namespace hw
