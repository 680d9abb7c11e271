// In a pruned runtime, in place of base/trace.h: nothing is recorded. `headwater prune` writes it under that name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hw {

struct TraceEvent {
  enum class Kind : uint8_t { Program, Step };
  int64_t end = 0, number = 0;
  std::string name, detail, origin;
};

constexpr bool tracing() { return false; }
inline int64_t trace_now() { return 0; }
inline void trace_memory(int64_t, int64_t) {}

class TraceScope {
 public:
  explicit TraceScope(TraceEvent::Kind, std::string_view = {}) {}
  static TraceEvent* event() { return nullptr; }
};

}  // namespace hw
