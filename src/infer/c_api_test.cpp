// The C interface: a run by names and numbers, zero-copy, shapes, several sessions, asynchronous runs, and every mistake as a status.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "infer/headwater_infer.h"
#include "infer/headwater_infer.hpp"
#include "plan/sample_frozen.h"

namespace hw {

namespace {

struct CApi : testing::Test {
  CApi() : file(write_frozen(sample_frozen())), model(file.data(), file.size()) {}
  std::string file;
  headwater_infer::Model model;
  const float row[4] = {1, 1, 1, 5};
  const int64_t one[2] = {1, 4}, two[2] = {2, 4}, three[2] = {3, 4};
};

TEST_F(CApi, TellsWhatIsInside) {
  EXPECT_STREQ(hwi_model_name(model.get()), "sample");
  EXPECT_STREQ(hwi_model_note(model.get(), "labels"), "a b c");
  EXPECT_EQ(hwi_model_note(model.get(), "else"), nullptr);
  EXPECT_EQ(model.inputs(), 1);
  EXPECT_EQ(model.input_name(0), "x");
  EXPECT_EQ(model.output_name(0), "y");
  EXPECT_EQ(hwi_model_output_name(model.get(), 1), nullptr);
  EXPECT_STREQ(hwi_error(), "the model has 1 outputs, there is no output 1");
  EXPECT_EQ(model.forms(), 2);
  const hwi_spec spec = model.output_spec(0, 1);
  EXPECT_EQ(spec.dtype, HWI_F32);
  EXPECT_EQ(spec.ndim, 2);
  EXPECT_EQ(spec.shape[0], 2);
  EXPECT_EQ(spec.bytes, 32u);
  EXPECT_EQ(hwi_model_check_data(model.get()), HWI_OK);
  EXPECT_EQ(model.test(0), 0);
}

TEST_F(CApi, RunsOnBuffersOfTheCaller) {
  headwater_infer::Session session(model);
  session.input("x", row, {1, 4});
  session.run();
  const float want[4] = {2, 0, 4, 1};
  EXPECT_EQ(std::memcmp(session.result<float>("y"), want, 16), 0);
  EXPECT_EQ(session.result<double>("y"), nullptr);
  float mine[8] = {};
  session.output(0, mine, 16);
  session.run();
  EXPECT_EQ(std::memcmp(mine, want, 16), 0);
  const float rows[8] = {1, 1, 1, 5, 0, 0, 0, 0}, both[8] = {2, 0, 4, 1, 1, 0, 3, 0};
  session.input("x", rows, {2, 4});
  EXPECT_EQ(hwi_session_run(session.get()), HWI_INVALID);  // the output's memory is too small now
  EXPECT_NE(std::string(hwi_error()).find("32 bytes; the memory given has 16"), std::string::npos) << hwi_error();
  session.output(0, mine, 32);
  session.run();
  EXPECT_EQ(std::memcmp(mine, both, 32), 0);
}

TEST_F(CApi, OtherShapesAreAnErrorThatListsThoseThere) {
  headwater_infer::Session session(model);
  EXPECT_EQ(hwi_session_input(session.get(), 0, row, HWI_F32, 2, three), HWI_OK);
  EXPECT_EQ(hwi_session_run(session.get()), HWI_NO_SHAPE);
  EXPECT_STREQ(hwi_error(),
               "the model sample has no plan for x f32[3, 4]. It has plans for x f32[1, 4]; or x f32[2, 4]. "
               "Freeze it with these shapes too");
  EXPECT_EQ(hwi_session_input(session.get(), 0, row, HWI_F64, 2, one), HWI_OK);
  EXPECT_EQ(hwi_session_run(session.get()), HWI_NO_SHAPE);
}

TEST_F(CApi, MistakesAreAStatusWithWords) {
  hwi_model* made = nullptr;
  EXPECT_EQ(hwi_model_load("/no/such/file.hwm", &made), HWI_NO_FILE);
  EXPECT_EQ(made, nullptr);
  EXPECT_EQ(hwi_model_load("/", &made), HWI_NO_FILE);
  EXPECT_EQ(hwi_model_load(nullptr, &made), HWI_INVALID);
  EXPECT_EQ(hwi_model_load_memory("x", 1, &made), HWI_INVALID);
  EXPECT_STREQ(hwi_error(), "this is no frozen model");
  EXPECT_EQ(hwi_model_load_memory(nullptr, 0, &made), HWI_INVALID);
  headwater_infer::Session session(model);
  EXPECT_EQ(hwi_session_run(session.get()), HWI_INVALID);
  EXPECT_STREQ(hwi_error(), "input x is not given");
  const void* data = nullptr;
  EXPECT_EQ(hwi_session_result(session.get(), 0, &data, nullptr), HWI_INVALID);
  EXPECT_EQ(hwi_session_input(session.get(), 1, row, HWI_F32, 2, one), HWI_INVALID);
  // 256 + HWI_F32 would be a dtype again if only its last byte were read.
  for (int32_t dtype : {77, -1, 256 + HWI_F32})
    EXPECT_EQ(hwi_session_input(session.get(), 0, row, dtype, 2, one), HWI_INVALID);
  EXPECT_EQ(hwi_session_input(session.get(), 0, row, HWI_F32, -1, one), HWI_INVALID);
  EXPECT_EQ(hwi_session_input(session.get(), 0, reinterpret_cast<const char*>(row) + 1, HWI_F32, 2, one), HWI_INVALID);
  EXPECT_EQ(hwi_session_input_by_name(session.get(), "z", row, HWI_F32, 2, one), HWI_INVALID);
  EXPECT_STREQ(hwi_error(), "the model has no input 'z'");
  EXPECT_EQ(hwi_session_run(nullptr), HWI_INVALID);
  EXPECT_THROW(session.input("z", row, {1, 4}), headwater_infer::Error);
  hwi_session_free(nullptr);
  hwi_model_free(nullptr);
}

TEST_F(CApi, SessionsShareAModelAndMemoryAcrossThreads) {
  hwi_memory* memory = nullptr;
  ASSERT_EQ(hwi_memory_create(&memory), HWI_OK);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      hwi_session* s = nullptr;
      wrong += hwi_session_create(model.get(), memory, &s) != HWI_OK;
      const float mine[4] = {static_cast<float>(t), 2, 0, 4};
      wrong += hwi_session_input(s, 0, mine, HWI_F32, 2, one) != HWI_OK;
      for (int i = 0; i < 200; ++i) {
        const void* data = nullptr;
        wrong += hwi_session_run(s) != HWI_OK || hwi_session_result(s, 0, &data, nullptr) != HWI_OK;
        wrong += static_cast<const float*>(data)[0] != static_cast<float>(t + 1);
      }
      hwi_session_free(s);
    });
  for (std::thread& t : threads) t.join();
  hwi_memory_free(memory);
  EXPECT_EQ(wrong, 0);
}

TEST_F(CApi, AsynchronousRunsCallBack) {
  headwater_infer::Session session(model);
  session.input("x", row, {1, 4});
  struct Seen {
    std::atomic<int> calls = 0;
    std::atomic<int> failed = 0;
  } seen;
  const hwi_done done = [](void* context, hwi_status status, const char* error) {
    auto& s = *static_cast<Seen*>(context);
    ++s.calls;
    s.failed += status != HWI_OK && *error;
  };
  for (int i = 0; i < 20; ++i) ASSERT_EQ(hwi_session_run_async(session.get(), done, &seen), HWI_OK);
  EXPECT_EQ(hwi_session_wait(session.get()), HWI_OK);
  EXPECT_EQ(seen.calls, 20);
  EXPECT_EQ(seen.failed, 0);
  EXPECT_EQ(session.result<float>("y")[0], 2);
  ASSERT_EQ(hwi_session_input(session.get(), 0, row, HWI_F32, 2, three), HWI_OK);
  ASSERT_EQ(hwi_session_run_async(session.get(), done, &seen), HWI_OK);
  EXPECT_EQ(hwi_session_wait(session.get()), HWI_NO_SHAPE);
  EXPECT_EQ(seen.failed, 1);
}

}  // namespace

}  // namespace hw
