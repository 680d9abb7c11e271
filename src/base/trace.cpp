// A list of events for each thread, behind a lock that nobody else wants until the end.
#include "base/trace.h"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace hw {

namespace {

struct Recorded {
  std::mutex mutex;
  TraceThread thread;
};

struct Registry {
  std::mutex mutex;
  std::vector<std::shared_ptr<Recorded>> threads;
  std::atomic<int64_t> limit{0};
};

/// Never destroyed: threads may outlive static destructors. A child of fork() gets a new one, whose lock nobody holds.
Registry* g_registry = new Registry;

struct OfThread {
  std::shared_ptr<Recorded> recorded;
  std::string name;
  int64_t memory = 0;
};

OfThread& mine() {
  static thread_local OfThread t;
  return t;
}

Recorded& recorded() {
  OfThread& t = mine();
  if (!t.recorded) {
    t.recorded = std::make_shared<Recorded>();
    t.recorded->thread.id = gettid();
    t.recorded->thread.name = t.name;
    const std::lock_guard guard(g_registry->mutex);
    g_registry->threads.push_back(t.recorded);
  }
  return *t.recorded;
}

/// A forked child records nothing by itself, and shares no list with its parent.
void after_fork() {
  g_trace = 0;
  g_registry = new Registry;
  mine().recorded = nullptr;
}
[[maybe_unused]] const int g_at_fork = pthread_atfork(nullptr, nullptr, &after_fork);

}  // namespace

int64_t trace_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void trace_add(TraceEvent event) {
  Recorded& r = recorded();
  const std::lock_guard guard(r.mutex);
  if (static_cast<int64_t>(r.thread.events.size()) >= g_registry->limit.load(std::memory_order_relaxed)) {
    ++r.thread.dropped;
    return;
  }
  try {
    r.thread.events.push_back(std::move(event));
  } catch (const std::bad_alloc&) {  // what is profiled goes on
    ++r.thread.dropped;
  }
}

void trace_memory(int64_t change, int64_t alive) {
  mine().memory += change;
  if (!tracing(kTraceMemory)) return;
  TraceEvent e;
  e.kind = TraceEvent::Kind::Memory;
  e.begin = e.end = trace_now();
  e.number = alive;
  trace_add(std::move(e));
}

int64_t trace_thread_memory() { return mine().memory; }

void name_thread(std::string_view name) {
  mine().name = name;
  pthread_setname_np(pthread_self(), std::string(name.substr(0, 15)).c_str());
}

void TraceScope::begin(TraceEvent::Kind kind, std::string_view name) {
  new (&event_) TraceEvent;
  on_ = true;
  event_.kind = kind;
  event_.name = name;
  event_.memory = trace_thread_memory();
  event_.begin = trace_now();
}

void TraceScope::end() {
  if (event_.end == 0) event_.end = trace_now();
  event_.memory = trace_thread_memory() - event_.memory;
  if (tracing()) trace_add(std::move(event_));
  event_.~TraceEvent();
}

bool trace_start(uint32_t what, int64_t limit) {
  const std::lock_guard guard(g_registry->mutex);
  if (g_trace.load() != 0) return false;
  for (const auto& r : g_registry->threads) {  // what came after the end of the last one
    const std::lock_guard thread(r->mutex);
    r->thread.events.clear();
    r->thread.dropped = 0;
  }
  g_registry->limit = limit;
  g_trace = what | kTraceOn;
  return true;
}

std::vector<TraceThread> trace_stop() {
  const std::lock_guard guard(g_registry->mutex);
  g_trace = 0;
  std::vector<TraceThread> out;
  for (const auto& r : g_registry->threads) {
    const std::lock_guard thread(r->mutex);
    if (r->thread.events.empty() && r->thread.dropped == 0) continue;
    out.push_back({r->thread.id, r->thread.name, std::move(r->thread.events), std::exchange(r->thread.dropped, 0)});
    r->thread.events = {};
  }
  std::erase_if(g_registry->threads, [](const auto& r) { return r.use_count() == 1; });  // of threads that are gone
  return out;
}

}  // namespace hw
