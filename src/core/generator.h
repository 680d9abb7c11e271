// The state of a stream of random numbers: a seed and how many draws were made.
#pragma once

#include <cstdint>

#include "base/ref.h"

namespace hw {

/// One op call is one draw: element i of the op's output uses Philox with key `seed` and counter (i, draw), so the numbers do not
/// depend on threads, strides or devices.
class Generator : public RefCounted {
 public:
  explicit Generator(uint64_t seed = 0) : seed_(seed) {}
  uint64_t seed() const { return seed_; }
  uint64_t draws() const { return draws_; }
  void manual_seed(uint64_t seed) { seed_ = seed, draws_ = 0; }
  void set_state(uint64_t seed, uint64_t draws) { seed_ = seed, draws_ = draws; }
  uint64_t next_draw() { return draws_++; }

 private:
  uint64_t seed_, draws_ = 0;
};

/// The generator of hw.manual_seed, seeded from the system's entropy until then.
Generator& default_generator();

}  // namespace hw
