// Encrypted models: the same model comes back, every changed byte and every cut is an error, and the key is in no file.
#include "infer/encrypted.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "base/error.h"
#include "infer/headwater_infer.hpp"
#include "plan/sample_frozen.h"

namespace hw::infer {

namespace {

const std::string kKey = "0123456789abcdefghijklmnopqrstuv";

struct Encrypted : testing::Test {
  Encrypted() : plain(write_frozen(sample_frozen())) {
    try {
      file = encrypt(plain, kKey);
    } catch (const Error&) {  // no libcrypto: said in words, tested in test_encrypted.py
    }
  }
  void SetUp() override {
    if (file.empty()) GTEST_SKIP() << "libcrypto is not installed";
  }
  std::string plain, file;
};

/// What is wrong, or empty.
std::string problem(const std::string& file, const std::string& key = kKey) {
  try {
    decrypt(file.data(), file.size(), key);
    return {};
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Value);
    return e.message();
  }
}

TEST_F(Encrypted, ComesBackAndHidesAll) {
  const Ref<Storage> back = decrypt(file.data(), file.size(), kKey);
  EXPECT_EQ(std::string_view(static_cast<const char*>(back->data()), back->bytes()), plain);
  EXPECT_EQ(file.find(kKey), std::string::npos);
  EXPECT_EQ(file.find("sample"), std::string::npos);
  EXPECT_NE(file, encrypt(plain, kKey));  // another nonce
}

TEST_F(Encrypted, EveryChangeAndCutIsAnError) {
  for (size_t at = 0; at < file.size(); at += at < 96 || at + 32 > file.size() ? 1 : 13) {
    std::string changed = file;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_NE(problem(changed), "") << at;
  }
  for (size_t bytes : {size_t{0}, size_t{7}, size_t{8}, size_t{63}, size_t{79}, size_t{80}, file.size() - 1})
    EXPECT_NE(problem(file.substr(0, bytes)), "") << bytes;
  EXPECT_NE(problem(file + "x").find("has grown"), std::string::npos);
}

TEST_F(Encrypted, KeysHaveWords) {
  std::string other = kKey;
  other[31] = 'w';
  EXPECT_NE(problem(file, other).find("the key is another one, or the file was changed"), std::string::npos);
  EXPECT_NE(problem(file, "short").find("has 32 bytes, got 5"), std::string::npos);
  EXPECT_NE(problem(plain).find("is not encrypted"), std::string::npos);
}

TEST_F(Encrypted, LoadsInC) {
  hwi_model* model = nullptr;
  EXPECT_EQ(hwi_model_load_memory(file.data(), file.size(), &model), HWI_INVALID);
  EXPECT_STREQ(hwi_error(), "the model is encrypted: load it with its key");
  EXPECT_EQ(hwi_model_load_memory_encrypted(file.data(), file.size(), nullptr, 32, &model), HWI_INVALID);
  EXPECT_EQ(hwi_model_load_memory_encrypted(file.data(), file.size(), kKey.data(), 31, &model), HWI_INVALID);
  EXPECT_EQ(hwi_model_load_encrypted("/none", kKey.data(), 32, &model), HWI_NO_FILE);
  ASSERT_EQ(hwi_model_load_memory_encrypted(file.data(), file.size(), kKey.data(), 32, &model), HWI_OK);
  EXPECT_EQ(hwi_model_check(model, 0, nullptr), HWI_OK);
  hwi_model_free(model);
  const std::string path = testing::TempDir() + "encrypted_test.hwm";
  std::ofstream(path, std::ios::binary) << file;
  EXPECT_EQ(headwater_infer::Model(path, kKey.data(), kKey.size()).test(0), 0);
  std::remove(path.c_str());
}

}  // namespace

}  // namespace hw::infer
