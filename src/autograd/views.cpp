// In-place writes through views.
#include "autograd/views.h"

#include "autograd/journal.h"
#include "autograd/mode.h"
#include "base/error.h"
#include "op/math.h"

namespace hw {

namespace {

/// Where a view lies in its base.
struct Geometry {
  Dims shape, strides, base_shape, base_strides;
  int64_t offset;  // from the base's first element

  Geometry(const Tensor& view, const Tensor& base)
      : shape(view.shape()),
        strides(view.strides()),
        base_shape(base.shape()),
        base_strides(base.strides()),
        offset(view.offset() - base.offset()) {}

  /// The part of `whole` (laid out as the base) that the view shows.
  Tensor part(const Tensor& whole) const {
    static const Op as_strided{"as_strided"};
    return as_strided({whole}, {shape, strides, whole.offset() + offset});
  }
  /// A copy of `t` laid out as the base.
  Tensor laid_out(const Tensor& t) const {
    static const Op empty_strided{"empty_strided"}, copy{"copy_"};
    Tensor whole = empty_strided({}, {base_shape, base_strides, t.dtype()});
    return copy.inplace({whole, t});
  }
};

/// A view made anew from its base: its gradient goes into a zero tensor of the base's shape.
class ViewNode final : public GradNode {
 public:
  ViewNode(const Tensor& view, const Tensor& base) : geometry_(view, base) {
    next.push_back(gradient_edge(base));
    outputs.push_back({view.dtype(), view.shape()});
  }
  std::string_view name() const override { return "as_strided"; }
  Tensors apply(std::span<const Tensor> dy, bool) override {
    if (!dy[0].defined()) return {Tensor()};
    Tensor whole = geometry_.laid_out(zeros(geometry_.base_shape, dy[0].dtype()));
    static const Op add_op{"add"};
    add_op.inplace({geometry_.part(whole), dy[0]});
    return {whole};
  }

 private:
  Geometry geometry_;
};

/// The base after a view of it was overwritten by the result of `inner`.
class CopySlices final : public GradNode {
 public:
  CopySlices(const Tensor& view, const Tensor& base, Ref<GradNode> inner)
      : geometry_(view, base), inner_(std::move(inner)) {
    inner_->spliced = true;
    next = inner_->next;
    next[0] = gradient_edge(base);
    inner_wants_old_ = static_cast<bool>(inner_->next[0].node);
    outputs.push_back({base.dtype(), base.shape()});
  }
  std::string_view name() const override { return inner_->name(); }
  void release_saved() override { inner_->release_saved(); }
  bool released() const override { return inner_->released(); }
  Tensors apply(std::span<const Tensor> dy, bool keep) override {
    if (!dy[0].defined()) return Tensors(next.size());
    Tensor whole = geometry_.laid_out(dy[0]);
    Tensor inner_dy = clone(geometry_.part(whole));
    Tensors dx = inner_->apply({&inner_dy, 1}, keep);
    // A graph of second order reaches the inner node by itself too: as the history of the output that it saved.
    if (!keep && inner_->use_count() == 1) inner_->release_saved();
    dx.resize(next.size());
    static const Op copy{"copy_"};
    Tensor part = geometry_.part(whole);
    copy.inplace({part, inner_wants_old_ && dx[0].defined() ? dx[0] : zeros(geometry_.shape, whole.dtype())});
    dx[0] = whole;
    return dx;
  }

 private:
  Geometry geometry_;
  Ref<GradNode> inner_;
  bool inner_wants_old_ = false;
};

}  // namespace

void refresh_view(const Tensor& view, GradMeta& m) {
  if (m.view->version == view.version()) return;
  if (t_grad_journal) [[unlikely]]
    t_grad_journal->asking(view);
  m.view->version = view.version();
  const Tensor& base = m.view->base;
  if (!requires_grad(base)) return;
  if (view.dtype() != base.dtype()) return;
  m.fn = make_ref<ViewNode>(view, base);
  m.slot = 0;
  m.requires_grad = false;
}

void write_through_view(const Tensor& view, GradMeta& m, Ref<GradNode> node) {
  Tensor base = m.view->base;
  check_runtime(is_non_overlapping(view.shape(), view.strides()),
                "an in-place write to a view whose elements overlap has no gradient; clone() it first");
  check_runtime(
      !(grad_meta(base) && grad_meta(base)->requires_grad),
      "a view of a leaf that requires gradients is written in place; write under hw.no_grad(), or to a clone()");
  if (t_grad_journal) [[unlikely]] {
    t_grad_journal->asking(base);
    t_grad_journal->asking(view);
  }
  auto slices = make_ref<CopySlices>(view, base, std::move(node));
  GradMeta& b = ensure_grad_meta(base);
  b.fn = slices;
  b.slot = 0;
  if (b.view) b.view->version = base.version();
  m.fn = make_ref<ViewNode>(view, base);
  m.slot = 0;
  m.requires_grad = false;
  m.view->version = view.version();
}

}  // namespace hw
