// In-place writes through views.
#include "autograd/views.h"

#include "autograd/journal.h"
#include "autograd/mode.h"
#include "base/error.h"
#include "op/math.h"

namespace hw {

namespace {

/// How the elements of a view are those of its base. Complex numbers and pairs of real ones have the same gradients, byte for byte.
enum class Reading : uint8_t {
  Same,
  Parts,  // the base is complex, the view shows real and imaginary parts: view_as_real
  Pairs,  // the base is real, the view shows pairs of its elements: view_as_complex
  Bytes,  // another dtype: nothing flows between them
};

Reading reading_of(DType base, DType view) {
  if (base == view) return Reading::Same;
  if (is_complex(base) && real_dtype(base) == view) return Reading::Parts;
  if (is_complex(view) && real_dtype(view) == base) return Reading::Pairs;
  return Reading::Bytes;
}

/// Where a view lies in its base. Sizes and strides count real elements where one of the two is complex and the other is not.
struct Geometry {
  Dims shape, strides, base_shape, base_strides;
  int64_t offset;  // from the base's first element
  Reading reading;

  Geometry(const Tensor& view, const Tensor& base)
      : shape(view.shape()),
        strides(view.strides()),
        base_shape(base.shape()),
        base_strides(base.strides()),
        reading(reading_of(base.dtype(), view.dtype())) {
    if (reading == Reading::Pairs) in_parts(shape, strides);
    const int64_t per_base = reading == Reading::Parts ? 2 : 1, per_view = reading == Reading::Pairs ? 2 : 1;
    offset = view.offset() * per_view - base.offset() * per_base;
  }

  /// The part of `whole` (laid out as the base) that the view shows.
  Tensor part(const Tensor& whole) const {
    static const Op as_strided{"as_strided"}, view_as_real{"view_as_real"};
    return as_strided({reading == Reading::Parts ? view_as_real({whole}) : whole}, {shape, strides, offset});
  }
  /// A copy of `t` laid out as the base.
  Tensor laid_out(const Tensor& t) const {
    static const Op empty_strided{"empty_strided"}, copy{"copy_"};
    Tensor whole = empty_strided({}, {base_shape, base_strides, t.dtype()});
    return copy.inplace({whole, t});
  }
  /// What the view holds as what part() shows, and back.
  Tensor to_part(const Tensor& of_view) const {
    static const Op view_as_real{"view_as_real"};
    return reading == Reading::Pairs ? view_as_real({of_view}) : of_view;
  }
  Tensor from_part(const Tensor& part) const {
    static const Op view_as_complex{"view_as_complex"};
    return reading == Reading::Pairs ? view_as_complex({contiguous(part)}) : part;
  }
  /// Zeros of the base's shape, with `dy` where the view lies.
  Tensor spread(const Tensor& dy) const {
    if (reading == Reading::Same && is_non_overlapping(shape, strides)) {
      Tensor whole = laid_out(zeros(base_shape, dy.dtype()));
      static const Op add_op{"add"};
      add_op.inplace({part(whole), dy});
      return whole;
    }
    static const Op scatter{"_as_strided_grad"}, view_as_complex{"view_as_complex"};
    Dims whole_shape = base_shape, whole_strides = base_strides;
    if (reading == Reading::Parts) in_parts(whole_shape, whole_strides);
    Tensor whole = scatter({to_part(dy)}, {whole_shape, whole_strides, shape, strides, offset});
    return reading == Reading::Parts ? view_as_complex({contiguous(whole)}) : whole;
  }

 private:
  static void in_parts(Dims& shape, Dims& strides) {
    for (int64_t& s : strides) s *= 2;
    shape.push_back(2);
    strides.push_back(1);
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
    return {dy[0].defined() ? geometry_.spread(dy[0]) : Tensor()};
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
    Tensor inner_dy = geometry_.from_part(clone(geometry_.part(whole)));
    Tensors dx = inner_->apply({&inner_dy, 1}, keep);
    // A graph of second order reaches the inner node by itself too: as the history of the output that it saved.
    if (!keep && inner_->use_count() == 1) inner_->release_saved();
    dx.resize(next.size());
    static const Op copy{"copy_"};
    Tensor part = geometry_.part(whole);
    copy.inplace(
        {part, inner_wants_old_ && dx[0].defined() ? geometry_.to_part(dx[0]) : zeros(geometry_.shape, part.dtype())});
    dx[0] = whole;
    return dx;
  }

 private:
  Geometry geometry_;
  Ref<GradNode> inner_;
  bool inner_wants_old_ = false;
};

}  // namespace

bool gained_history(const Tensor& view, const ViewInfo& info) {
  const GradMeta* base = grad_meta(info.base);
  if (!base || !(base->requires_grad || (base->fn && info.version != view.version()))) return false;
  return reading_of(info.base.dtype(), view.dtype()) != Reading::Bytes;
}

void refresh_view(const Tensor& view, GradMeta& m) {
  if (m.view->version == view.version()) return;
  if (t_grad_journal) [[unlikely]]
    t_grad_journal->asking(view);
  m.view->version = view.version();
  const Tensor& base = m.view->base;
  if (!requires_grad(base) || reading_of(base.dtype(), view.dtype()) == Reading::Bytes) return;
  m.fn = make_ref<ViewNode>(view, base);
  m.slot = 0;
  m.requires_grad = false;
}

void write_through_view(const Tensor& view, GradMeta& m, Ref<GradNode> node) {
  Tensor base = m.view->base;
  if (reading_of(base.dtype(), view.dtype()) == Reading::Bytes) {  // the base has other numbers now, with no gradient
    set_history(view, std::move(node), 0);
    m.view->version = view.version();
    return;
  }
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
