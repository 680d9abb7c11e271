// Plan files: what is written is read back, what is wrong is refused in words.
#include "plan/file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "plan/check.h"
#include "plan/layout.h"
#include "plan/same_plan.h"
#include "plan/sample_plan.h"

namespace hw {

namespace {

std::string why_refused(std::string_view file) {
  try {
    read_plan(file);
  } catch (const Error& e) {
    return e.message();
  }
  return "";
}

std::string problem_of(void (*change)(Plan&)) {
  Plan plan = sample_plan();
  change(plan);
  return plan_problem(plan);
}

TEST(PlanFile, IsReadAsItWasWritten) {
  const Plan plan = sample_plan();
  ASSERT_EQ(plan_problem(plan), "");
  const std::string file = write_plan(plan);
  EXPECT_EQ(plan_difference(read_plan(file), plan), "");
  EXPECT_EQ(write_plan(read_plan(file)), file);
}

TEST(PlanFile, ComparisonSeesEveryField) {
  const Plan plan = sample_plan();
  const std::vector<void (*)(Plan&)> changes = {
      [](Plan& p) { p.steps[0].attrs[1] = 3.0; },
      [](Plan& p) { p.steps[0].bindings[0].index = 1; },
      [](Plan& p) { p.loops[0].tiles[0].steps[0] = 16; },
      [](Plan& p) { p.sources[0].spec.wrapped = true; },
      [](Plan& p) { p.bodies[0].num_draws = 1; },
      [](Plan& p) { p.constants[0] = Tensor::scalar(2.0, DType::F64); },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    Plan other = sample_plan();
    changes[i](other);
    EXPECT_NE(plan_difference(plan, other), "") << i;
  }
}

TEST(PlanFile, ConstantsAreAlignedViewsOfTheFile) {
  const std::string file = write_plan(sample_plan());
  auto storage = make_ref<Storage>(file.size());
  std::memcpy(storage->data(), file.data(), file.size());
  const Plan plan = read_plan(storage);
  for (const Tensor& t : plan.constants) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(t.data()) % kPlanAlignment, 0u);
    EXPECT_EQ(t->storage.get(), storage.get());
  }
}

TEST(PlanFile, NewerVersionsAreRefused) {
  std::string file = write_plan(sample_plan());
  const uint32_t version = kPlanVersion + 1;
  std::memcpy(file.data() + offsetof(PlanFileHeader, version), &version, sizeof version);
  EXPECT_EQ(why_refused(file), text("the plan file has version ", version, ", this Headwater reads versions up to ",
                                    kPlanVersion, ". Write it again with this version, or use a newer one"));
}

TEST(PlanFile, DamageIsSeen) {
  const std::string file = write_plan(sample_plan());
  EXPECT_EQ(why_refused(""), "this is no plan file");
  EXPECT_EQ(why_refused(std::string(200, 'x')), "this is no plan file");
  EXPECT_NE(why_refused(file.substr(0, file.size() - 1)).find("cut off"), std::string::npos);
  EXPECT_NE(why_refused(file + "x").find("longer than it says"), std::string::npos);
  for (size_t at = sizeof(PlanFileHeader); at < file.size(); at += 101) {
    std::string damaged = file;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    EXPECT_NE(why_refused(damaged).find("damaged"), std::string::npos) << at;
  }
}

