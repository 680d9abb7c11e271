// Shuffled conversions: every bf16 survives the way to f32 and back, and rounding is that of the plain conversion.
#include "kernels/loops/convert.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels/isa.h"

namespace hw {
namespace {

TEST(Convert, ShuffledThereAndBack) {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  for (Isa level : {Isa::Scalar, Isa::AVX2, Isa::AVX512, Isa::Neon}) {
    set_isa(level);
    const ConvertRowFn widen = find_convert_shuffled(DType::BF16, DType::F32);
    const ConvertRowFn narrow = find_convert_shuffled(DType::F32, DType::BF16);
    ASSERT_TRUE(widen && narrow);
    EXPECT_EQ(find_convert_shuffled(DType::F16, DType::F32), nullptr);
    for (int64_t n : {0, 1, 15, 16, 31, 33, 65536}) {
      std::vector<float> wide(static_cast<size_t>(n) + 1, -7.0f);
      std::vector<uint16_t> back(static_cast<size_t>(n) + 1, 7);
      widen(all.data(), wide.data(), n);
      narrow(wide.data(), back.data(), n);
      EXPECT_EQ(wide.back(), -7.0f);
      EXPECT_EQ(back.back(), 7);
      for (int64_t i = 0; i < n; ++i) {
        const bool nan = (i & 0x7fff) > 0x7f80;  // may become quiet
        ASSERT_EQ(nan ? back[i] | 0x40 : back[i], nan ? i | 0x40 : i) << isa_name(level) << " of " << n;
      }
    }
  }
  set_isa(isa_found());
}

TEST(Convert, ShuffledRounds) {
  std::vector<uint16_t> in(1003), plain(in.size()), shuffled(in.size());
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint16_t>(i * 64709 + 0x3f80);
  std::vector<float> wide(in.size());
  const int64_t n = static_cast<int64_t>(in.size());
  auto times = [&] {
    for (float& v : wide) v *= 1.37f;
  };
  for (Isa level : {Isa::Scalar, Isa::AVX2, Isa::AVX512, Isa::Neon}) {
    set_isa(level);
    find_convert_row(DType::BF16, DType::F32)(in.data(), wide.data(), n);
    times();
    find_convert_row(DType::F32, DType::BF16)(wide.data(), plain.data(), n);
    find_convert_shuffled(DType::BF16, DType::F32)(in.data(), wide.data(), n);
    times();
    find_convert_shuffled(DType::F32, DType::BF16)(wide.data(), shuffled.data(), n);
    EXPECT_EQ(plain, shuffled) << isa_name(level);
  }
  set_isa(isa_found());
}

}  // namespace
}  // namespace hw
