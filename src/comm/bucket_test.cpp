// Buckets: the bits of one all_reduce a piece, whatever the sizes; fewer bits on the wire; errors.
#include "comm/bucket.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "base/error.h"
#include "comm/inproc/inproc.h"
#include "core/half.h"

namespace hw {
namespace {

std::vector<std::vector<float>> random_pieces(unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> out;
  for (size_t size : {3u, 0u, 200000u, 1u, 7000u, 150000u, 999u}) {
    out.emplace_back(size);
    for (float& x : out.back()) x = normal(rng) * 100;
  }
  return out;
}

std::vector<Bucket::Piece> pieces_of(std::vector<std::vector<float>>& data) {
  std::vector<Bucket::Piece> out;
  for (auto& d : data) out.push_back({d.data(), static_cast<int64_t>(d.size())});
  return out;
}

TEST(CommBucket, TheBitsOfOneReductionAPiece) {
  auto world = make_inproc(3);
  auto memory = make_ref<BucketMemory>();
  std::vector<std::thread> threads;
  for (int r = 0; r < 3; ++r)
    threads.emplace_back([&, r] {
      for (DType wire : {DType::None, DType::BF16}) {
        auto bucketed = random_pieces(static_cast<unsigned>(r)), single = bucketed;
        Bucket bucket(*world[r], memory, pieces_of(bucketed), DType::F32, Reduce::Average, wire, {});
        EXPECT_TRUE(bucket.wait_for(60));
        EXPECT_TRUE(bucket.status().ok());
        for (size_t k = 0; k < single.size(); ++k) {
          auto n = static_cast<int64_t>(single[k].size());
          if (wire == DType::None) {
            EXPECT_TRUE(world[r]
                            ->all_reduce(single[k].data(), single[k].data(), n, DType::F32, Reduce::Average)
                            ->wait(60)
                            .ok());
          } else {
            std::vector<BFloat16> sent(single[k].begin(), single[k].end());
            EXPECT_TRUE(world[r]->all_reduce(sent.data(), sent.data(), n, DType::BF16, Reduce::Average)->wait(60).ok());
            single[k].assign(sent.begin(), sent.end());
          }
          EXPECT_EQ(single[k], bucketed[k]) << k;
        }
      }
    });
  for (std::thread& t : threads) t.join();
}

TEST(CommBucket, AnAbortIsItsStatus) {
  auto world = make_inproc(2);
  auto data = random_pieces(0);
  Bucket bucket(*world[0], make_ref<BucketMemory>(), pieces_of(data), DType::F32, Reduce::Sum, DType::None, {});
  EXPECT_FALSE(bucket.wait_for(0.01));
  world[1]->abort("rank 1: enough");
  EXPECT_TRUE(bucket.wait_for(60));
  EXPECT_EQ(bucket.status().message, "rank 1: enough");
  EXPECT_THROW(Bucket(*world[0], make_ref<BucketMemory>(), {}, DType::I32, Reduce::Sum, DType::BF16, {}), Error);
}

}  // namespace
}  // namespace hw
