// Kept files: whole or not there, the longest unused go first, nothing kept where that is asked.
#include "base/kept_files.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace hw {
namespace {

namespace fs = std::filesystem;

class KeptFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/headwater-kept-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root_ = name;
    if (const char* before = std::getenv("HEADWATER_CACHE_DIR")) before_ = before;
    setenv("HEADWATER_CACHE_DIR", name, 1);
  }
  void TearDown() override {
    if (before_.empty()) {
      unsetenv("HEADWATER_CACHE_DIR");
    } else {
      setenv("HEADWATER_CACHE_DIR", before_.c_str(), 1);
    }
    fs::remove_all(root_);
  }
  static std::string read(const KeptFiles& files, uint64_t key) {
    std::string out;
    const bool found = files.read({key, 0}, [&](size_t bytes) -> void* {
      out.resize(bytes);
      return out.data();
    });
    return found ? out : "none";
  }
  std::string root_, before_;
};

TEST_F(KeptFilesTest, GivesBackWhatWasKept) {
  const KeptFiles files("things", ".thing", 1000);
  EXPECT_EQ(files.folder(), root_ + "/things");
  EXPECT_EQ(read(files, 1), "none");
  EXPECT_TRUE(files.write({1, 0}, "one"));
  EXPECT_TRUE(files.write({1, 0}, "another one"));
  EXPECT_EQ(read(files, 1), "another one");
  EXPECT_EQ(files.use().entries, 1);
  EXPECT_EQ(files.use().bytes, 11);
  files.clear();
  EXPECT_EQ(read(files, 1), "none");
}

TEST_F(KeptFilesTest, TheLongestUnusedGoesFirst) {
  const KeptFiles files("things", ".thing", 10);
  EXPECT_FALSE(files.write({9, 0}, "longer than all may be"));
  for (uint64_t key : {1, 2, 3}) {
    EXPECT_TRUE(files.write({key, 0}, "12345"));
    for (const auto& file : fs::directory_iterator(files.folder()))
      fs::last_write_time(file, fs::last_write_time(file) - std::chrono::minutes(1));
    if (key == 2) read(files, 1);
  }
  EXPECT_EQ(read(files, 1), "12345");
  EXPECT_EQ(read(files, 2), "none");
  EXPECT_EQ(read(files, 3), "12345");
}

TEST_F(KeptFilesTest, LeavesOthersAloneAndRemovesWhatWasNeverFinished) {
  const KeptFiles files("things", ".thing", 4);
  EXPECT_TRUE(files.write({1, 0}, "1234"));
  for (const char* name : {"/old.unfinished", "/new.unfinished", "/notes.txt"})
    std::ofstream(files.folder() + name) << "longer";
  fs::last_write_time(files.folder() + "/old.unfinished", fs::file_time_type::clock::now() - std::chrono::hours(2));
  EXPECT_TRUE(files.write({2, 0}, "1234"));
  EXPECT_FALSE(fs::exists(files.folder() + "/old.unfinished"));
  EXPECT_TRUE(fs::exists(files.folder() + "/new.unfinished"));
  files.clear();
  EXPECT_TRUE(fs::exists(files.folder() + "/notes.txt"));
}

TEST_F(KeptFilesTest, NothingIsKeptWhereThatIsAskedOrCannotBe) {
  for (const char* root : {"off", "", "/proc/nowhere"}) {
    setenv("HEADWATER_CACHE_DIR", root, 1);
    const KeptFiles files("things", ".thing", 1000);
    EXPECT_FALSE(files.write({1, 0}, "one"));
    EXPECT_EQ(read(files, 1), "none");
    EXPECT_EQ(files.use().entries, 0);
  }
}

}  // namespace
}  // namespace hw
