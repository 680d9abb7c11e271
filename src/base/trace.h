// What is recorded while somebody profiles: who did what from when to when, on every thread. While nobody does it costs a branch.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hw {

struct TraceEvent {
  enum class Kind : uint8_t {
    Op,        // an operator ran: eager mode
    Backward,  // a node of the tape: the operators inside are its gradient's
    Program,   // a compiled program, and
    Step,      // a kernel of it
    Actor,     // a firing: `id` is the run, `number` the firing
    Range,     // what the user named
    Memory,    // `number` bytes of tensors are alive at `begin`
    Begin,     // something that goes on beside the threads began: a message, a collective; `id` is what ends it,
    End        // `number` its bytes, from, to and tag those of a message
  };
  Kind kind = Kind::Range;
  int32_t from = -1, to = -1, tag = -1;
  int64_t begin = 0, end = 0;  // nanoseconds of the steady clock, which all processes of a machine share
  uint64_t id = 0;
  int64_t number = 0;
  int64_t memory = 0;  // bytes that the thread allocated in it, less those it freed
  double flops = 0;
  std::string name, detail, origin;  // detail: inputs, kernel; origin: the user's line
};

/// What to record beside names and times.
enum TraceWhat : uint32_t { kTraceOn = 1, kTraceShapes = 2, kTraceOrigins = 4, kTraceMemory = 8, kTraceFlops = 16 };

inline std::atomic<uint32_t> g_trace{0};
/// Whether anything is recorded; ask this first, on every path.
inline bool tracing() { return g_trace.load(std::memory_order_relaxed) != 0; }
inline bool tracing(TraceWhat what) { return (g_trace.load(std::memory_order_relaxed) & what) != 0; }

int64_t trace_now();
void trace_add(TraceEvent event);
/// `change` bytes were allocated (or freed) by this thread; `alive` are in use now.
void trace_memory(int64_t change, int64_t alive);
/// The sum of the changes of this thread.
int64_t trace_thread_memory();
/// What this thread is called in traces and in the system's tools.
void name_thread(std::string_view name);

/// Records from its making to its end, unless nothing was recorded when it was made.
class TraceScope {
 public:
  explicit TraceScope(TraceEvent::Kind kind, std::string_view name = {}) {
    if (tracing()) [[unlikely]]
      begin(kind, name);
  }
  ~TraceScope() {
    if (on_) [[unlikely]]
      end();
  }
  TraceScope(const TraceScope&) = delete;
  /// To be filled in, while it is recorded; otherwise null. An `end` that is set stays.
  TraceEvent* event() { return on_ ? &event_ : nullptr; }

 private:
  void begin(TraceEvent::Kind kind, std::string_view name);
  void end();

  bool on_ = false;
  union {
    TraceEvent event_;  // lives while on_
  };
};

struct TraceThread {
  int64_t id = 0;  // the system's
  std::string name;
  std::vector<TraceEvent> events;
  int64_t dropped = 0;  // past the limit
};
/// False if somebody records already. `limit`: events that a thread keeps.
bool trace_start(uint32_t what, int64_t limit);
/// Ends it; what every thread recorded.
std::vector<TraceThread> trace_stop();

}  // namespace hw
