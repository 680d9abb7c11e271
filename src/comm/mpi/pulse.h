// Pulse: who has not been heard of for too long. MPI itself waits for ever for a host that is gone.
#pragma once

#include <cstddef>
#include <vector>

namespace hw {

/// Times are seconds of any steady clock. Each rank is to beat() every `kEvery` seconds.
class Pulse {
 public:
  static constexpr double kEvery = 0.5;

  /// Ranks that are silent for `limit` seconds count as lost; 0: never.
  void start(int rank, int size, double limit, double now) {
    limit_ = limit;
    asked_ = now;
    beaten_ = now - kEvery;
    heard_.assign(static_cast<size_t>(size), now);
    watched_.assign(static_cast<size_t>(size), size > 1 && limit > 0);
    watched_[static_cast<size_t>(rank)] = false;
  }
  bool on() const { return limit_ > 0 && heard_.size() > 1; }
  double limit() const { return limit_; }
  void heard(int rank, double now) { heard_[static_cast<size_t>(rank)] = now; }
  /// It ends, and will be silent.
  void left(int rank) { watched_[static_cast<size_t>(rank)] = false; }

  /// Whether it is time to beat.
  bool due(double now) {
    if (now - beaten_ < kEvery) return false;
    beaten_ = now;
    return true;
  }
  /// A rank that is lost, or -1. Who was not asked for long was itself stopped, and knows nothing of the others.
  int lost(double now) {
    if (now - asked_ > limit_ / 2) heard_.assign(heard_.size(), now);
    asked_ = now;
    for (size_t r = 0; r < heard_.size(); ++r)
      if (watched_[r] && now - heard_[r] > limit_) return static_cast<int>(r);
    return -1;
  }

 private:
  double limit_ = 0, asked_ = 0, beaten_ = 0;
  std::vector<double> heard_;
  std::vector<char> watched_;
};

}  // namespace hw
