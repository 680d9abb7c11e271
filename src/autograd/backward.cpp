// The engine: nodes run in the reverse of the order in which they were recorded, each once, when all its gradients are in.
#include "autograd/backward.h"

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "autograd/accumulate.h"
#include "autograd/mode.h"
#include "autograd/record.h"
#include "base/error.h"
#include "base/trace.h"
#include "op/created_like.h"
#include "op/math.h"

namespace hw {

namespace {

struct Task {
  uint64_t sequence;
  GradNode* node;
  bool operator<(const Task& o) const { return sequence < o.sequence; }
};

class Engine {
 public:
  Engine(bool keep, bool graph) : keep_(keep), graph_(graph) {}

  void capture(const Tensor& input, size_t index) {
    GradNode::Edge edge = gradient_edge(input);
    check_runtime(static_cast<bool>(edge.node), "input ", static_cast<int64_t>(index),
                  " does not require gradients; call requires_grad_() on it before the forward pass");
    captures_[edge.node.get()].push_back({edge.slot, index});
    owned_.push_back(edge.node);
    captured_.resize(std::max(captured_.size(), index + 1));
  }
  void only_captures(bool accumulate) {
    restrict_ = true;
    accumulate_captures_ = accumulate;
  }
  void seed(const Tensor& root, Tensor gradient, size_t index);
  void run();
  Tensors take() { return std::move(captured_); }

 private:
  struct Capture {
    uint32_t slot;
    size_t index;
  };

  void discover();
  void find_needed();
  void step(GradNode& node, Tensors& dy);
  void run_hooks(GradNode& node, Tensors& dy);
  void deliver(GradNode& node, Tensors dx);
  void check_nan(const GradNode& node, const Tensors& dx);

