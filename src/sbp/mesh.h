// A mesh: ranks arranged in a grid with named axes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hw {

using Ints = std::vector<int64_t>;

/// Devices in a grid. A rank is a device of the whole job; a position is its place in this mesh, in row-major order.
struct Mesh {
  std::string device = "cpu";
  Ints shape;
  std::vector<std::string> names;  // one per axis
  Ints ranks;                      // one per position

  int64_t size() const { return static_cast<int64_t>(ranks.size()); }
  int64_t ndim() const { return static_cast<int64_t>(shape.size()); }
  Ints coordinates(int64_t position) const;
  int64_t position_at(std::span<const int64_t> coordinates) const;
  int64_t position_of(int64_t rank) const;       // -1: not in this mesh
  int64_t axis_of(std::string_view name) const;  // throws Error{Value} with the names there are
  /// The ranks whose coordinate on `axis` is `index`, as a mesh of the other axes.
  Mesh part(int64_t axis, int64_t index) const;
  bool operator==(const Mesh&) const = default;
};

/// Checks sizes, names and ranks. No names: "axis0", ...; no ranks: 0, 1, ...
Mesh make_mesh(std::string device, Ints shape, std::vector<std::string> names = {}, Ints ranks = {});

void append_text(std::string& out, const Mesh& mesh);  // "cpu[data=2, model=4]", "cpu[data=2]@4..5"

}  // namespace hw
