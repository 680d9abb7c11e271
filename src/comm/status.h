// Status: how a message or a collective ended, as a value that may cross threads and ranks.
#pragma once

#include <cstdint>
#include <string>

namespace hw {

struct Status {
  /// Mismatch: the two sides disagree (sizes, a rank outside of the group). Timeout: nobody answered in time. Aborted: some
  /// rank gave up, `message` is the first cause. Unavailable: the engine is not there. Failed: the engine reported an error.
  enum class Code : uint8_t { Ok, Mismatch, Timeout, Aborted, Unavailable, Failed };
  Code code = Code::Ok;
  std::string message;

  bool ok() const { return code == Code::Ok; }
};

/// Throws Error{Runtime} with the message unless `status` is Ok. On the thread that wants exceptions, never on the engine's.
void throw_unless_ok(const Status& status);

}  // namespace hw
