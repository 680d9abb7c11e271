// A plan of actors at work: threads, and what the caller may ask while they run.
#pragma once

#include "runtime/stream.h"

namespace hw {

struct RunOptions {
  int64_t most_firings = -1;  // of each actor; -1: until the sources end
  double timeout =
      0;  // seconds without the end of any firing after which the run fails; 0: none. Seen by wait() and next()
  bool record = false;         // every firing
  int32_t caller_stream = -1;  // has no thread: the caller's runs it, in next()
};

/// Starts at once. Not thread-safe: one caller at a time, except stop().
class StreamRun {
 public:
  /// Checks the plan; throws Error{Value} with its refusal, or if an actor's kind or binding does not fit.
  StreamRun(StreamPlan plan, const std::vector<ActorBinding>& bindings, RunOptions options = {});
  /// Stops and joins. Behaviours must return: a thread cannot be ended from outside.
  ~StreamRun();
  StreamRun(const StreamRun&) = delete;

  enum class State : uint8_t { Running, Item, Finished, Stopped, Failed };
  /// Waits for the end, at most `seconds`: Running if it has not come by then.
  State wait(double seconds);
  /// Runs the caller's stream until its outlet has something (Item), it is over, or the seconds are. take() gives what it has.
  State next(double seconds);
  std::vector<Payload> take();

  /// Asks all streams to end after the firing they are at. From any thread.
  void stop();
  /// Waits for the streams after stop(), at most `seconds`, and lets go of all values and of the fault's cause. False if some are in a firing still.
  bool join(double seconds);
  /// Leaves threads that do not return to themselves: they end after their firing. For callers that must not wait.
  void abandon();
  /// "'load' is in its firing 3 for 2.5 s", for each actor at work.
  std::string at_work() const;
  uint64_t id() const { return board_->id(); }  // of TraceEvent
  const Fault* fault() const { return board_->fault(); }

  struct ActorStats {
    int64_t fired;
    double busy_seconds;
  };
  struct RegisterStats {
    int64_t most_held, messages;
  };
  std::vector<ActorStats> actor_stats() const;
  std::vector<RegisterStats> register_stats() const;
  std::vector<FiringRecord> records() const { return board_->records(); }  // after the end
  const StreamPlan& plan() const { return board_->plan(); }
  double seconds() const { return static_cast<double>(board_->now()) / 1e9; }

 private:
  struct Threads;
  State ended() const;
  bool timed_out();
  void end_caller();

  std::shared_ptr<Board> board_;
  RunOptions options_;
  std::unique_ptr<Threads> threads_;
  Ref<Behaviour> outlet_;
  std::unique_ptr<Stream> caller_;
  int64_t seen_firings_ = -1, seen_at_ = 0;
};

}  // namespace hw
