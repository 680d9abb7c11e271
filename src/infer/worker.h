// A thread of a session that runs one job after the other; it sleeps in between.
#pragma once

#include <memory>

namespace hw::infer {

class Worker {
 public:
  using Job = void (*)(void* context);
  Worker();
  ~Worker();  // ends what was started
  Worker(const Worker&) = delete;

  /// Waits for the job before, then starts this one. False: the system gives no thread.
  bool start(Job job, void* context);
  /// Until the job that was started last has ended. From inside a job it returns at once.
  void wait();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hw::infer
