// The engine over ranks in one process: order, sizes, every collective against plain loops, errors, aborts, time-outs.
#include "comm/inproc/inproc.h"

#include <gtest/gtest.h>

#include <barrier>
#include <numeric>
#include <random>
#include <thread>

#include "base/text.h"
#include "core/half.h"

namespace hw {
namespace {

/// Runs body(comm) on a thread for each rank.
template <class F>
void on_ranks(int size, F body) {
  std::vector<Ref<Comm>> world = make_inproc(size);
  std::vector<std::thread> threads;
  for (int r = 0; r < size; ++r) threads.emplace_back([&, r] { body(*world[r]); });
  for (std::thread& t : threads) t.join();
}

#define EXPECT_OK(request)                        \
  do {                                            \
    Status status_ = (request)->wait(60);         \
    EXPECT_TRUE(status_.ok()) << status_.message; \
  } while (0)

/// What rank r holds at k: small whole numbers, exact in every dtype.
int64_t value(int rank, int64_t k) { return (rank + 2) * (k % 7 + 1) % 11; }

TEST(CommInproc, MessagesOfATagArriveInOrder) {
  on_ranks(2, [](Comm& c) {
    constexpr int kMessages = 200;
    std::vector<int> data(kMessages), tags(kMessages);
    std::vector<Request> requests;
    for (int k = 0; k < kMessages; ++k) {
      tags[k] = k * k % 3;
      if (c.rank() == 0) data[k] = k;
      requests.push_back(c.rank() == 0 ? c.send(&data[k], sizeof(int), 1, tags[k])
                                       : c.recv(&data[k], sizeof(int), 0, tags[k]));
    }
    for (Request& r : requests) EXPECT_OK(r);
    for (int k = 0; k < kMessages; ++k) EXPECT_EQ(data[k], k);
  });
}

TEST(CommInproc, OneThreadMayServeAllRanks) {
  auto world = make_inproc(3);
  std::vector<float> data{1, 2, 4};
  std::vector<Request> requests;
  for (int r = 0; r < 3; ++r) requests.push_back(world[r]->all_reduce(&data[r], &data[r], 1, DType::F32, Reduce::Sum));
  for (Request& r : requests) EXPECT_OK(r);
  EXPECT_EQ(data, (std::vector<float>{7, 7, 7}));
}

template <class T>
void reduces(DType dtype, Reduce reduce, int size, int64_t count) {
  on_ranks(size, [&](Comm& c) {
    std::vector<T> in(static_cast<size_t>(count)), out(static_cast<size_t>(count));
    for (int64_t k = 0; k < count; ++k) in[k] = static_cast<T>(static_cast<float>(value(c.rank(), k)));
    EXPECT_OK(c.all_reduce(in.data(), out.data(), count, dtype, reduce));
    EXPECT_OK(c.all_reduce(in.data(), in.data(), count, dtype, reduce));
    for (int64_t k = 0; k < count; ++k) {
      double want = static_cast<double>(value(0, k));
      for (int r = 1; r < size; ++r) {
        auto v = static_cast<double>(value(r, k));
        want = reduce == Reduce::Max       ? std::max(want, v)
               : reduce == Reduce::Min     ? std::min(want, v)
               : reduce == Reduce::Product ? want * v
                                           : want + v;
      }
      if (reduce == Reduce::Average) want = static_cast<double>(static_cast<T>(static_cast<float>(want / size)));
      ASSERT_EQ(static_cast<double>(out[k]), want) << k << " of " << count;
      ASSERT_EQ(static_cast<double>(in[k]), want) << k;
    }
  });
}

TEST(CommInproc, AllReduce) {
  for (int size : {1, 2, 3, 4})
    for (int64_t count : {0, 1, 5, 3000, 20001}) reduces<float>(DType::F32, Reduce::Sum, size, count);
  for (Reduce r : {Reduce::Sum, Reduce::Max, Reduce::Min, Reduce::Product}) {
    reduces<int64_t>(DType::I64, r, 3, 5001);
    reduces<double>(DType::F64, r, 3, 5001);
  }
  reduces<Half>(DType::F16, Reduce::Average, 4, 30001);
  reduces<BFloat16>(DType::BF16, Reduce::Average, 4, 30001);
  reduces<int16_t>(DType::I16, Reduce::Sum, 4, 30001);
}

TEST(CommInproc, LargeReductionsGoInPieces) { reduces<float>(DType::F32, Reduce::Sum, 3, (7 << 20) + 3); }

TEST(CommInproc, TheOrderOfAdditionDoesNotDependOnHowABufferIsCut) {
  on_ranks(4, [](Comm& c) {
    std::mt19937 rng(static_cast<unsigned>(c.rank()));
    std::normal_distribution<float> normal;
    std::vector<float> in(60000), whole(in.size()), part(in.size());
    for (float& x : in) x = normal(rng) * 1e3f;
    EXPECT_OK(c.all_reduce(in.data(), whole.data(), 60000, DType::F32, Reduce::Sum));
    for (int64_t k = 0; k < 60000; k += 777)
      EXPECT_OK(c.all_reduce(&in[k], &part[k], std::min<int64_t>(777, 60000 - k), DType::F32, Reduce::Sum));
    EXPECT_EQ(whole, part);
    std::vector<int64_t> counts{1000, 0, 58999, 1};
    std::vector<float> mine(static_cast<size_t>(counts[c.rank()]));
    EXPECT_OK(c.reduce_scatter(in.data(), mine.data(), counts, DType::F32, Reduce::Sum));
    int64_t begin = std::accumulate(counts.begin(), counts.begin() + c.rank(), int64_t{0});
    EXPECT_TRUE(std::equal(mine.begin(), mine.end(), whole.begin() + begin));
  });
}

/// Unequal parts: member i has i bytes for member j times three, and so on; some are empty.
TEST(CommInproc, GatherAndAllToAllOfUnequalParts) {
  on_ranks(4, [](Comm& c) {
    int me = c.rank();
    std::vector<size_t> sizes{3, 0, 1000, 1};
    std::vector<char> mine(sizes[me], static_cast<char>('a' + me)), all(1004), wanted;
    EXPECT_OK(c.all_gather(mine.data(), all.data(), sizes));
    for (int r = 0; r < 4; ++r) wanted.insert(wanted.end(), sizes[r], static_cast<char>('a' + r));
    EXPECT_EQ(all, wanted);

    std::vector<size_t> out_sizes, in_sizes;
    std::vector<char> out, in, want;
    for (int r = 0; r < 4; ++r) {
      out_sizes.push_back(static_cast<size_t>(me * 5 * r));
      in_sizes.push_back(static_cast<size_t>(r * 5 * me));
      out.insert(out.end(), out_sizes[r], static_cast<char>(10 * me + r));
      want.insert(want.end(), in_sizes[r], static_cast<char>(10 * r + me));
    }
    in.resize(want.size());
    EXPECT_OK(c.all_to_all(out.data(), out_sizes, in.data(), in_sizes));
    EXPECT_EQ(in, want);
  });
}

TEST(CommInproc, BroadcastSmallAndLargeFromEveryRoot) {
  on_ranks(3, [](Comm& c) {
    for (int root = 0; root < 3; ++root)
      for (size_t bytes : {size_t{0}, size_t{5}, size_t{1000003}}) {
        std::vector<char> data(bytes, static_cast<char>(c.rank() == root ? 7 : 0));
        EXPECT_OK(c.broadcast(data.data(), bytes, root));
        EXPECT_EQ(std::count(data.begin(), data.end(), 7), static_cast<int64_t>(bytes));
      }
  });
}

/// The same random programme on every rank: collectives of random kinds, sizes and groups, many under way at once.
TEST(CommInproc, RandomSequencesOfCollectives) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    on_ranks(4, [seed](Comm& c) {
      std::mt19937 rng(seed);
      const std::vector<std::vector<int>> groups{{}, {0, 1, 2, 3}, {2, 0}, {1, 3}, {3, 2, 1}, {0, 1, 2}};
      struct Call {
        Request request;
        std::vector<int64_t> in, out, want;
      };
      std::vector<std::unique_ptr<Call>> calls;
      for (int step = 0; step < 60; ++step) {
        const auto& group = groups[rng() % groups.size()];
        std::vector<int> ranks = group.empty() ? std::vector<int>{0, 1, 2, 3} : group;
        auto count = static_cast<int64_t>(rng() % 5000);
        bool sums = rng() % 2;
        size_t wait_for = rng() % 60;
        if (std::find(ranks.begin(), ranks.end(), c.rank()) == ranks.end()) continue;
        auto call = std::make_unique<Call>();
        for (int64_t k = 0; k < count; ++k) call->in.push_back(value(c.rank(), k + step));
        if (sums) {
          call->out.resize(call->in.size());
          for (int64_t k = 0; k < count; ++k) {
            call->want.push_back(0);
            for (int r : ranks) call->want.back() += value(r, k + step);
          }
          call->request = c.all_reduce(call->in.data(), call->out.data(), count, DType::I64, Reduce::Sum, group);
        } else {
          call->out.resize(call->in.size() * ranks.size());
          for (int r : ranks)
            for (int64_t k = 0; k < count; ++k) call->want.push_back(value(r, k + step));
          std::vector<size_t> sizes(ranks.size(), call->in.size() * 8);
          call->request = c.all_gather(call->in.data(), call->out.data(), sizes, group);
        }
        calls.push_back(std::move(call));
        if (wait_for < calls.size()) EXPECT_OK(calls[wait_for]->request);
      }
      for (auto& call : calls) {
        EXPECT_OK(call->request);
        EXPECT_EQ(call->out, call->want);
      }
    });
  }
}

