// A thread, a lock, and what to do next.
#include "infer/worker.h"

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

namespace hw::infer {

struct Worker::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::thread thread;
  Job job = nullptr;
  void* context = nullptr;
  bool ending = false;

  void loop() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return job || ending; });
      if (!job) return;
      lock.unlock();
      job(context);
      lock.lock();
      job = nullptr;
      changed.notify_all();
    }
  }
};

Worker::Worker() : state_(std::make_unique<State>()) {}

Worker::~Worker() {
  State& s = *state_;
  if (!s.thread.joinable()) return;
  {
    const std::lock_guard lock(s.mutex);
    s.ending = true;
  }
  s.changed.notify_all();
  s.thread.join();
}

bool Worker::start(Job job, void* context) {
  State& s = *state_;
  std::unique_lock lock(s.mutex);
  if (!s.thread.joinable()) {
    try {
      s.thread = std::thread([&s] { s.loop(); });
    } catch (const std::system_error&) {
      return false;
    }
  }
  s.changed.wait(lock, [&] { return !s.job; });
  s.job = job;
  s.context = context;
  s.changed.notify_all();
  return true;
}

void Worker::wait() {
  State& s = *state_;
  std::unique_lock lock(s.mutex);
  if (s.thread.get_id() == std::this_thread::get_id()) return;
  s.changed.wait(lock, [&] { return !s.job; });
}

}  // namespace hw::infer
