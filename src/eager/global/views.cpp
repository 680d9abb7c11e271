// Views of global tensors: of the parts themselves, or of boxed ones that are kept up to date.
#include "eager/global/views.h"

#include "base/error.h"
#include "eager/global/boxing.h"
#include "eager/global_hook.h"
#include "op/call.h"

namespace hw {

namespace {

Tensor strided_copy(const Tensor& x, const Dims& strides) {
  Tensor y;
  if (t_local_recorder) {
    static const Op empty_strided{"empty_strided"};
    execute_here(empty_strided.def(), {}, {x.shape(), strides, x.dtype()}, {&y, 1});
  } else {
    y = Tensor::empty_strided(x.shape(), strides, x.dtype());
  }
  copy_into(y, x);
  return y;
}

Tensor viewed(const OpDef& op, const Tensor& x, const Attrs& attrs) {
  Tensor y;
  view_here(op, {&x, 1}, attrs, {&y, 1});
  if (t_local_recorder) t_local_recorder->local_view(op, {&x, 1}, attrs, y);
  return y;
}

/// The view of one part. Where its memory does not allow it, of a copy; `copied` says so.
Tensor local_view(const MovedView& how, size_t rank, const Tensor& part, bool& copied) {
  const OpDef& op = *how.op;
  const Attrs& attrs = how.local_attrs.empty() ? how.attrs : how.local_attrs[rank];
  const bool by_strides = op.name() == "as_strided";  // means those of the logical tensor
  if (!by_strides || part.strides() == how.base.strides()) try {
      return viewed(op, part, attrs);
    } catch (const Error&) {
    }
  copied = true;
  const Tensor x = strided_copy(part, by_strides ? how.base.strides() : contiguous_strides(part.shape()));
  return viewed(op, x, attrs);
}

Tensors local_views(const MovedView& how, bool& copied) {
  Tensors views;
  const Tensors parts = boxed_parts(how.base, how.boxed);
  for (size_t r = 0; r < parts.size(); ++r) views.push_back(local_view(how, r, parts[r], copied));
  return views;
}

}  // namespace

void make_global_view(const Tensor& view, const Tensor& base, MovedView how, const Place* place) {
  const GlobalTensor& x = *global_of(base);
  bool copied = x.moved || how.boxed != x.place;
  auto meta = make_ref<GlobalTensor>();
  meta->place = place;
  meta->captured = t_local_recorder != nullptr;
  meta->parts = local_views(how, copied);
  if (copied) {
    how.version = view.version();
    meta->moved = std::make_unique<MovedView>(std::move(how));
  }
  view->global = meta;
}

const Tensors& parts_of(const Tensor& t) {
  GlobalTensor& g = *global_of(t);
  if (t_local_recorder) [[unlikely]]
    t_local_recorder->meet(t);
  if (g.moved && g.moved->version != t.version()) {
    bool copied = false;
    g.parts = local_views(*g.moved, copied);
    g.moved->version = t.version();
  }
  return g.parts;
}

void write_parts(const Tensor& to, const TensorSpec& spec, const Place* place, Tensors parts) {
  const GlobalTensor& g = *global_of(to);
  const Tensors own = parts_of(to);
  if (g.place != place) parts = boxed_parts(make_global(spec, place, std::move(parts)), g.place, own);
  for (size_t r = 0; r < parts.size(); ++r)
    if (parts[r].body() != own[r].body()) copy_into(own[r], parts[r]);
  written(to);
}

void written(const Tensor& t) {
  const GlobalTensor& g = *global_of(t);
  if (!g.moved) return;
  const MovedView& how = *g.moved;
  const Place* whole = place_of(whole_on(g.place->value.mesh));
  const Tensors values = boxed_parts(t, whole);
  Tensors bases;
  for (size_t r = 0; r < values.size(); ++r) {
    bases.push_back(strided_copy(boxed_parts(how.base, whole)[r], how.base.strides()));
    copy_into(viewed(*how.op, bases[r], how.attrs), values[r]);
  }
  write_parts(how.base, how.base.spec(), whole, std::move(bases));
}

}  // namespace hw