TEST(CommInproc, CallbacksComeWithoutAnybodyWaiting) {
  auto world = make_inproc(2);
  std::atomic<int> done{0};
  float a = 1, b = 2;
  Request first = world[0]->all_reduce(&a, &a, 1, DType::F32, Reduce::Sum);
  first->when_done([](void* n) { static_cast<std::atomic<int>*>(n)->fetch_add(1); }, &done);
  Request second = world[1]->all_reduce(&b, &b, 1, DType::F32, Reduce::Sum);
  second->when_done([](void* n) { static_cast<std::atomic<int>*>(n)->fetch_add(1); }, &done);
  for (int k = 0; k < 20000 && done.load() < 2; ++k) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(done.load(), 2);
  EXPECT_EQ(a, 3);
  EXPECT_EQ(b, 3);
}

TEST(CommInproc, MistakesAreNamed) {
  auto world = make_inproc(2);
  Comm& c = *world[0];
  float x = 0;
  auto message = [](const Request& r) {
    EXPECT_EQ(r->wait().code, Status::Code::Mismatch);
    return r->status().message;
  };
  EXPECT_EQ(message(c.send(&x, 4, 2, 0)), "send of 4 bytes to rank 2, tag 0: there are ranks 0 to 1");
  EXPECT_EQ(message(c.recv(&x, 4, 1, -1)), "recv of 4 bytes from rank 1, tag -1: tags go from 0 to 32767");
  std::vector<int> other{1}, twice{0, 0}, outside{0, 5};
  EXPECT_EQ(message(c.barrier(other)), "barrier: rank 0 is no member of the group");
  EXPECT_EQ(message(c.barrier(twice)), "barrier: the group names rank 0 twice");
  EXPECT_EQ(message(c.barrier(outside)), "barrier: the group names rank 5, there are ranks 0 to 1");
  EXPECT_NE(message(c.all_reduce(&x, &x, 1, DType::C64, Reduce::Max)).find("complex numbers have no order"),
            std::string::npos);
  std::vector<size_t> sizes{4};
  EXPECT_EQ(message(c.all_gather(&x, &x, sizes)),
            "all_gather: 1 sizes for 2 ranks: give one for each member of the group");
}

