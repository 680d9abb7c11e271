// Files of frozen models: what is written is read back; what is wrong is refused in words, with and without a fitting hash.
#include "plan/frozen.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "plan/frozen_layout.h"
#include "plan/same_plan.h"
#include "plan/sample_frozen.h"

namespace hw {

namespace {

FrozenModel read(std::string_view file) {
  auto storage = make_ref<Storage>(std::max<size_t>(file.size(), 1));
  if (file.empty()) return read_frozen(storage);
  std::memcpy(storage->data(), file.data(), file.size());
  return read_frozen(storage);
}

std::string why_refused(std::string_view file) {
  try {
    read(file);
  } catch (const Error& e) {
    return e.message();
  }
  return "";
}

std::string problem_of(void (*change)(FrozenModel&)) {
  FrozenModel model = sample_frozen();
  change(model);
  const std::string found = frozen_problem(model);
  EXPECT_NE(why_refused(write_frozen(model)).find(found), std::string::npos) << found;
  return found;
}

TEST(Frozen, IsReadAsItWasWritten) {
  const FrozenModel model = sample_frozen();
  ASSERT_EQ(frozen_problem(model), "");
  const std::string file = write_frozen(model);
  const FrozenModel back = read(file);
  EXPECT_EQ(write_frozen(back), file);
  EXPECT_EQ(back.weight_names, model.weight_names);
  EXPECT_EQ(back.notes, model.notes);
  EXPECT_EQ(plan_difference(back.forms[1].plan, model.forms[1].plan), "");
  EXPECT_EQ(std::memcmp(back.weights[1].data(), model.weights[1].data(), 16), 0);
}

TEST(Frozen, DamageAnywhereButInTheWeightsIsSeenAtOnce) {
  const std::string file = write_frozen(sample_frozen());
  const uint64_t structure = sizeof(FrozenHeader) + [&] {
    FrozenHeader h;
    std::memcpy(&h, file.data(), sizeof h);
    return h.structure_bytes;
  }();
  for (size_t at = 0; at < structure; ++at) {
    if (at >= offsetof(FrozenHeader, data_hash) && at < sizeof(FrozenHeader)) continue;
    if (at >= offsetof(FrozenHeader, reserved) && at < offsetof(FrozenHeader, structure_bytes)) continue;
    std::string other = file;
    other[at] = static_cast<char>(other[at] ^ 4);
    EXPECT_NE(why_refused(other), "") << at;
  }
  for (size_t bytes : {size_t{0}, size_t{7}, sizeof(FrozenHeader), file.size() - 1, file.size() - 64})
    EXPECT_NE(why_refused(std::string_view(file).substr(0, bytes)), "") << bytes;
  EXPECT_NE(why_refused(file + std::string(64, 'x')), "");
}

TEST(Frozen, DamageInTheWeightsIsSeenWhenAskedFor) {
  std::string file = write_frozen(sample_frozen());
  auto storage = make_ref<Storage>(file.size());
  std::memcpy(storage->data(), file.data(), file.size());
  EXPECT_NO_THROW(check_frozen_data(*storage));
  static_cast<char*>(storage->data())[file.size() - 64] ^= 1;
  EXPECT_THROW(check_frozen_data(*storage), Error);
}

TEST(Frozen, WhatDoesNotHoldTogetherIsRefused) {
  using M = FrozenModel;
  EXPECT_EQ(problem_of([](M& m) { m.forms.clear(); }), "it has no plan");
  EXPECT_EQ(problem_of([](M& m) { m.forms[0].sources[1].index = 7; }), "shapes 0: source 1 is tied to nothing");
  EXPECT_EQ(problem_of([](M& m) { m.forms[0].sources[1].kind = FrozenTie::Kind::Once; }),
            "shapes 0: source 1 is tied to nothing");
  EXPECT_EQ(problem_of([](M& m) { m.forms[0].sources[1] = {}; }), "shapes 0: add reads what is tied to nothing");
  EXPECT_EQ(problem_of([](M& m) {
              m.forms[0].sources[1] = {FrozenTie::Kind::Input, 0};
            }),
            "shapes 0: source 1 is f32[4], given f32[1, 4]");
  EXPECT_EQ(problem_of([](M& m) { m.forms[1].once_sources[0] = -1; }), "shapes 1: there is no weight -1");
  EXPECT_EQ(problem_of([](M& m) { m.forms[0].results[0] = 3; }), "shapes 0: there is no result 3");
  EXPECT_EQ(problem_of([](M& m) { m.forms[1].test_outputs = m.forms[0].test_outputs; }),
            "shapes 1: a test tensor is f32[1, 4], not f32[2, 4]");
  EXPECT_EQ(problem_of([](M& m) { m.inputs = {"x", "x"}; }), "two inputs or outputs have one name");
  // Weights are mapped read-only and shared; inputs are the caller's.
  EXPECT_EQ(problem_of([](M& m) { m.forms[0].plan.steps[0].outputs = {0}; }),
            "shapes 0: add writes to what it may only read");
  EXPECT_EQ(problem_of([](M& m) { m.forms[1].once->steps[0].outputs = {0}; }),
            "shapes 1: neg writes to what it may only read");
}

/// Written by the version of its name; it must be read for ever.
TEST(Frozen, TheFirstVersionIsStillRead) {
  std::ifstream in(std::string(HEADWATER_SOURCE_DIR) + "/tests/data/version1.hwm", std::ios::binary);
  std::stringstream content;
  content << in.rdbuf();
  const FrozenModel model = read(content.str());
  EXPECT_EQ(model.version, 1);
  EXPECT_EQ(write_frozen(model), write_frozen(sample_frozen()));
}

}  // namespace

}  // namespace hw
