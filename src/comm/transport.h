// Transport: moves bytes between two ranks. What an engine needs of inproc, MPI or another library; collectives are built on it.
#pragma once

#include <vector>

#include "comm/status.h"

namespace hw {

struct Message {
  /// Messages of users and those of collectives never meet.
  enum class Channel : uint8_t { User, Collective };
  uint64_t id = 0;  // chosen by the engine, never used twice
  Channel channel = Channel::User;
  bool sends = false;
  void* data = nullptr;
  size_t bytes = 0;
  int peer = 0, tag = 0;
};

struct Delivered {
  uint64_t id;
  Status status;
};

/// Calls come from one thread at a time.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int max_tag() const = 0;
  /// Starts it. Messages of one sender, receiver, channel and tag are matched in the order of these calls.
  virtual void post(const Message& message) = 0;
  /// Appends what has been delivered since.
  virtual void poll(std::vector<Delivered>& out) = 0;
  /// Whether news arrive only when somebody polls; else wake(context) tells of them, from any thread.
  virtual bool must_be_polled() const = 0;
  virtual void on_news(void (*wake)(void*), void* context) = 0;
  /// Gives up: tells the other ranks, and lets go of all buffers before it returns.
  virtual void abort(const std::string& cause) = 0;
  /// Asked from time to time after an abort, so that the others see that this rank lives.
  virtual void keep_alive() {}
  /// After an abort, by all ranks: waits until all of them are here, at most `seconds`, and works as if it were new.
  virtual Status renew(double seconds) = 0;
  /// The first cause of any rank, or Ok. Any thread.
  virtual Status aborted() const = 0;
};

}  // namespace hw
