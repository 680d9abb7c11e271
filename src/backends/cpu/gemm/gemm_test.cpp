// Matrix products: every kernel against the reference over odd sizes, layouts, dtypes, and empty operands.
#include "kernels/compare_kernels.h"
#include "kernels/isa.h"

namespace hw {
namespace {

using testing::compare_kernels;
using testing::spec;

const DType kFloats[] = {DType::F32, DType::F64, DType::BF16, DType::F16};

TEST(Gemm, MmOverSizesAndLayouts) {
  int compared = 0;
  for (int64_t m : {1, 2, 3, 7, 13, 64})
    for (int64_t n : {1, 3, 16, 33, 100})
      for (int64_t k : {0, 1, 5, 16, 67, 400})
        for (int layout = 0; layout < 4; ++layout)
          for (DType dtype : kFloats) {
            if (dtype != DType::F32 && (m == 3 || n == 100)) continue;
            Dims rows{0, 1}, columns{1, 0};
            compared += compare_kernels(
                {"mm",
                 {spec(dtype, {m, k}, layout & 1 ? columns : rows), spec(dtype, {k, n}, layout & 2 ? columns : rows)},
                 {spec(dtype, {m, n})},
                 {},
                 {}});
          }
  EXPECT_GT(compared, 1000);
}

TEST(Gemm, LargeEnoughForSeveralBlocksAndThreads) {
  for (DType dtype : {DType::F32, DType::BF16})
    for (int layout = 0; layout < 4; ++layout)
      compare_kernels({"mm",
                       {spec(dtype, {230, 700}, layout & 1 ? Dims{1, 0} : Dims{0, 1}),
                        spec(dtype, {700, 1600}, layout & 2 ? Dims{1, 0} : Dims{0, 1})},
                       {spec(dtype, {230, 1600})},
                       {},
                       {}},
                      2);
}

TEST(Gemm, BmmWithExpandedAndStridedBatches) {
  for (DType dtype : kFloats)
    for (int64_t batch : {0, 1, 3, 5}) {
      TensorSpec a = spec(dtype, {batch, 17, 40}), b = spec(dtype, {batch, 40, 35}, {0, 2, 1});
      compare_kernels({"bmm", {a, b}, {spec(dtype, {batch, 17, 35})}, {}, {}});
      b = spec(dtype, {batch, 40, 35}, {1, 0, 2});
      compare_kernels({"bmm", {a, b}, {spec(dtype, {batch, 17, 35})}, {}, {}});
      b.strides[0] = 0;
      compare_kernels({"bmm", {a, b}, {spec(dtype, {batch, 17, 35})}, {}, {}});
    }
  compare_kernels({"bmm",
                   {spec(DType::F32, {5, 100, 90}), spec(DType::F32, {5, 90, 100})},
                   {spec(DType::F32, {5, 100, 100})},
                   {},
                   {}});
}

TEST(Gemm, NeitherStrideIsOne) {
  TensorSpec a = spec(DType::F32, {10, 20, 2}, {0, 1, 2}), b = spec(DType::F32, {20, 30, 3});
  a.shape = {10, 20}, a.strides = {40, 2};
  b.shape = {20, 30}, b.strides = {90, 3};
  EXPECT_GT(compare_kernels({"mm", {a, b}, {spec(DType::F32, {10, 30})}, {}, {}}), 0);
}

TEST(Gemm, AddmmBroadcastsItsInput) {
  for (DType dtype : kFloats)
    for (int64_t m : {1, 5, 40})
      for (Dims input : {Dims{70}, Dims{m, 70}, Dims{m, 1}, Dims{}, Dims{1, 70}})
        compare_kernels({"addmm",
                         {spec(dtype, input), spec(dtype, {m, 33}), spec(dtype, {33, 70})},
                         {spec(dtype, {m, 70})},
                         {AttrValue(Scalar(0.5)), AttrValue(Scalar(-2.0))},
                         {}});
  compare_kernels({"baddbmm",
                   {spec(DType::F32, {3, 1, 8}), spec(DType::F32, {3, 4, 6}), spec(DType::F32, {3, 6, 8})},
                   {spec(DType::F32, {3, 4, 8})},
                   {AttrValue(Scalar(1.0)), AttrValue(Scalar(1.0))},
                   {}});
}

TEST(Gemm, LinearOverLeadingAxes) {
  for (DType dtype : kFloats)
    for (bool bias : {false, true})
      for (Dims order : {Dims{0, 1, 2, 3}, Dims{2, 0, 1, 3}, Dims{3, 2, 1, 0}, Dims{1, 0, 2, 3}}) {
        TensorSpec none;
        compare_kernels({"linear",
                         {spec(dtype, {2, 3, 4, 50}, order), spec(dtype, {21, 50}), bias ? spec(dtype, {21}) : none},
                         {spec(dtype, {2, 3, 4, 21})},
                         {},
                         {}});
      }
  compare_kernels({"linear",
                   {spec(DType::F32, {50}), spec(DType::F32, {21, 50}), spec(DType::F32, {21})},
                   {spec(DType::F32, {21})},
                   {},
                   {}});
  compare_kernels({"linear",
                   {spec(DType::F32, {0, 50}), spec(DType::F32, {21, 50}), spec(DType::F32, {21})},
                   {spec(DType::F32, {0, 21})},
                   {},
                   {}});
}

TEST(Gemm, ReferenceServesIntegersAndComplex) {
  for (DType dtype : {DType::U8, DType::I8, DType::I16, DType::I32, DType::I64, DType::C64, DType::C128}) {
    std::vector<TensorSpec> in{spec(dtype, {2, 3}), spec(dtype, {3, 2})}, out{spec(dtype, {2, 2})};
    Attrs none;
    std::string chosen;
    EXPECT_TRUE(prepare_kernel({"mm", in, out, none, dtype}, DeviceType::CPU, &chosen));
    EXPECT_EQ(chosen, "reference");
  }
}

// Rows of B a multiple of 2 KiB apart: oneDNN's gemm for AVX2 reads them in place at half its speed.
TEST(Gemm, RowsThatCollideInTheCacheArePacked) {
  if (isa_found() != Isa::AVX2) GTEST_SKIP() << "oneDNN has another product for this instruction set";
  auto chosen = [](int64_t rows, int64_t columns, Dims order) {
    std::vector<TensorSpec> in{spec(DType::F32, {rows, 512}), spec(DType::F32, {512, columns}, order)};
    std::vector<TensorSpec> out{spec(DType::F32, {rows, columns})};
    std::string name;
    prepare_kernel({"mm", in, out, Attrs(), DType::F32}, DeviceType::CPU, &name);
    return name;
  };
  if (chosen(64, 784, {0, 1}) != "onednn") GTEST_SKIP() << "built without oneDNN";
  EXPECT_EQ(chosen(64, 512, {0, 1}), "simd");
  EXPECT_EQ(chosen(64, 1024, {0, 1}), "simd");
  EXPECT_EQ(chosen(64, 512, {1, 0}), "onednn");     // columns lie together: oneDNN packs
  EXPECT_EQ(chosen(1024, 1024, {0, 1}), "onednn");  // so large that it packs
  EXPECT_GT(
      compare_kernels(
          {"mm", {spec(DType::F32, {64, 512}), spec(DType::F32, {512, 1024})}, {spec(DType::F32, {64, 1024})}, {}, {}}),
      0);
}

TEST(Gemm, WrongSizesAreNamed) {
  std::vector<TensorSpec> in{spec(DType::F32, {4, 3}), spec(DType::F32, {5, 2})}, out{spec(DType::F32, {4, 2})};
  Attrs none;
  try {
    prepare_kernel({"mm", in, out, none, DType::F32}, DeviceType::CPU);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("3 columns"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace hw
