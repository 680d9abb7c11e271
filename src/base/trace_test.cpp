// Recording: nothing when off, all threads when on, scopes that outlast the end.
#include "base/trace.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace hw {
namespace {

using Kind = TraceEvent::Kind;

void range(const char* name) { const TraceScope scope(Kind::Range, name); }

TEST(Trace, NothingIsRecordedWhenOff) {
  range("before");
  ASSERT_TRUE(trace_start(kTraceOn, 100));
  EXPECT_FALSE(trace_start(kTraceOn, 100));  // one at a time
  range("inside");
  const std::vector<TraceThread> threads = trace_stop();
  range("after");
  ASSERT_EQ(threads.size(), 1u);
  ASSERT_EQ(threads[0].events.size(), 1u);
  EXPECT_EQ(threads[0].events[0].name, "inside");
  EXPECT_LE(threads[0].events[0].begin, threads[0].events[0].end);
  EXPECT_EQ(threads[0].id, gettid());
  EXPECT_TRUE(trace_stop().empty());
}

TEST(Trace, EveryThreadHasItsListEvenAfterItsEnd) {
  ASSERT_TRUE(trace_start(kTraceOn | kTraceMemory, 100));
  range("main");
  std::thread([] {
    name_thread("a worker with a long name");
    TraceScope outer(Kind::Op, "outer");
    outer.event()->detail = "f32[2]";
    trace_memory(64, 640);
    range("inner");
  }).join();
  const std::vector<TraceThread> threads = trace_stop();
  ASSERT_EQ(threads.size(), 2u);
  EXPECT_EQ(threads[1].name, "a worker with a long name");
  ASSERT_EQ(threads[1].events.size(), 3u);
  EXPECT_EQ(threads[1].events[0].number, 640);
  const TraceEvent &inner = threads[1].events[1], &outer = threads[1].events[2];
  EXPECT_EQ(outer.detail, "f32[2]");
  EXPECT_EQ(outer.memory, 64);
  EXPECT_LE(outer.begin, inner.begin);
  EXPECT_LE(inner.end, outer.end);
}

TEST(Trace, AScopeThatOutlastsTheRecordingIsDropped) {
  ASSERT_TRUE(trace_start(kTraceOn, 2));
  {
    const TraceScope late(Kind::Range, "late");
    for (int i = 0; i < 5; ++i) range("many");
    const std::vector<TraceThread> threads = trace_stop();
    EXPECT_EQ(threads[0].events.size(), 2u);
    EXPECT_EQ(threads[0].dropped, 3);
  }
  ASSERT_TRUE(trace_start(kTraceOn, 10));
  EXPECT_TRUE(trace_stop().empty());
}

TEST(Trace, AForkedChildRecordsNothing) {
  ASSERT_TRUE(trace_start(kTraceOn, 10));
  const pid_t child = fork();
  if (child == 0) _exit(tracing() ? 1 : trace_start(kTraceOn, 10) && trace_stop().empty() ? 0 : 2);
  int status = -1;
  waitpid(child, &status, 0);
  trace_stop();
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace hw
