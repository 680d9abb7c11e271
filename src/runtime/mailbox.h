// A stream's mailbox: what other streams and the caller tell it.
#pragma once

#include <memory>
#include <vector>

#include "runtime/behaviour.h"

namespace hw {

struct StreamMessage {
  enum class Kind : uint8_t {
    Readable,  // input `port` of `actor` has one more: `value`, in copy `copy` of its register
    Free,      // consumer `consumer` has read copy `copy` of output `port` of `actor`
    End,       // nothing more comes to input `port`
    Leave,     // consumer `consumer` of output `port` reads no more
    Stop       // end now, whatever is under way; the cause is with the run
  };
  Kind kind = Kind::Stop;
  int32_t actor = -1, port = -1, copy = -1, consumer = -1;
  Payload value{};
};

/// Any thread posts, one takes.
class Mailbox {
 public:
  Mailbox();
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  void post(StreamMessage message);
  /// Replaces `into` by all that is there, in the order in which it was posted; waits for something, at most `seconds` (negative:
  /// for ever). False if nothing came.
  bool take(std::vector<StreamMessage>& into, double seconds);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hw
