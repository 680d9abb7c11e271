// Placements as values: boxes, text.
#include "sbp/placement.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace hw {

Interval split_part(Interval range, int64_t parts, int64_t index) {
  const int64_t each = range.size() / parts, more = range.size() % parts;
  const int64_t begin = range.begin + index * each + std::min(index, more);
  return {begin, begin + each + (index < more)};
}

Box intersection(const Box& a, const Box& b) {
  Box out(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    out[i].begin = std::max(a[i].begin, b[i].begin);
    out[i].end = std::max(out[i].begin, std::min(a[i].end, b[i].end));
  }
  return out;
}

bool is_empty(const Box& box) {
  return std::any_of(box.begin(), box.end(), [](const Interval& i) { return i.size() <= 0; });
}

bool Placement::has_partial() const {
  return std::any_of(sbp.begin(), sbp.end(), [](const Sbp& s) { return s.is_partial(); });
}

bool Placement::is_whole() const {
  return std::all_of(sbp.begin(), sbp.end(), [](const Sbp& s) { return s == broadcast(); });
}

Placement make_placement(Mesh mesh, std::vector<Sbp> sbp, int64_t ndim) {
  check(static_cast<int64_t>(sbp.size()) == mesh.ndim(), "the mesh ", mesh, " has ", mesh.ndim(),
        mesh.ndim() == 1 ? " axis, but " : " axes, but ", sbp.size(), " SBP given: ", sbp_text(sbp),
        ". Give one for each axis of the mesh.");
  for (Sbp& s : sbp) {
    if (!s.is_split()) continue;
    check(s.axis >= -ndim && s.axis < ndim, "split(", s.axis, ") needs an axis that a tensor with ", ndim,
          ndim == 1 ? " axis has" : " axes has");
    if (s.axis < 0) s.axis += ndim;
  }
  return {std::move(mesh), std::move(sbp)};
}

Placement whole_on(Mesh mesh) {
  std::vector<Sbp> sbp(mesh.shape.size());
  return {std::move(mesh), std::move(sbp)};
}

Placement without_partial(const Placement& p) {
  Placement out = p;
  for (Sbp& s : out.sbp)
    if (s.is_partial()) s = broadcast();
  return out;
}

Box local_box(const Placement& p, std::span<const int64_t> shape, int64_t position) {
  Box box(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) box[i] = {0, shape[i]};
  const Ints at = p.mesh.coordinates(position);
  for (size_t a = 0; a < p.sbp.size(); ++a)
    if (p.sbp[a].is_split()) {
      Interval& cut = box[static_cast<size_t>(p.sbp[a].axis)];
      cut = split_part(cut, p.mesh.shape[a], at[a]);
    }
  return box;
}

Ints local_shape(const Placement& p, std::span<const int64_t> shape, int64_t position) {
  Ints out;
  for (const Interval& i : local_box(p, shape, position)) out.push_back(i.size());
  return out;
}

std::string sbp_text(std::span<const Sbp> sbp) {
  std::string out = "[";
  for (size_t i = 0; i < sbp.size(); ++i) {
    if (i) out.append(", ");
    append_text(out, sbp[i]);
  }
  return out + "]";
}

void append_text(std::string& out, const Placement& p) {
  append_text(out, p.mesh);
  out.append(" ").append(sbp_text(p.sbp));
}

namespace {

/// Reads from the front of a text.
struct Reader {
  std::string_view rest;
  std::string_view all = rest;

  bool take(std::string_view s) {
    if (!rest.starts_with(s)) return false;
    rest.remove_prefix(s.size());
    return true;
  }
  void expect(std::string_view s) { check(take(s), "'", all, "' is no placement: expected '", s, "' at '", rest, "'"); }
  std::string word() {
    size_t n = 0;
    while (n < rest.size() && (std::isalnum(static_cast<unsigned char>(rest[n])) || rest[n] == '_')) ++n;
    std::string w(rest.substr(0, n));
    rest.remove_prefix(n);
    return w;
  }
  int64_t number() {
    int64_t n = 0;
    auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), n);
    check(error == std::errc{}, "'", all, "' is no placement: expected a number at '", rest, "'");
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    return n;
  }
  Sbp sbp() {
    if (take("S(")) {
      Sbp s = split(number());
      expect(")");
      return s;
    }
    if (take("P(sum)")) return partial_sum();
    if (take("P(max)")) return partial_max();
    if (take("P(min)")) return partial_min();
    expect("B");
    return broadcast();
  }
};

}  // namespace

Placement parse_placement(std::string_view written) {
  Reader r{written};
  std::string device = r.word();
  Ints shape, ranks;
  std::vector<std::string> names;
  r.expect("[");
  do {
    names.push_back(r.word());
    r.expect("=");
    shape.push_back(r.number());
  } while (r.take(", "));
  r.expect("]");
  if (r.take("@")) {
    ranks.push_back(r.number());
    if (r.take(".."))
      for (int64_t last = r.number(); ranks.back() < last;) ranks.push_back(ranks.back() + 1);
    while (r.take(",")) ranks.push_back(r.number());
  }
  Placement p;
  p.mesh = make_mesh(std::move(device), std::move(shape), std::move(names), std::move(ranks));
  r.expect(" [");
  do p.sbp.push_back(r.sbp());
  while (r.take(", "));
  r.expect("]");
  check(r.rest.empty() && p.sbp.size() == p.mesh.shape.size(), "'", written, "' is no placement");
  return p;
}

}  // namespace hw
