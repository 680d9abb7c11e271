// Nodes of the tape and what hangs on tensors.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "op/op_def.h"

namespace hw {

/// A callback on a gradient: returns the gradient to use, or an undefined tensor to keep it.
struct GradHook : RefCounted {
  virtual Tensor call(const Tensor& gradient) = 0;
  bool removed = false;
};

/// One recorded operation. Gradients flow from its outputs to its inputs, which are the outputs of `next`.
class GradNode : public RefCounted {
 public:
  struct Edge {
    Ref<GradNode> node;
    uint32_t slot = 0;  // which output of `node`
  };
  struct OutputInfo {
    DType dtype = DType::None;
    Dims shape;
  };
  struct SlotHook {
    uint32_t slot;
    Ref<GradHook> hook;
  };

  GradNode();
  virtual std::string_view name() const = 0;
  /// Gradients of the inputs from those of the outputs (undefined where none arrived). `keep`: the graph is used again.
  virtual Tensors apply(std::span<const Tensor> dy, bool keep) = 0;
  virtual void release_saved() {}
  virtual bool released() const { return false; }  // what it saved was given up after a backward pass
  virtual bool is_accumulator() const { return false; }

  uint64_t sequence() const { return sequence_; }
  std::vector<Edge> next;           // one per input
  std::vector<OutputInfo> outputs;  // one per output
  std::vector<SlotHook> hooks;      // run on an output's gradient before apply()
  std::string origin;               // anomaly mode: who called the op
  bool spliced = false;             // part of another node (views.cpp), which lets go of what it saved

 protected:
  void destroy() noexcept override;  // without recursion: graphs may be 100,000 nodes deep

 private:
  uint64_t sequence_;
};

/// What a view remembers of the tensor whose storage it shows, so that in-place writes through either reach the graph.
struct ViewInfo {
  Tensor base;
  uint32_t version = 0;   // of the storage when the view's node was made
  bool recorded = false;  // made while gradients were recorded: a history that its base gets later is its own
};

/// Keeps the gradient of a tensor that is not a leaf.
struct RetainHook final : GradHook {
  Tensor call(const Tensor& gradient) override;
  Tensor grad;
};

struct GradMeta final : AutogradMeta {
  bool requires_grad = false;  // a leaf that asks for a gradient
  uint32_t slot = 0;
  Tensor grad;                                   // of a leaf
  Ref<RetainHook> retained;                      // of another tensor, after retain_grad()
  std::vector<Ref<GradHook>> hooks, post_hooks;  // of a leaf: on the incoming gradient; after accumulation
  Ref<GradNode> fn;                              // the node that made the tensor
  GradNode* accumulator = nullptr;               // not owned: it owns the tensor
  std::unique_ptr<ViewInfo> view;
};

inline GradMeta* grad_meta(const Tensor& t) { return static_cast<GradMeta*>(t->autograd.get()); }
GradMeta& ensure_grad_meta(const Tensor& t);
/// Whether a view without history requires gradients by its base: one that was written to, or made a leaf, after the view was made.
bool gained_history(const Tensor& view, const ViewInfo& info);
inline bool requires_grad(const Tensor& t) {
  if (!t.defined()) return false;
  const GradMeta* m = grad_meta(t);
  return m && (m->requires_grad || m->fn || (m->view && m->view->recorded && gained_history(t, *m->view)));
}
bool is_leaf(const Tensor& t);
/// Throws for integer dtypes and for tensors that are not leaves.
void set_requires_grad(const Tensor& t, bool yes);
/// The node that made `t`, brought up to date after in-place writes to its base; null for leaves.
Ref<GradNode> grad_fn(const Tensor& t);
/// Where the gradient of `t` goes; null when it needs none.
GradNode::Edge gradient_edge(const Tensor& t);
/// Same values, no history. Shares storage and version.
Tensor detach(const Tensor& t);
void set_history(const Tensor& t, Ref<GradNode> node, uint32_t slot);
void add_grad_hook(const Tensor& t, Ref<GradHook> hook);
/// The hook is called after a leaf's gradient was added to `.grad`, with the leaf.
void add_post_accumulate_hook(const Tensor& leaf, Ref<GradHook> hook);
void retain_grad(const Tensor& t);

/// Remembers that `view` shows the storage of `of`.
void track_view(const Tensor& view, const Tensor& of);

}  // namespace hw