TEST(CommInproc, AMessageOfAnotherSizeIsTheReceiversError) {
  auto world = make_inproc(2);
  int x[2] = {};
  Request sent = world[0]->send(x, 8, 1, 3), received = world[1]->recv(x, 4, 0, 3);
  EXPECT_TRUE(sent->wait(10).ok());
  EXPECT_EQ(received->wait(10).message, "recv of 4 bytes from rank 0, tag 3: rank 0 sent 8 bytes, 4 were expected");
  EXPECT_TRUE(world[1]->status().ok());
}

TEST(CommInproc, AbortWakesEverybodyWithTheFirstCause) {
  on_ranks(4, [](Comm& c) {
    float x = 0;
    if (c.rank() == 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      c.abort("rank 2: disk is full");
      c.abort("a later cause");
    } else {
      Status status = c.all_reduce(&x, &x, 1, DType::F32, Reduce::Sum)->wait(60);
      EXPECT_EQ(status.code, Status::Code::Aborted);
      EXPECT_EQ(status.message, "rank 2: disk is full");
    }
    Status after = c.barrier()->wait(60);
    EXPECT_EQ(after.message, "rank 2: disk is full");
    EXPECT_EQ(c.status().code, Status::Code::Aborted);
  });
}

TEST(CommInproc, ATimeOutSaysWhoIsMissing) {
  auto world = make_inproc(3);
  float x = 0, y = 0;
  Request first = world[0]->all_reduce(&x, &x, 1, DType::F32, Reduce::Sum);
  Request second = world[1]->all_reduce(&y, &y, 1, DType::F32, Reduce::Sum);
  EXPECT_FALSE(first->wait_for(0.02));
  EXPECT_TRUE(world[0]->status().ok());
  Status status = first->wait(0.05);
  EXPECT_EQ(status.code, Status::Code::Timeout);
  EXPECT_EQ(
      status.message,
      "rank 0 waited 0.05 s for all_reduce of 1 f32; nothing came from rank 2. Is every rank making the same calls?");
  EXPECT_EQ(second->wait(60).code, Status::Code::Aborted);
  EXPECT_EQ(second->status().message, status.message);
}