  bool keep_, graph_, restrict_ = false, accumulate_captures_ = false, anomaly_ = false;
  std::unordered_map<GradNode*, std::vector<Capture>> captures_;
  std::unordered_map<GradNode*, Tensors> pending_;
  std::unordered_map<GradNode*, int> dependencies_;
  std::unordered_set<GradNode*> needed_;
  std::vector<GradNode*> order_;
  std::vector<Ref<GradNode>> roots_, owned_;
  std::priority_queue<Task> ready_;
  Tensors captured_;
};

void Engine::seed(const Tensor& root, Tensor gradient, size_t index) {
  GradNode::Edge edge = gradient_edge(root);
  check_runtime(static_cast<bool>(edge.node), "root ", static_cast<int64_t>(index),
                " does not require gradients and has no history: nothing to differentiate");
  if (!gradient.defined()) {
    check_runtime(!is_complex(root.dtype()), "backward: a gradient is made up for real values only, but the root is ",
                  root, "; pass gradient=");
    check_runtime(root.numel() == 1, "backward: a gradient is made up for a single element only, but the root is ",
                  root, "; reduce it first (loss.mean()), or pass gradient=");
    CreatedLike model({&root, 1});
    gradient = ones(root.shape(), root.dtype());
  }
  check_runtime(gradient.shape() == root.shape(), "backward: the gradient ", gradient,
                " must have the shape of the root, ", root);
  if (gradient.dtype() != root.dtype()) gradient = to(gradient, root.dtype());
  Tensors& slots = pending_[edge.node.get()];
  slots.resize(std::max<size_t>(edge.node->outputs.size(), edge.slot + 1));
  slots[edge.slot] = slots[edge.slot].defined() ? add(slots[edge.slot], gradient) : gradient;
  roots_.push_back(edge.node);
}

/// All nodes reachable from the roots, inputs before users, and how many gradients each waits for.
void Engine::discover() {
  struct Visit {
    GradNode* node;
    size_t edge;
  };
  std::vector<Visit> stack;
  for (const auto& r : roots_) {
    if (!dependencies_.try_emplace(r.get(), 0).second) continue;
    stack.push_back({r.get(), 0});
    while (!stack.empty()) {
      auto& [node, edge] = stack.back();
      if (edge == node->next.size()) {
        order_.push_back(node);
        stack.pop_back();
        continue;
      }
      GradNode* next = node->next[edge++].node.get();
      if (!next) continue;
      auto [it, fresh] = dependencies_.try_emplace(next, 0);
      ++it->second;
      if (fresh) stack.push_back({next, 0});
    }
  }
}

/// With captures: the nodes on a path from a root to a captured one.
void Engine::find_needed() {
  for (GradNode* node : order_) {
    bool need = captures_.count(node) > 0;
    for (const GradNode::Edge& e : node->next) need = need || (e.node && needed_.count(e.node.get()));
    if (need) needed_.insert(node);
  }
}

void Engine::run_hooks(GradNode& node, Tensors& dy) {
  for (size_t i = 0; i < node.hooks.size(); ++i) {
    GradNode::SlotHook h = node.hooks[i];
    if (h.hook->removed || h.slot >= dy.size() || !dy[h.slot].defined()) continue;
    Tensor changed = h.hook->call(dy[h.slot]);
    if (!changed.defined()) continue;
    check_hook_result(changed, dy[h.slot].dtype(), dy[h.slot].shape());
    dy[h.slot] = changed;
  }
}

void Engine::check_nan(const GradNode& node, const Tensors& dx) {
  for (size_t i = 0; i < dx.size(); ++i)
    if (dx[i].defined() && has_nan(dx[i]))
      fail(ErrorKind::Runtime, "anomaly: the gradient of ", node.name(), " with respect to input ",
           static_cast<int64_t>(i), " has NaN", node.origin.empty() ? "" : ". The operation was called in ",
           node.origin);
}

void Engine::deliver(GradNode& node, Tensors dx) {
  for (size_t i = 0; i < node.next.size(); ++i) {
    const GradNode::Edge& e = node.next[i];
    if (!e.node) continue;
    if (i < dx.size() && dx[i].defined() && (!restrict_ || needed_.count(e.node.get()))) {
      Tensors& slots = pending_[e.node.get()];
      if (slots.empty()) slots.resize(e.node->outputs.size());
      Tensor& slot = slots[e.slot];
      slot = slot.defined() ? add_gradients(std::move(slot), dx[i]) : std::move(dx[i]);
    }
    if (--dependencies_[e.node.get()] == 0) ready_.push({e.node->sequence(), e.node.get()});
  }
}

void Engine::step(GradNode& node, Tensors& dy) {
  bool any = false;
  for (const Tensor& t : dy) any = any || t.defined();
  CreatedLike model(dy);
  if (any) run_hooks(node, dy);
  if (auto it = captures_.find(&node); it != captures_.end()) {
    for (const Capture& c : it->second)
      if (c.slot < dy.size()) captured_[c.index] = dy[c.slot];
    if (restrict_ && node.is_accumulator() && !accumulate_captures_) return;
  }
  bool run = any && (!restrict_ || needed_.count(&node));
  if (restrict_ && run && !node.is_accumulator()) {  // needed only as the place of a capture?
    run = false;
    for (const GradNode::Edge& e : node.next) run = run || (e.node && needed_.count(e.node.get()));
  }
  Tensors dx;
  if (run) {
    TraceScope traced(TraceEvent::Kind::Backward);
    if (TraceEvent* e = traced.event()) e->name = node.name();
    dx = node.apply(dy, keep_);
    if (anomaly_) check_nan(node, dx);
  }
  dy.clear();
  deliver(node, std::move(dx));
}

void Engine::run() {
  anomaly_ = t_grad_mode.anomaly;
  GradModeGuard mode(graph_);
  t_grad_mode.anomaly = false;  // the engine itself looks, and names the recorded op rather than one of its gradient's
  discover();
  if (restrict_) find_needed();
  std::unordered_set<GradNode*> started;
  for (const auto& r : roots_)  // a root may also be the input of another root
    if (dependencies_[r.get()] == 0 && started.insert(r.get()).second) ready_.push({r->sequence(), r.get()});
  while (!ready_.empty()) {
    GradNode* node = ready_.top().node;
    ready_.pop();
    Tensors dy;
    if (auto it = pending_.find(node); it != pending_.end()) {
      dy = std::move(it->second);
      pending_.erase(it);
    }
    dy.resize(std::max(dy.size(), node->outputs.size()));
    step(*node, dy);
  }
}

void seed_all(Engine& engine, std::span<const Tensor> roots, std::span<const Tensor> gradients) {
  check(gradients.empty() || gradients.size() == roots.size(), "got ", static_cast<int64_t>(roots.size()),
        " roots but ", static_cast<int64_t>(gradients.size()), " gradients");
  for (size_t i = 0; i < roots.size(); ++i) engine.seed(roots[i], gradients.empty() ? Tensor() : gradients[i], i);
}

}  // namespace

void backward(std::span<const Tensor> roots, std::span<const Tensor> gradients, bool retain_graph, bool create_graph,
              std::span<const Tensor> inputs) {
  Engine engine(retain_graph, create_graph);
  if (!inputs.empty()) {
    engine.only_captures(true);
    for (size_t i = 0; i < inputs.size(); ++i) engine.capture(inputs[i], i);
  }
  seed_all(engine, roots, gradients);
  SummedLater sums;
  engine.run();
  sums.finish();
  Tensors found = engine.take();
  for (size_t i = 0; i < inputs.size(); ++i) {  // leaves have theirs, and so has what retains it
    GradMeta& m = *grad_meta(inputs[i]);
    if (!m.fn || m.retained || !found[i].defined()) continue;
    Tensor g = create_graph ? found[i] : detach(found[i]);
    m.grad = m.grad.defined() ? add(m.grad, g) : g;
  }
}

Tensors grad(std::span<const Tensor> roots, std::span<const Tensor> gradients, std::span<const Tensor> inputs,
             bool retain_graph, bool create_graph, bool allow_unused) {
  Engine engine(retain_graph, create_graph);
  engine.only_captures(false);
  for (size_t i = 0; i < inputs.size(); ++i) engine.capture(inputs[i], i);
  seed_all(engine, roots, gradients);
  engine.run();
  Tensors out = engine.take();
  out.resize(inputs.size());
  for (size_t i = 0; i < out.size(); ++i) {
    check_runtime(out[i].defined() || allow_unused, "grad: input ", static_cast<int64_t>(i),
                  " was not used to compute the outputs; pass allow_unused=True to get None for it");
    if (out[i].defined()) out[i] = placed_gradient(out[i], inputs[i]);
  }
  return out;
}

}  // namespace hw
