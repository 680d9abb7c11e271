// What a plan of actors will do, told before it runs: whether it runs at all, how fast, with how much memory.
#pragma once

#include "plan/stream/marked_graph.h"

namespace hw {

struct StreamAnalysis {
  double step_seconds = 0;  // from one firing to the next of every actor, in the steady state
  CycleRatio
      critical;  // the cycle that takes so long; empty if a stream that is not ordered has more work than any cycle
  int32_t busiest = -1;             // then that stream
  std::vector<double> utilisation;  // by stream: the part of a step in which it works
  std::vector<double> link_bytes;   // by link: in one step
  struct DeviceMemory {
    std::string device;
    int32_t rank = 0;
    int64_t registers = 0, arenas = 0;
  };
  std::vector<DeviceMemory> memory;  // a register lies where its producer runs
};

/// Why the plan may not run: a problem, or a cycle without a token and what to do about it. Empty if it may.
std::string refusal(const StreamPlan& plan);

/// Of a plan that may run; throws Error{Value} with its refusal otherwise.
StreamAnalysis analyse(const StreamPlan& plan);

/// The smallest register counts with the shortest step that `memory_budget` bytes on each device and rank allow (0: any number).
/// Starts at one copy each; along the critical cycle the register of the fewest bytes gets one more, as long as that fits; what did
/// not help is taken back. Fixed registers keep their counts.
/// Throws Error{Value} if even single copies do not fit.
void choose_register_counts(StreamPlan& plan, int64_t memory_budget = 0, int32_t most = 64);

/// The analysis for people.
std::string analysis_text(const StreamPlan& plan, const StreamAnalysis& analysis);

/// What would happen: every firing of every actor, `firings` of each, played event by event on registers and streams.
struct Firing {
  int32_t actor;
  int64_t number;
  int64_t begin, end;  // nanoseconds
};
struct Simulation {
  std::vector<Firing> firings;  // by begin
  std::vector<int32_t> stuck;   // actors that did not reach `firings`
};
Simulation simulate(const StreamPlan& plan, int64_t firings);

}  // namespace hw
