// What the streams of a run share.
#include "runtime/board.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace hw {

struct Board::State {
  mutable std::mutex mutex;
  std::condition_variable ended;
  std::unique_ptr<Fault> fault;
  std::vector<FiringRecord> records;
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
};

static std::atomic<uint64_t> g_last_id{0};

Board::Board(StreamPlan plan)
    : plan_(std::move(plan)),
      id_(++g_last_id),
      actors_(plan_.actors.size()),
      registers_(plan_.registers.size()),
      actors_left_(static_cast<int>(plan_.actors.size())),
      state_(std::make_unique<State>()) {
  for (size_t s = 0; s < plan_.streams.size(); ++s) mailboxes_.push_back(std::make_unique<Mailbox>());
  for (size_t r = 0; r < plan_.registers.size(); ++r) {
    registers_[r].held = plan_.registers[r].initial;
    registers_[r].most_held = plan_.registers[r].initial;
  }
}

Board::~Board() = default;

void Board::post_to(int32_t actor, StreamMessage message) {
  message.actor = actor;
  mailbox(plan_.actors[static_cast<size_t>(actor)].stream).post(std::move(message));
}

void Board::stop() {
  if (stopping_.exchange(true, std::memory_order_acq_rel)) return;
  for (const auto& mailbox : mailboxes_) mailbox->post({StreamMessage::Kind::Stop});
}

void Board::fail(Fault fault) {
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->fault && !stopping()) state_->fault = std::make_unique<Fault>(std::move(fault));
  }
  stop();
}

const Fault* Board::fault() const {
  const std::lock_guard lock(state_->mutex);
  return state_->fault.get();
}

void Board::stream_ended() {
  {
    const std::lock_guard lock(state_->mutex);
    streams_left_.fetch_sub(1, std::memory_order_acq_rel);
  }
  state_->ended.notify_all();
}

bool Board::wait(double seconds) {
  std::unique_lock lock(state_->mutex);
  const auto until = std::chrono::system_clock::now() +
                     std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
  return state_->ended.wait_until(lock, until, [&] { return streams_left() == 0; });
}

void Board::forget_values() {
  std::vector<StreamMessage> messages;
  for (const auto& mailbox : mailboxes_) mailbox->take(messages, 0);
  Payload cause;  // dies without the lock
  const std::lock_guard lock(state_->mutex);
  if (state_->fault) std::swap(cause, state_->fault->cause);
}

int64_t Board::now() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - state_->began).count();
}

void Board::add_records(std::vector<FiringRecord> records) {
  const std::lock_guard lock(state_->mutex);
  state_->records.insert(state_->records.end(), records.begin(), records.end());
}

std::vector<FiringRecord> Board::records() const {
  const std::lock_guard lock(state_->mutex);
  return state_->records;
}

}  // namespace hw
