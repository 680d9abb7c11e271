// Tiled transposes of every size around their blocks, for every instruction set; nothing is written beside the result.
#include "kernels/loops/transpose.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "kernels/isa.h"

namespace hw {
namespace {

void check(int64_t bytes, int64_t columns, int64_t rows) {
  const int64_t from_stride = rows + 3, to_stride = columns + 2;
  std::vector<unsigned char> from(static_cast<size_t>(columns * from_stride * bytes));
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 37 + i / 251);
  std::vector<unsigned char> want(static_cast<size_t>(rows * to_stride * bytes), 0xee), got = want;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      std::memcpy(&want[static_cast<size_t>((r * to_stride + c) * bytes)],
                  &from[static_cast<size_t>((c * from_stride + r) * bytes)], static_cast<size_t>(bytes));
  find_transpose(bytes)(from.data(), from_stride, got.data(), to_stride, columns, rows);
  EXPECT_TRUE(want == got) << bytes << " bytes, " << columns << " columns, " << rows << " rows";
}

TEST(Transpose, EverySizeAroundTheBlocks) {
  for (Isa level : {Isa::Scalar, Isa::AVX2, Isa::AVX512, Isa::Neon}) {
    set_isa(level);
    for (int64_t bytes : {1, 2, 4, 8, 16})
      for (int64_t columns : {1, 3, 4, 7, 8, 9, 12, 16, 23, 40})
        for (int64_t rows : {1, 3, 4, 9, 16, 17, 31, 64}) check(bytes, columns, rows);
  }
  set_isa(isa_found());
}

}  // namespace
}  // namespace hw
