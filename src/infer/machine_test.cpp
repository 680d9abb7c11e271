// Notes of `headwater run --fit`: this machine's is followed, any other and what is no number is not.
#include "infer/machine.h"

#include <gtest/gtest.h>

#include "infer/session.h"
#include "plan/sample_frozen.h"

namespace hw::infer {

namespace {

int threads_by(const std::string& machine, const std::string& words) {
  FrozenModel model = sample_frozen();
  model.notes.emplace_back("fit another processor, avx2, 3 cores", "threads=3");
  model.notes.emplace_back("fit " + machine, words);
  return fitted_threads(model);
}

TEST(Machine, ItsNoteIsFollowedAndNoOther) {
  EXPECT_EQ(threads_by(machine_name(), "threads=2"), 2);
  EXPECT_EQ(threads_by("an unknown one", "threads=2"), 0);
  for (const char* words : {"threads=", "threads=0", "threads=-1", "threads=1025", "threads=99999999999", "threads=2x",
                            "threads= 2", "2", ""})
    EXPECT_EQ(threads_by(machine_name(), words), 0) << words;
}

TEST(Machine, SessionsRunWithIt) {
  for (const char* words : {"threads=1", "threads=64"}) {
    FrozenModel model = sample_frozen();
    model.notes.emplace_back("fit " + machine_name(), words);
    const auto loaded = make_ref<LoadedModel>(std::move(model));
    EXPECT_EQ(test_difference(loaded), 0);
  }
}

}  // namespace

}  // namespace hw::infer
