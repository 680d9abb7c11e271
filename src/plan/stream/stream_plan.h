// The plan of actors as plain data: who fires, on which thread, and which registers lie between them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hw {

/// A thread with a mailbox. Its actors fire one at a time.
struct PlanStream {
  std::string name;
  std::string device = "cpu:0";
  int32_t rank = 0;
  bool ordered = false;  // its actors fire in turns, in the order of the plan; otherwise whoever is ready
};

/// What bytes pass between two places. Its load is counted, its speed is part of the durations of the actors that use it.
struct PlanLink {
  std::string name;
  double bytes_per_second = 0;  // 0: not known
};

struct StreamActor {
  std::string name;
  std::string kind;  // "source", "host", "compute", "copy", "sink": which file of runtime/actors runs it
  int32_t stream = -1;
  double seconds = 0;  // of one firing, estimated or measured
  std::string runs;    // what it runs, for readers: a function, a plan, an operator
  std::string origin;  // the user's line
  int64_t arena_bytes = 0;
  int32_t link = -1;       // into StreamPlan::links
  int64_t link_bytes = 0;  // that a firing sends over it
};

/// `count` copies of a buffer between a producer and its consumers, each of which reads each copy.
struct StreamRegister {
  std::string name;
  int32_t producer = -1;
  std::vector<int32_t> consumers;
  int64_t bytes = 0;    // of one copy
  int32_t count = 1;    // copies
  bool fixed = false;   // choose_register_counts leaves the count as it is
  int32_t initial = 0;  // of them readable before the first firing: what a loop through this register starts with
};

struct StreamPlan {
  std::string name;
  std::vector<PlanStream> streams;
  std::vector<PlanLink> links;
  std::vector<StreamActor> actors;
  std::vector<StreamRegister> registers;
};

/// The first thing that is wrong with its indices and numbers, or empty.
std::string stream_plan_problem(const StreamPlan& plan);

/// As text, one line for each thing, and back. The format carries its version; see stream/text.cpp.
std::string write_stream_plan(const StreamPlan& plan);
/// Throws Error{Value} that names the line.
StreamPlan read_stream_plan(const std::string& text);

}  // namespace hw
