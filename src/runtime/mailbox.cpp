// The mailbox: a list behind a lock.
#include "runtime/mailbox.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace hw {

struct Mailbox::State {
  std::mutex mutex;
  std::condition_variable arrived;
  std::vector<StreamMessage> messages;
};

Mailbox::Mailbox() : state_(std::make_unique<State>()) {}
Mailbox::~Mailbox() = default;

void Mailbox::post(StreamMessage message) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->messages.push_back(std::move(message));
  }
  state_->arrived.notify_one();
}

bool Mailbox::take(std::vector<StreamMessage>& into, double seconds) {
  into.clear();
  std::unique_lock lock(state_->mutex);
  const auto some = [&] { return !state_->messages.empty(); };
  if (seconds < 0)
    state_->arrived.wait(lock, some);
  else if (!some())
    // On the system's clock: ThreadSanitizer does not know the call that waits on the steady one.
    state_->arrived.wait_until(lock,
                               std::chrono::system_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                                                      std::chrono::duration<double>(seconds)),
                               some);
  into.swap(state_->messages);
  return !into.empty();
}

}  // namespace hw