TEST(PlanFile, WrongIndicesAreSeen) {
  EXPECT_EQ(problem_of([](Plan& p) { p.steps[0].inputs[0] = 99; }), "step 0: dropout: there is no operand 99");
  EXPECT_EQ(problem_of([](Plan& p) { p.steps[0].outputs[0] = -1; }), "step 0: dropout: there is no operand -1");
  EXPECT_EQ(problem_of([](Plan& p) { p.steps[0].origin = 7; }), "step 0: dropout: there is no origin 7");
  EXPECT_EQ(problem_of([](Plan& p) { p.steps[1].loop = 1; }), "step 1: region: there is no loop 1");
  EXPECT_EQ(problem_of([](Plan& p) { p.steps[2].bodies[1] = 2; }), "step 2: _cond: there is no body 2");
  EXPECT_EQ(problem_of([](Plan& p) { p.tensors[0].buffer = 50; }), "tensor 0: there is no buffer 50");
  EXPECT_EQ(problem_of([](Plan& p) { p.buffers[0].index = 3; }), "buffer 0: there is no source 3");
  EXPECT_EQ(problem_of([](Plan& p) { p.steps[0].bindings[0].index = 5; }),
            "step 0: dropout: it binds to number 5 of 1");
  EXPECT_EQ(problem_of([](Plan& p) { p.steps[0].bindings[0].attr = 8; }),
            "step 0: dropout: it binds an attribute 8 that it does not have");
  EXPECT_EQ(problem_of([](Plan& p) { p.results[0] = 0; }), "result 0: it is in no output");
}

TEST(PlanFile, BytesOutsideAreSeen) {
  EXPECT_EQ(problem_of([](Plan& p) { p.tensors[1].offset = 1 << 20; }), "tensor 1: f32[4, 8] at byte 1048576 of 128");
  EXPECT_EQ(problem_of([](Plan& p) { p.buffers[1].offset = INT64_MAX; }),
            "buffer 1: 128 bytes at 9223372036854775807 of 256");
  EXPECT_EQ(problem_of([](Plan& p) { p.tensors[0].spec.strides[0] = INT64_MAX / 2; }),
            "tensor 0: a tensor has the shape [4, 8] and the strides [4611686018427387903, 1]");
  EXPECT_EQ(problem_of([](Plan& p) { p.tensors[0].spec.strides[0] = -8; }),
            "tensor 0: a tensor has the shape [4, 8] and the strides [-8, 1]");
  EXPECT_EQ(problem_of([](Plan& p) { p.loops[0].counts[0] = 5; }), "step 1: region: tile 0: it leaves operand 0");
  EXPECT_EQ(problem_of([](Plan& p) { p.loops[0].tiles[1].offset = 32; }),
            "step 1: region: tile 1: it is not in the scratch memory");
  EXPECT_EQ(problem_of([](Plan& p) { p.loops[0].tiles[0].steps.resize(2); }),
            "step 1: region: tile 0: it has 2 steps in 1 loops");
  EXPECT_EQ(problem_of([](Plan& p) { p.bodies[1].outputs[0] = 4096; }),
            "step 2: _cond: output 0 of a body has 4096 bytes, there is room for 128");
  EXPECT_EQ(problem_of([](Plan& p) { p.bodies[1].sources[1].spec.shape[0] = 40; }),
            "step 2: _cond: a body reads 1280 bytes of input 1, which has 128");
}

TEST(PlanFile, GoesThroughFiles) {
  const std::string path = (std::filesystem::temp_directory_path() / text("plan_", getpid(), ".hwplan")).string();
  save_plan(sample_plan(), path);
  EXPECT_EQ(plan_difference(load_plan(path), sample_plan()), "");
  std::filesystem::resize_file(path, 100);
  EXPECT_THROW(load_plan(path), Error);
  std::filesystem::remove(path);
  EXPECT_THROW(load_plan(path), Error);
}

/// A file that version 1 wrote stays readable and means the same. To make a new one: HEADWATER_WRITE_GOLDEN=1.
TEST(PlanFile, ReadsVersionOne) {
  const std::string path = std::string(HEADWATER_SOURCE_DIR) + "/tests/data/version1.hwplan";
  if (std::getenv("HEADWATER_WRITE_GOLDEN")) save_plan(sample_plan(), path);
  Plan want = sample_plan();
  want.version = 1;
  EXPECT_EQ(plan_difference(load_plan(path), want), "");
}

}  // namespace

}  // namespace hw
