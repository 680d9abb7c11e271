// _conv2d_packed: every kernel against the reference over layouts, kernels, strides, groups and what follows the sum.
#include "base/thread_team.h"
#include "kernels/compare_kernels.h"

namespace hw {
namespace {

using testing::compare_kernels;
using testing::spec;

struct Case {
  Dims x, w, y;
  int64_t stride, padding, dilation;
};

const Case kCases[] = {
    {{1, 2, 9, 11, 8}, {3, 2, 1, 1, 8, 8}, {1, 3, 9, 11, 8}, 1, 0, 1},
    {{2, 2, 9, 10, 8}, {1, 2, 3, 3, 8, 8}, {2, 1, 9, 10, 8}, 1, 1, 1},
    {{1, 1, 9, 9, 8}, {2, 1, 3, 3, 8, 8}, {1, 2, 5, 5, 8}, 2, 1, 1},
    {{1, 1, 12, 12, 8}, {2, 1, 3, 3, 8, 8}, {1, 2, 12, 12, 8}, 1, 2, 2},
    {{1, 2, 8, 8, 8}, {4, 2, 1, 1, 8, 8}, {1, 4, 4, 4, 8}, 2, 0, 1},
    {{1, 3, 21, 20}, {2, 7, 7, 3, 8}, {1, 2, 11, 10, 8}, 2, 3, 1},
    {{2, 1, 9, 9}, {1, 3, 3, 1, 8}, {2, 1, 9, 9, 8}, 1, 1, 1},
    {{1, 3, 9, 9, 8}, {3, 3, 3, 8}, {1, 3, 9, 9, 8}, 1, 1, 1},
    {{1, 2, 9, 9, 8}, {2, 5, 5, 8}, {1, 2, 5, 5, 8}, 2, 2, 1},
    {{1, 4, 7, 7, 8}, {2, 1, 2, 3, 3, 8, 8}, {1, 2, 7, 7, 8}, 1, 1, 1},
    {{1, 1, 9, 11, 16}, {2, 1, 3, 3, 16, 16}, {1, 2, 9, 11, 16}, 1, 1, 1},
    {{1, 3, 12, 12}, {2, 3, 3, 3, 16}, {1, 2, 6, 6, 16}, 2, 1, 1},
    {{1, 2, 9, 9, 16}, {2, 3, 3, 16}, {1, 2, 9, 9, 16}, 1, 1, 1},
};

// Sums longer than a part, and output channels and points that divide into no whole panels and groups.
const Case kRagged[] = {
    {{1, 40, 7, 7, 8}, {3, 40, 1, 1, 8, 8}, {1, 3, 7, 7, 8}, 1, 0, 1},
    {{1, 24, 9, 13, 8}, {5, 24, 3, 3, 8, 8}, {1, 5, 5, 7, 8}, 2, 1, 1},
    {{1, 36, 5, 3, 8}, {1, 36, 1, 1, 8, 8}, {1, 1, 3, 2, 8}, 2, 0, 1},
    {{1, 64, 13, 11, 8}, {32, 64, 3, 3, 8, 8}, {1, 32, 7, 6, 8}, 2, 1, 1},
};

TEST(PackedConv, EveryLayoutAndKernel) {
  int compared = 0;
  for (const Case& c : kCases)
    for (const char* activation : {"none", "relu", "clamp", "sigmoid", "silu", "hardswish"}) {
      const bool full = activation[0] != 'n' && activation[0] != 'c';
      const TensorSpec y = spec(DType::F32, c.y);
      compared += compare_kernels({"_conv2d_packed",
                                   {spec(DType::F32, c.x), spec(DType::F32, c.w),
                                    full ? spec(DType::F32, {c.y[1] * c.y[4]}) : TensorSpec{}, full ? y : TensorSpec{}},
                                   {y},
                                   {Dims{c.stride}, Dims{c.padding}, Dims{c.dilation}, activation, -0.25, 0.5},
                                   {}});
    }
  // Blocks of 8 are served on every machine that has oneDNN and more than the scalar instruction set.
  if (kernel_candidates("_conv2d_packed", DeviceType::CPU).size() > 1 && isa_found() != Isa::Scalar) {
    EXPECT_GE(compared, 10 * 6);
  }
}

// Sums by parts of the input blocks, and output channels cut among threads.
TEST(PackedConv, EveryTeam) {
  const int before = num_threads();
  int compared = 0;
  for (int threads : {1, 2, 5}) {
    set_num_threads(threads);
    for (const Case& c : kRagged) {
      const TensorSpec y = spec(DType::F32, c.y);
      compared +=
          compare_kernels({"_conv2d_packed",
                           {spec(DType::F32, c.x), spec(DType::F32, c.w), spec(DType::F32, {c.y[1] * c.y[4]}), y},
                           {y},
                           {Dims{c.stride}, Dims{c.padding}, Dims{c.dilation}, "relu", 0.0, 0.0},
                           {}});
    }
  }
  set_num_threads(before);
  if (isa_found() != Isa::Scalar) {
    EXPECT_GE(compared, 12);
  }
}

TEST(PackedConv, BlockedPooling) {
  int compared = 0;
  for (int64_t block : {8, 16})
    for (int64_t padding : {0, 1})
      compared += compare_kernels({"_max_pool2d_blocked",
                                   {spec(DType::F32, {2, 3, 11, 12, block})},
                                   {spec(DType::F32, {2, 3, padding + 5, (10 + 2 * padding - 1) / 2 + 1, block})},
                                   {Dims{3}, Dims{2}, Dims{padding}, Dims{1}, false},
                                   {}});
  EXPECT_GE(compared, 4);
}

}  // namespace
}  // namespace hw
