// A placement: a mesh and how a tensor lies on each of its axes; which box of the tensor each rank holds.
#pragma once

#include "sbp/mesh.h"
#include "sbp/sbp.h"

namespace hw {

struct Interval {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
  bool operator==(const Interval&) const = default;
};
using Box = std::vector<Interval>;  // one interval per axis of the tensor

/// Part `index` of `parts` parts of a range: the first parts get one more where it does not divide; parts may be empty.
Interval split_part(Interval range, int64_t parts, int64_t index);
Box intersection(const Box& a, const Box& b);
bool is_empty(const Box& box);  // false for the box of a 0-d tensor

struct Placement {
  Mesh mesh;
  std::vector<Sbp> sbp;  // one per axis of the mesh

  bool has_partial() const;
  bool is_whole() const;  // broadcast on every axis
  bool operator==(const Placement&) const = default;
};

/// Checks the number of entries and the split axes of a tensor with `ndim` axes; negative axes are counted from the end.
Placement make_placement(Mesh mesh, std::vector<Sbp> sbp, int64_t ndim);
Placement whole_on(Mesh mesh);
/// Partial axes become broadcast: where gradients and copies of a partial tensor lie.
Placement without_partial(const Placement& p);

/// What the rank at `position` holds. An axis that several mesh axes split is cut by the first of them, then by the next.
Box local_box(const Placement& p, std::span<const int64_t> shape, int64_t position);
Ints local_shape(const Placement& p, std::span<const int64_t> shape, int64_t position);

std::string sbp_text(std::span<const Sbp> sbp);          // "[S(0), B]"
void append_text(std::string& out, const Placement& p);  // "cpu[data=2, model=2] [S(0), B]"
Placement parse_placement(std::string_view text);        // reads what append_text wrote

}  // namespace hw
