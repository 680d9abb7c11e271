// Split, broadcast and partial: how one global tensor lies on the ranks of one mesh axis.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hw {

/// split(axis): each rank holds a slice. broadcast: each rank holds the whole. partial: the whole is the sum (or max, min) of
/// what the ranks hold.
struct Sbp {
  enum class Kind : uint8_t { Split, Broadcast, PartialSum, PartialMax, PartialMin };
  Kind kind = Kind::Broadcast;
  int64_t axis = 0;  // for Split

  bool is_split() const { return kind == Kind::Split; }
  bool is_partial() const { return kind >= Kind::PartialSum; }
  bool operator==(const Sbp&) const = default;
};

inline Sbp split(int64_t axis) { return {Sbp::Kind::Split, axis}; }
inline Sbp broadcast() { return {}; }
inline Sbp partial_sum() { return {Sbp::Kind::PartialSum, 0}; }
inline Sbp partial_max() { return {Sbp::Kind::PartialMax, 0}; }
inline Sbp partial_min() { return {Sbp::Kind::PartialMin, 0}; }

/// One legal way to run an op on the ranks of a mesh axis without communication.
struct SbpSignature {
  std::vector<Sbp> inputs, outputs;
  bool operator==(const SbpSignature&) const = default;
};

void append_text(std::string& out, const Sbp& sbp);                 // "S(0)", "B", "P(sum)"
void append_text(std::string& out, const SbpSignature& signature);  // "S(0), B -> S(0)"

}  // namespace hw
