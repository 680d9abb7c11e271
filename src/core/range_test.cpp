// Which numbers fit which dtypes.
#include "core/range.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hw {
namespace {

TEST(Range, EndsOfIntegerDtypes) {
  EXPECT_TRUE(fits(Scalar(127), DType::I8) && fits(Scalar(-128), DType::I8));
  EXPECT_FALSE(fits(Scalar(128), DType::I8) || fits(Scalar(-129), DType::I8));
  EXPECT_TRUE(fits(Scalar(255), DType::U8) && fits(Scalar(-255), DType::U8));
  EXPECT_FALSE(fits(Scalar(256), DType::U8) || fits(Scalar(-256), DType::U8));
  EXPECT_TRUE(fits(Scalar(INT64_MAX), DType::I64) && fits(Scalar(INT64_MIN), DType::I64));
  EXPECT_FALSE(fits(Scalar(9.3e18), DType::I64) || fits(Scalar(int64_t{1} << 31), DType::I32));
  EXPECT_FALSE(fits(Scalar(std::nan("")), DType::I64));
}

TEST(Range, FloatingAndComplexDtypes) {
  EXPECT_TRUE(fits(Scalar(65504.0), DType::F16) && fits(Scalar(INFINITY), DType::F16));
  EXPECT_FALSE(fits(Scalar(70000.0), DType::F16) || fits(Scalar(1e39), DType::F32) || fits(Scalar(1e39), DType::C64));
  EXPECT_TRUE(fits(Scalar(1e39), DType::F64) && fits(Scalar(std::nan("")), DType::BF16));
  EXPECT_FALSE(fits(Scalar(std::complex<double>(1, 2)), DType::F64));
  EXPECT_TRUE(fits(Scalar(std::complex<double>(1, 0)), DType::F32) &&
              fits(Scalar(std::complex<double>(1, 2)), DType::C64));
}

}  // namespace
}  // namespace hw
