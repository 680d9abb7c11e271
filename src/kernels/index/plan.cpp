// Advanced indexing laid out for kernels; see the header.
#include "kernels/index/plan.h"

#include <atomic>

#include "base/thread_team.h"
#include "kernels/loops/each.h"

namespace hw {

static void finish(IndexPlan& p, const TensorSpec& x, const TensorSpec& y, std::span<const int64_t> indexed) {
  // Indexed axes that are not adjacent go to the front of the selection.
  bool adjacent = true;
  size_t first = x.shape.size();
  for (size_t a = 0, seen = 0; a < x.shape.size(); ++a) {
    if (indexed[a] < 0) continue;
    if (seen++ == 0) first = a;
    adjacent &= a == first + seen - 1;
  }
  if (!adjacent) first = 0;
  const Dims x_strides = strides_of(x);
  Dims selection;
  for (size_t a = 0; a < x.shape.size(); ++a) {
    if (indexed[a] >= 0) continue;
    bool before = adjacent && a < first;
    (before ? p.pre : p.post).push_back(x.shape[a]);
    (before ? p.x_pre : p.x_post).push_back(x_strides[a]);
  }
  for (const Dims* part : {&p.pre, &p.common, &p.post})
    for (int64_t n : *part) selection.push_back(n);
  const Dims y_strides = broadcast_strides(y.shape, strides_of(y), selection);
  for (size_t i = 0; i < selection.size(); ++i)
    (i < p.pre.size() ? p.y_pre : i < p.pre.size() + p.common.size() ? p.y_common : p.y_post).push_back(y_strides[i]);
  p.count = numel(p.common);
  p.pre_count = numel(p.pre);
  p.post_count = numel(p.post);
}

IndexPlan make_index_plan(const TensorSpec& x, const TensorSpec& y, std::span<const TensorSpec> indices,
                          size_t first_input) {
  IndexPlan p;
  Dims indexed(x.shape.size(), -1);
  bool any = false;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i].given()) continue;
    p.common = any ? broadcast_shapes(p.common, indices[i].shape) : indices[i].shape;
    any = true;
    indexed[i] = static_cast<int64_t>(i);
  }
  for (size_t i = 0; i < indices.size(); ++i)
    if (indices[i].given())
      p.axes.push_back({first_input + i, indices[i].dtype,
                        broadcast_strides(indices[i].shape, strides_of(indices[i]), p.common), strides_of(x)[i],
                        x.shape[i], static_cast<int64_t>(i)});
  finish(p, x, y, indexed);
  return p;
}

IndexPlan make_index_plan(const TensorSpec& x, const TensorSpec& y, const TensorSpec& index, size_t input, int64_t axis,
                          bool wraps) {
  IndexPlan p;
  p.wraps = wraps;
  Dims indexed(x.shape.size(), -1);
  const size_t a = static_cast<size_t>(axis);
  if (!x.shape.empty()) indexed[a] = 0;
  p.common = index.shape;
  p.axes.push_back({input, index.dtype, strides_of(index), x.shape.empty() ? 0 : strides_of(x)[a],
                    x.shape.empty() ? 1 : x.shape[a], axis});
  finish(p, x, y, indexed);
  return p;
}

/// offsets[begin, end) of one axis; returns an index that is out of range through `bad`.
template <class I>
static bool add_offsets(const IndexPlan& p, const IndexPlan::Axis& axis, const void* data, int64_t* offsets,
                        bool is_first, int64_t begin, int64_t end, int64_t& bad) {
  const I* index = static_cast<const I*>(data);
  const int64_t least = p.wraps ? -axis.size : 0;
  bool good = true;
  int64_t k = begin;
  auto one = [&](int64_t at) {
    int64_t v = static_cast<int64_t>(index[at]);
    if (v < least || v >= axis.size) [[unlikely]] {
      if (good) bad = v;
      good = false;
      v = 0;
    }
    if (v < 0) v += axis.size;
    offsets[k] = (is_first ? 0 : offsets[k]) + v * axis.x_stride;
    ++k;
  };
  if (is_contiguous(p.common, axis.strides)) {
    for (int64_t i = begin; i < end; ++i) one(i);
  } else {
    each<1>(p.common, {axis.strides}, one, begin, end);
  }
  return good;
}

bool index_offsets(const IndexPlan& plan, const KernelArgs& args, int64_t* offsets) {
  for (size_t a = 0; a < plan.axes.size(); ++a) {
    const IndexPlan::Axis& axis = plan.axes[a];
    std::atomic<bool> failed{false};
    std::atomic<int64_t> bad{0};
    parallel_for(plan.count, 16384, [&](int64_t begin, int64_t end) {
      int64_t found = 0;
      const void* data = args.inputs[axis.input];
      bool good = axis.dtype == DType::I32 ? add_offsets<int32_t>(plan, axis, data, offsets, a == 0, begin, end, found)
                                           : add_offsets<int64_t>(plan, axis, data, offsets, a == 0, begin, end, found);
      if (good) return;
      bad = found;
      failed = true;
    });
    if (!failed) continue;
    args.status->report("index %ld is out of range for axis %ld with size %ld", static_cast<long>(bad.load()),
                        static_cast<long>(axis.axis), static_cast<long>(axis.size));
    return false;
  }
  return true;
}

}  // namespace hw
