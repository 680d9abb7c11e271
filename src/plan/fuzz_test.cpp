// Random changes to plan files: each is read, or refused with an Error; nothing else may happen. Built with
// -DHEADWATER_SANITIZE=address,undefined, a read or a jump outside is seen too. HEADWATER_FUZZ_ROUNDS=1000000 goes on for longer.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/error.h"
#include "base/flags.h"
#include "plan/check.h"
#include "plan/file.h"
#include "plan/layout.h"
#include "plan/sample_plan.h"

namespace hw {

namespace {

using Random = std::mt19937_64;

/// One change of a byte, a number, a piece of the file; numbers are often those at which arithmetic breaks.
void mutate(std::string& file, Random& random) {
  static constexpr int64_t kOdd[] = {0,   -1,  1,         2,         63,        64,        127,       128,
                                     255, 256, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 1LL << 40, -64};
  const size_t start = sizeof(PlanFileHeader), size = file.size() - start;
  const size_t at = start + random() % size;
  const int64_t odd = kOdd[random() % std::size(kOdd)];
  switch (random() % 5) {
    case 0: file[at] = static_cast<char>(random()); break;
    case 1: file[at] = static_cast<char>(file[at] ^ (1 << random() % 8)); break;
    case 2:
      if (const size_t word = at / 4 * 4; word + 4 <= file.size()) std::memcpy(&file[word], &odd, 4);
      break;
    case 3:
      if (const size_t word = at / 8 * 8; word + 8 <= file.size()) std::memcpy(&file[word], &odd, 8);
      break;
    default: {
      const size_t from = start + random() % size,
                   bytes = std::min({random() % 32, file.size() - at, file.size() - from});
      std::memmove(&file[at], &file[from], bytes);
    }
  }
}

TEST(PlanFuzz, ChangedFilesAreReadOrRefused) {
  const std::string good = write_plan(sample_plan());
  const int64_t rounds = flag_int("HEADWATER_FUZZ_ROUNDS", 40000);
  int64_t accepted = 0, verified = 0;
  for (int64_t round = 0; round < rounds; ++round) {
    Random random(static_cast<uint64_t>(round));
    std::string file = good;
    for (uint64_t changes = 1 + random() % 3; changes > 0; --changes) mutate(file, random);
    seal_plan(file);
    try {
      const Plan plan = read_plan(file);
      ++accepted;
      EXPECT_FALSE(plan_text(plan).empty());
      EXPECT_EQ(plan_problem(plan), "");
    } catch (const Error& e) {
      if (e.message().starts_with("the plan file is wrong")) ++verified;
    }
  }
  // Both checks were reached: some changes do no harm, and some pass FlatBuffers' verifier but not ours.
  EXPECT_GT(accepted, rounds / 100);
  EXPECT_GT(verified, rounds / 100);
}

}  // namespace

}  // namespace hw