TEST(CommInproc, AClosedCommEndsWhatTheOthersWaitFor) {
  auto world = make_inproc(2);
  float x = 0;
  Request mine = world[0]->recv(&x, 4, 1, 0), theirs = world[1]->recv(&x, 4, 0, 0);
  world[1] = Ref<Comm>();
  EXPECT_EQ(theirs->status().code, Status::Code::Aborted);
  EXPECT_EQ(mine->wait(60).message, "rank 1 closed its Comm while messages were under way");
}

TEST(CommInproc, RanksBeginAnewAfterAnAbort) {
  std::barrier met(3);  // an abort overtakes what slower ranks still wait for, c.barrier() as well
  on_ranks(3, [&met](Comm& c) {
    for (int round = 0; round < 3; ++round) {
      float mine = static_cast<float>(c.rank() + 1), lost = 0;
      Request never = c.recv(&lost, sizeof lost, (c.rank() + 1) % 3, 5);
      Request left_behind = c.rank() == 1 ? c.send(&mine, sizeof mine, 2, 9) : Request();
      if (c.rank() == 0) c.abort(text("round ", round));
      EXPECT_EQ(never->wait(60).message, text("round ", round));
      EXPECT_TRUE(c.renew(60).ok());
      EXPECT_TRUE(c.status().ok());
      EXPECT_OK(c.all_reduce(&mine, &mine, 1, DType::F32, Reduce::Sum));
      EXPECT_EQ(mine, 6);
      if (c.rank() == 1) mine = 10;
      if (c.rank() == 1) EXPECT_OK(c.send(&mine, sizeof mine, 2, 9));
      if (c.rank() == 2) EXPECT_OK(c.recv(&mine, sizeof mine, 1, 9));  // not what was left behind
      if (c.rank() == 2) {
        EXPECT_EQ(mine, 10);
      }
      EXPECT_OK(c.barrier());
      met.arrive_and_wait();
    }
  });
}

TEST(CommInproc, BeginningAnewFailsWithoutTheOthers) {
  auto world = make_inproc(2);
  world[0]->abort("enough");
  EXPECT_NE(world[0]->renew(0.05).message.find("1 of 2 ranks came"), std::string::npos);
  EXPECT_EQ(world[0]->status().message, "enough");
}

}  // namespace
}  // namespace hw
