// Tensors' autograd state.
#include "autograd/node.h"

#include <atomic>

#include "autograd/accumulate.h"
#include "autograd/journal.h"
#include "autograd/mode.h"
#include "autograd/views.h"
#include "base/error.h"
#include "op/math.h"

namespace hw {

static std::atomic<uint64_t> g_sequence{1};

GradNode::GradNode() : sequence_(g_sequence.fetch_add(1, std::memory_order_relaxed)) {}

/// Dropping a node drops its inputs' nodes in turn; a worklist keeps the stack flat however long the chain.
void GradNode::destroy() noexcept {
  static thread_local std::vector<GradNode*>* worklist = nullptr;
  if (worklist) {
    worklist->push_back(this);
    return;
  }
  std::vector<GradNode*> list{this};
  worklist = &list;
  while (!list.empty()) {
    GradNode* node = list.back();
    list.pop_back();
    delete node;
  }
  worklist = nullptr;
}

GradMeta& ensure_grad_meta(const Tensor& t) {
  if (!t->autograd) t->autograd = std::make_unique<GradMeta>();
  return *grad_meta(t);
}

bool is_leaf(const Tensor& t) {
  const GradMeta* m = grad_meta(t);
  if (!m || m->requires_grad) return true;
  return !m->fn && !(requires_grad(t) && m->view->version != t.version());
}

void set_requires_grad(const Tensor& t, bool yes) {
  if (yes)
    check_runtime(is_inexact(t.dtype()), "only floating-point and complex tensors can require gradients, got ",
                  t.spec());
  check_runtime(is_leaf(t),
                "requires_grad can be changed on leaf tensors only; use detach() to get one without history");
  check_runtime(!yes || !t->inference || t_grad_mode.inference,
                "a tensor made in inference mode cannot require gradients; clone() it outside first");
  if (t_grad_journal) [[unlikely]]
    t_grad_journal->asking(t);
  if (!yes && !grad_meta(t)) return;
  ensure_grad_meta(t).requires_grad = yes;
}

Ref<GradNode> grad_fn(const Tensor& t) {
  GradMeta* m = grad_meta(t);
  if (!m) return {};
  if (m->view) refresh_view(t, *m);
  return m->fn;
}

GradNode::Edge gradient_edge(const Tensor& t) {
  GradMeta* m = t.defined() ? grad_meta(t) : nullptr;
  if (!m) return {};
  if (m->view) refresh_view(t, *m);
  if (m->fn) return {m->fn, m->slot};
  if (!m->requires_grad) return {};
  return {accumulator(t), 0};
}

Tensor detach(const Tensor& t) { return t.alias(); }

void set_history(const Tensor& t, Ref<GradNode> node, uint32_t slot) {
  if (t_grad_journal) [[unlikely]]
    t_grad_journal->asking(t);
  GradMeta& m = ensure_grad_meta(t);
  m.fn = std::move(node);
  m.slot = slot;
  m.requires_grad = false;
  if (m.retained) {  // written in place since: the gradient of the new value is kept
    m.retained->removed = true;
    auto hook = make_ref<RetainHook>();
    hook->grad = m.retained->grad;
    m.retained = hook;
    m.fn->hooks.push_back({slot, hook});
  }
}

void add_grad_hook(const Tensor& t, Ref<GradHook> hook) {
  check_runtime(requires_grad(t), "a hook needs a tensor that requires gradients");
  Ref<GradNode> fn = grad_fn(t);
  if (fn)
    fn->hooks.push_back({grad_meta(t)->slot, std::move(hook)});
  else
    grad_meta(t)->hooks.push_back(std::move(hook));
}

void add_post_accumulate_hook(const Tensor& leaf, Ref<GradHook> hook) {
  check_runtime(requires_grad(leaf) && is_leaf(leaf),
                "a post-accumulate hook needs a leaf tensor that requires gradients");
  grad_meta(leaf)->post_hooks.push_back(std::move(hook));
}

Tensor RetainHook::call(const Tensor& gradient) {
  grad = grad.defined() ? add(grad, gradient) : gradient;
  return {};
}

void retain_grad(const Tensor& t) {
  check_runtime(requires_grad(t), "retain_grad needs a tensor that requires gradients");
  if (is_leaf(t) || grad_meta(t)->retained) return;
  auto hook = make_ref<RetainHook>();
  grad_meta(t)->retained = hook;
  add_grad_hook(t, hook);
}

void track_view(const Tensor& view, const Tensor& of) {
  if (t_grad_mode.inference || of->inference) return;
  const GradMeta* source = grad_meta(of);
  GradMeta& m = ensure_grad_meta(view);
  m.view = std::make_unique<ViewInfo>();
  m.view->base = source && source->view ? source->view->base : of;
  m.view->version = of.version();
  m.view->recorded = t_grad_mode.enabled;
}

}  // namespace hw
