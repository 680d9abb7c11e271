// Sessions with threads, cores and memory of the caller's; what every function says of arguments that are not there; idle threads.
#include <gtest/gtest.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>
#include <vector>

#include "base/team_scope.h"
#include "base/thread_team.h"
#include "infer/headwater_infer.h"
#include "infer/headwater_infer.hpp"
#include "plan/sample_frozen.h"

namespace hw {

namespace {

std::vector<int32_t> usable() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int32_t> out;
  for (int32_t c = 0; c < CPU_SETSIZE; ++c)
    if (CPU_ISSET(static_cast<size_t>(c), &set)) out.push_back(c);
  return out;
}

struct Team : testing::Test {
  Team() : file(write_frozen(sample_frozen())), model(file.data(), file.size()) {}
  std::string file;
  headwater_infer::Model model;
  const float row[4] = {1, 1, 1, 5};
  const std::vector<int32_t> all = usable();
};

TEST_F(Team, SessionsRunOnTheirTeams) {
  headwater_infer::Session session(model);
  session.input("x", row, {1, 4});
  session.team(2, {all.back()});
  session.run();
  EXPECT_EQ(session.result<float>("y")[0], 2);
  EXPECT_EQ(usable(), all);
  session.team(0);
  EXPECT_EQ(hwi_session_result(session.get(), 0, nullptr, nullptr), HWI_INVALID);  // gone
  session.run();
  EXPECT_EQ(session.result<float>("y")[2], 4);
  for (int32_t threads : {-1, 1025}) EXPECT_EQ(hwi_session_team(session.get(), threads, nullptr, 0), HWI_INVALID);
  const int32_t far = 100000;
  EXPECT_EQ(hwi_session_team(session.get(), 1, &far, 1), HWI_INVALID);
  EXPECT_STREQ(hwi_error(), "core 100000 is none that this process may use");
  EXPECT_EQ(hwi_session_team(session.get(), 1, nullptr, 1), HWI_INVALID);
  session.run();  // as before the mistakes
}

struct Counted {
  std::map<void*, size_t> live;
  int calls = 0;
  size_t most = SIZE_MAX, shift = 0;
  hwi_allocator functions() {
    return {this,
            [](void* context, size_t bytes, size_t alignment) -> void* {
              auto& c = *static_cast<Counted*>(context);
              ++c.calls;
              if (bytes > c.most) return nullptr;
              void* p = std::aligned_alloc(alignment, (bytes + 2 * alignment) / alignment * alignment);
              p = static_cast<char*>(p) + c.shift;
              c.live[p] = bytes;
              return p;
            },
            [](void* context, void* data, size_t bytes) {
              auto& c = *static_cast<Counted*>(context);
              EXPECT_EQ(c.live.at(data), bytes);
              c.live.erase(data);
              std::free(static_cast<char*>(data) - c.shift);
            }};
  }
};

TEST_F(Team, MemoryComesFromTheAllocatorGiven) {
  Counted counted;
  const void* result = nullptr;
  {
    headwater_infer::Memory memory(counted.functions());
    headwater_infer::Session a(model, memory), b(model, memory);
    for (headwater_infer::Session* s : {&a, &b}) {
      s->input("x", row, {1, 4});
      s->run();
    }
    EXPECT_EQ(counted.live.size(), 3u);  // working memory, and an output each
    EXPECT_EQ(hwi_session_result(b.get(), 0, &result, nullptr), HWI_OK);
    EXPECT_TRUE(counted.live.contains(const_cast<void*>(result)));
    const int calls = counted.calls;
    a.run();
    EXPECT_EQ(counted.calls, calls);
  }
  EXPECT_TRUE(counted.live.empty());
}

TEST_F(Team, AnAllocatorMayFail) {
  Counted counted;
  counted.most = 0;
  {
    headwater_infer::Memory memory(counted.functions());
    headwater_infer::Session session(model, memory);
    session.input("x", row, {1, 4});
    EXPECT_EQ(hwi_session_run(session.get()), HWI_NO_MEMORY);
    EXPECT_STREQ(hwi_error(), "the allocator given has no 16 bytes");
    counted.most = SIZE_MAX;
    counted.shift = 8;
    EXPECT_EQ(hwi_session_run(session.get()), HWI_INVALID);
    EXPECT_STREQ(hwi_error(), "the allocator given returned memory that is not at a multiple of 64");
    counted.shift = 0;
    session.run();
  }
  EXPECT_TRUE(counted.live.empty());
  hwi_memory* memory = nullptr;
  const hwi_allocator half{nullptr, counted.functions().allocate, nullptr};
  EXPECT_EQ(hwi_memory_create_with(&half, &memory), HWI_INVALID);
  EXPECT_EQ(hwi_memory_create_with(nullptr, &memory), HWI_INVALID);
}

TEST_F(Team, EveryFunctionHasWordsForMissingArguments) {
  hwi_spec spec;
  hwi_session* session = nullptr;
  const auto words = [](bool failed) {
    const bool said = failed && *hwi_error();
    hwi_session_run(nullptr);  // other words, so that the next function's are its own
    return said;
  };
  const std::string other = (hwi_session_run(nullptr), hwi_error());
  EXPECT_TRUE(words(hwi_model_load(nullptr, nullptr) == HWI_INVALID));
  EXPECT_TRUE(words(hwi_model_load_memory("x", 1, nullptr) == HWI_INVALID));
  EXPECT_TRUE(words(hwi_model_input_spec(nullptr, 0, 0, &spec) == HWI_INVALID));
  EXPECT_TRUE(words(hwi_model_output_spec(model.get(), 9, 0, &spec) == HWI_INVALID));
  EXPECT_TRUE(words(hwi_model_check_data(nullptr) == HWI_INVALID));
  EXPECT_TRUE(words(hwi_model_check(nullptr, 1, nullptr) == HWI_INVALID));
  EXPECT_TRUE(words(hwi_memory_create(nullptr) == HWI_INVALID));
  EXPECT_TRUE(words(hwi_session_create(nullptr, nullptr, &session) == HWI_INVALID));
  EXPECT_TRUE(words(hwi_session_team(nullptr, 1, nullptr, 0) == HWI_INVALID));
  EXPECT_TRUE(words(hwi_session_input(nullptr, 0, row, HWI_F32, 0, nullptr) == HWI_INVALID));
  EXPECT_TRUE(words(hwi_session_input_by_name(nullptr, "x", row, HWI_F32, 0, nullptr) == HWI_INVALID));
  EXPECT_TRUE(words(hwi_session_output(nullptr, 0, nullptr, 0) == HWI_INVALID));
  EXPECT_TRUE(words(hwi_session_run_async(nullptr, nullptr, nullptr) == HWI_INVALID));
  EXPECT_TRUE(words(hwi_session_wait(nullptr) == HWI_INVALID));
  EXPECT_TRUE(words(hwi_session_result(nullptr, 0, nullptr, nullptr) == HWI_INVALID));
  EXPECT_TRUE(words(hwi_session_result_by_name(nullptr, "y", nullptr, nullptr) == HWI_INVALID));
  EXPECT_EQ(hwi_model_name(nullptr), nullptr);
  EXPECT_NE(hwi_error(), other);
  EXPECT_EQ(hwi_model_note(model.get(), nullptr), nullptr);
  EXPECT_STREQ(hwi_error(), "the key is null");
  EXPECT_EQ(hwi_model_input_name(model.get(), -1), nullptr);
  EXPECT_STREQ(hwi_error(), "the model has 1 inputs, there is no input -1");
  for (auto* count : {hwi_model_inputs, hwi_model_outputs, hwi_model_forms}) EXPECT_EQ(count(nullptr), 0);
}

double processor_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Processor time, not time: how busy the machine is does not matter.
TEST_F(Team, IdleThreadsUseNoProcessorTime) {
  headwater_infer::Session session(model);
  session.input("x", row, {1, 4});
  session.team(2);
  ASSERT_EQ(hwi_session_run_async(session.get(), nullptr, nullptr), HWI_OK);
  ASSERT_EQ(hwi_session_wait(session.get()), HWI_OK);
  std::atomic<int> pieces = 0;
  {
    const TeamScope scope(2, {});
    parallel_for(2, 1, [&](int64_t, int64_t) { ++pieces; });
  }
  EXPECT_EQ(pieces, 2);
  usleep(100000);  // OpenMP's threads turn a while before they sleep
  const double before = processor_seconds();
  usleep(300000);
  EXPECT_LT(processor_seconds() - before, 0.01);
}

}  // namespace

}  // namespace hw
