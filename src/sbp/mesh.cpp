// Meshes as values.
#include "sbp/mesh.h"

#include <algorithm>
#include <set>

#include "base/error.h"

namespace hw {

Ints Mesh::coordinates(int64_t position) const {
  Ints at(shape.size());
  for (size_t a = shape.size(); a-- > 0; position /= shape[a]) at[a] = position % shape[a];
  return at;
}

int64_t Mesh::position_at(std::span<const int64_t> coordinates) const {
  int64_t position = 0;
  for (size_t a = 0; a < shape.size(); ++a) position = position * shape[a] + coordinates[a];
  return position;
}

int64_t Mesh::position_of(int64_t rank) const {
  auto it = std::find(ranks.begin(), ranks.end(), rank);
  return it == ranks.end() ? -1 : it - ranks.begin();
}

int64_t Mesh::axis_of(std::string_view name) const {
  for (size_t a = 0; a < names.size(); ++a)
    if (names[a] == name) return static_cast<int64_t>(a);
  fail(ErrorKind::Value, "the mesh ", *this, " has no axis '", name, "'");
}

Mesh Mesh::part(int64_t axis, int64_t index) const {
  check_index(axis >= 0 && axis < ndim(), "axis ", axis, " is not one of the ", ndim(), " axes of ", *this);
  const size_t cut = static_cast<size_t>(axis);
  check_index(index >= 0 && index < shape[cut], "index ", index, " is out of range for axis '", names[cut], "' of ",
              *this);
  Mesh m;
  m.device = device;
  for (size_t a = 0; a < shape.size(); ++a)
    if (a != cut) m.shape.push_back(shape[a]), m.names.push_back(names[a]);
  if (m.shape.empty()) m.shape.push_back(1), m.names.push_back(names[cut]);
  for (int64_t p = 0; p < size(); ++p)
    if (coordinates(p)[cut] == index) m.ranks.push_back(ranks[static_cast<size_t>(p)]);
  return m;
}

static bool is_word(const std::string& s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

Mesh make_mesh(std::string device, Ints shape, std::vector<std::string> names, Ints ranks) {
  Mesh m{std::move(device), std::move(shape), std::move(names), std::move(ranks)};
  check(m.device == "cpu" || m.device == "meta", "a mesh is made of 'cpu' or 'meta' devices, got '", m.device, "'");
  check(!m.shape.empty(), "a mesh needs at least one axis");
  int64_t size = 1;
  for (int64_t n : m.shape) {
    check(n > 0, "the axes of a mesh have at least one rank each, got ", n);
    check(!__builtin_mul_overflow(size, n, &size) && size <= 1 << 20, "a mesh has at most 2^20 ranks");
  }
  if (m.names.empty())
    for (int64_t a = 0; a < m.ndim(); ++a) m.names.push_back(text("axis", a));
  check(m.names.size() == m.shape.size(), "the mesh has ", m.ndim(), " axes, but ", m.names.size(), " names");
  for (const std::string& n : m.names) check(is_word(n), "'", n, "' cannot name an axis: letters, digits and _ only");
  check(std::set<std::string>(m.names.begin(), m.names.end()).size() == m.names.size(), "two axes have one name");
  if (m.ranks.empty())
    for (int64_t r = 0; r < size; ++r) m.ranks.push_back(r);
  check(m.size() == size, "the mesh has ", size, " places, but ", m.size(), " ranks");
  for (int64_t r : m.ranks) check(r >= 0, "a rank cannot be negative, got ", r);
  check(std::set<int64_t>(m.ranks.begin(), m.ranks.end()).size() == m.ranks.size(), "a rank appears twice in the mesh");
  return m;
}

void append_text(std::string& out, const Mesh& m) {
  out.append(m.device).append("[");
  for (size_t a = 0; a < m.shape.size(); ++a) {
    if (a) out.append(", ");
    out.append(text(m.names[a], "=", m.shape[a]));
  }
  out.append("]");
  bool row = true;
  for (int64_t i = 0; i < m.size(); ++i) row = row && m.ranks[static_cast<size_t>(i)] == m.ranks[0] + i;
  if (row && !m.ranks.empty() && m.ranks[0] == 0) return;
  out.append("@");
  if (row) return out.append(text(m.ranks[0], "..", m.ranks.back())), void();
  for (size_t i = 0; i < m.ranks.size(); ++i) out.append(text(i ? "," : "", m.ranks[i]));
}

}  // namespace hw
