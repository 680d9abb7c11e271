// What the streams of a run share: who has ended, the first fault, counters. Everything else they tell each other by messages.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "runtime/mailbox.h"

namespace hw {

/// When a firing began and ended, in nanoseconds since the run began.
struct FiringRecord {
  int32_t actor;
  int64_t number, begin, end;
};

class Board {
 public:
  explicit Board(StreamPlan plan);
  ~Board();
  Board(const Board&) = delete;

  const StreamPlan& plan() const { return plan_; }
  Mailbox& mailbox(int32_t stream) { return *mailboxes_[static_cast<size_t>(stream)]; }
  void post_to(int32_t actor, StreamMessage message);

  /// Tells every stream to end. The first fault stays; a stop without one is no fault.
  void stop();
  void fail(Fault fault);
  bool stopping() const { return stopping_.load(std::memory_order_acquire); }
  /// Null if there is none. The fault does not change once it is there.
  const Fault* fault() const;

  /// Streams say when they are through; actors, when they have ended.
  void stream_ended();
  void actor_ended() { actors_left_.fetch_sub(1, std::memory_order_acq_rel); }
  bool all_actors_ended() const { return actors_left_.load(std::memory_order_acquire) == 0; }
  int streams_left() const { return streams_left_.load(std::memory_order_acquire); }
  void set_streams(int count) { streams_left_.store(count, std::memory_order_release); }
  /// Waits until all streams are through, at most `seconds`.
  bool wait(double seconds);
  /// Lets go of what was sent and not taken, and of the fault's cause. After the streams are through.
  void forget_values();

  struct ActorCounters {
    std::atomic<int64_t> fired{0}, busy{0};  // nanoseconds
    std::atomic<int64_t> began{-1};          // the firing under way, since then; -1: none
  };
  struct RegisterCounters {
    std::atomic<int64_t> held{0}, most_held{0}, messages{0};
  };
  ActorCounters& actor(int32_t i) { return actors_[static_cast<size_t>(i)]; }
  RegisterCounters& reg(int32_t i) { return registers_[static_cast<size_t>(i)]; }
  int64_t firings() const { return firings_.load(std::memory_order_relaxed); }
  void count_firing() { firings_.fetch_add(1, std::memory_order_relaxed); }
  int64_t now() const;                 // nanoseconds since the run began
  uint64_t id() const { return id_; }  // of the run, in traces: never used twice in a process

  /// A stream hands over what it recorded.
  void add_records(std::vector<FiringRecord> records);
  std::vector<FiringRecord> records() const;

 private:
  struct State;
  StreamPlan plan_;
  uint64_t id_;
  std::vector<std::unique_ptr<Mailbox>> mailboxes_;
  std::vector<ActorCounters> actors_;
  std::vector<RegisterCounters> registers_;
  std::atomic<int64_t> firings_{0};
  std::atomic<int> actors_left_, streams_left_{0};
  std::atomic<bool> stopping_{false};
  std::unique_ptr<State> state_;
};

}  // namespace hw
