// Random changes to model files, with hashes that fit: each is refused with an Error, or loads and runs; nothing else may happen. Built
// with -DHEADWATER_SANITIZE=address,undefined, a read or a write outside is seen too. HEADWATER_FUZZ_ROUNDS=1000000 goes on for longer.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/error.h"
#include "base/flags.h"
#include "infer/session.h"
#include "plan/file.h"
#include "plan/frozen_layout.h"
#include "plan/layout.h"
#include "plan/sample_frozen.h"

namespace hw::infer {

namespace {

using Random = std::mt19937_64;

/// One change of a byte, a number or a piece in [start, end); numbers are often those at which arithmetic breaks.
void mutate(std::string& file, size_t start, size_t end, Random& random) {
  static constexpr int64_t kOdd[] = {0,   -1,  1,         2,         63,        64,        127,       128,
                                     255, 256, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 1LL << 40, -64};
  const size_t size = end - start, at = start + random() % size;
  const int64_t odd = kOdd[random() % std::size(kOdd)];
  switch (random() % 5) {
    case 0: file[at] = static_cast<char>(random()); break;
    case 1: file[at] = static_cast<char>(file[at] ^ (1 << random() % 8)); break;
    case 2:
      if (const size_t word = at / 4 * 4; word + 4 <= end) std::memcpy(&file[word], &odd, 4);
      break;
    case 3:
      if (const size_t word = at / 8 * 8; word + 8 <= end) std::memcpy(&file[word], &odd, 8);
      break;
    default: {
      const size_t from = start + random() % size, bytes = std::min({random() % 32, end - at, end - from});
      std::memmove(&file[at], &file[from], bytes);
    }
  }
}

/// Where the plans lie in a file.
std::vector<std::pair<size_t, size_t>> plans_in(const std::string& file) {
  std::vector<std::pair<size_t, size_t>> found;
  for (size_t at = 0; (at = file.find(std::string_view(kPlanMagic, sizeof kPlanMagic), at)) != std::string::npos;
       ++at) {
    PlanFileHeader h;
    std::memcpy(&h, file.data() + at, sizeof h);
    found.emplace_back(at, sizeof h + aligned64(h.structure_bytes) + h.data_bytes);
  }
  return found;
}

/// Whether it loaded; runs it with what its forms say.
bool loads(const std::string& file) {
  Ref<LoadedModel> model;
  try {
    model = LoadedModel::from_memory(file.data(), file.size());
  } catch (const Error&) {
    return false;
  }
  for (const FrozenForm& f : model->frozen().forms) {
    try {
      Session session(model);
      std::vector<Ref<Storage>> memory;
      for (size_t i = 0; i < f.inputs.size(); ++i) {
        const auto bytes = static_cast<size_t>(extent_of(f.inputs[i]));
        check(bytes < size_t{1} << 20, "more than a fuzzer gives");
        memory.push_back(make_ref<Storage>(std::max<size_t>(bytes, 1)));
        std::memset(memory.back()->data(), 0, bytes);
        session.set_input(static_cast<int32_t>(i), memory.back()->data(), f.inputs[i].dtype, f.inputs[i].shape);
      }
      session.run();
    } catch (const Error&) {
    }
  }
  return true;
}

TEST(FrozenFuzz, ChangedStructuresAreReadOrRefused) {
  const std::string good = write_frozen(sample_frozen());
  FrozenHeader h;
  std::memcpy(&h, good.data(), sizeof h);
  const int64_t rounds = flag_int("HEADWATER_FUZZ_ROUNDS", 20000);
  int64_t loaded = 0;
  for (int64_t round = 0; round < rounds; ++round) {
    Random random(static_cast<uint64_t>(round));
    std::string file = good;
    for (uint64_t changes = 1 + random() % 3; changes > 0; --changes)
      mutate(file, sizeof h, sizeof h + h.structure_bytes, random);
    seal_frozen(file);
    loaded += loads(file);
  }
  EXPECT_GT(loaded, rounds / 100);
  EXPECT_LT(loaded, rounds);
}

/// Plans that hold together, but whose calls may be none that an operator takes.
TEST(FrozenFuzz, ChangedPlansAreReadOrRefused) {
  const std::string good = write_frozen(sample_frozen());
  const auto plans = plans_in(good);
  ASSERT_EQ(plans.size(), 3u);
  const int64_t rounds = flag_int("HEADWATER_FUZZ_ROUNDS", 20000);
  int64_t loaded = 0;
  for (int64_t round = 0; round < rounds; ++round) {
    Random random(static_cast<uint64_t>(round));
    const auto [at, bytes] = plans[random() % plans.size()];
    std::string plan = good.substr(at, bytes);
    for (uint64_t changes = 1 + random() % 3; changes > 0; --changes)
      mutate(plan, sizeof(PlanFileHeader), plan.size(), random);
    seal_plan(plan);
    loaded += loads(good.substr(0, at) + plan + good.substr(at + bytes));
  }
  EXPECT_GT(loaded, rounds / 100);
  EXPECT_LT(loaded, rounds);
}

TEST(FrozenFuzz, ChangedHeadersAreReadOrRefused) {
  const std::string good = write_frozen(sample_frozen());
  for (int64_t round = 0; round < 5000; ++round) {
    Random random(static_cast<uint64_t>(round));
    std::string file = good;
    mutate(file, 0, sizeof(FrozenHeader), random);
    if (round % 2) file.resize(random() % file.size());
    loads(file);
  }
}

}  // namespace

}  // namespace hw::infer
