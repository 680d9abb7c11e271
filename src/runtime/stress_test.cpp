// Random plans at work, ended in random ways at random moments: none hangs, nothing of them is left.
#include <gtest/gtest.h>
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <thread>

#include "plan/stream/analysis.h"
#include "plan/stream/random_plan.h"
#include "runtime/sample_actors.h"

namespace hw {
namespace {

using State = StreamRun::State;

/// Ends the process if a round takes longer than two minutes, and says which.
class Watchdog {
 public:
  Watchdog() { signal(SIGALRM, &bark); }
  ~Watchdog() {
    alarm(0);
    signal(SIGALRM, SIG_DFL);
  }
  Watchdog(const Watchdog&) = delete;
  void begin(unsigned seed) {
    std::snprintf(said_, sizeof said_, "the stress hangs in the round of HEADWATER_STRESS_SEED=%u\n", seed);
    alarm(120);
  }

 private:
  static void bark(int) {
    const ssize_t written = write(STDERR_FILENO, said_, sizeof said_);
    _exit(written > 0 ? 3 : 4);
  }
  static inline char said_[80];
};

int64_t entries(const char* folder) {
  int64_t n = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) n += !entry.path().empty();
  return n;
}

/// What a process has, and would have more of if a run left something.
struct Possessions {
  int64_t threads = entries("/proc/self/task"), files = entries("/proc/self/fd"), numbers = Number::alive;
  int64_t bytes = static_cast<int64_t>(mallinfo2().uordblks);  // 0 where a sanitizer has its own allocator
};

/// Threads that were left to themselves end soon, and the kernel forgets a joined one a moment after the join.
Possessions settled(const Possessions& before) {
  Possessions now;
  for (int i = 0; i < 1000 && (now.threads > before.threads || now.numbers > before.numbers); ++i) {
    pause(0.01);
    now = Possessions();
  }
  return now;
}

enum class Ending { Wait, Stop, StopFromAThread, Drop, Abandon, kCount };

struct Round {
  StreamPlan plan;
  std::vector<ActorBinding> bindings;
  RunOptions options;
  std::set<std::string> culprits;  // actors that fail if they get that far
  bool ends = false;               // some actor ends in the middle
  Ending ending = Ending::Wait;
};

/// The caller reads some register of the plan.
void add_outlet(Round& round, std::mt19937& random) {
  StreamPlan& p = round.plan;
  if (p.registers.empty()) return;
  round.options.caller_stream = static_cast<int32_t>(p.streams.size());
  p.streams.push_back({"caller", "cpu:0", 0, false});
  p.registers[random() % p.registers.size()].consumers.push_back(static_cast<int32_t>(p.actors.size()));
  p.actors.push_back({"outlet", "outlet", round.options.caller_stream, 0, "", "", 0, -1, 0});
}

Round random_round(std::mt19937& random) {
  Round round;
  RandomPlanOptions o;
  o.most_count = 4;
  round.plan = random_plan(random, o);
  round.ending = static_cast<Ending>(random() % static_cast<unsigned>(Ending::kCount));
  round.options.record = random() % 2;
  round.options.most_firings = round.ending == Ending::Wait || random() % 2 ? 60 : -1;
  const bool sleeps = random() % 4 == 0;
  const unsigned trouble = random() % 3;  // 0: none
  for (const StreamActor& a : round.plan.actors) {
    const auto when = static_cast<int64_t>(random() % 60);
    if (trouble && random() % 8 == 0) {
      round.bindings.push_back(counting(when));
      round.ends = true;
    } else if (trouble && random() % 8 == 0) {
      round.culprits.insert(a.name);
      round.bindings.push_back(calls([when](FiringView& f) -> Fired {
        check(f.number < when, "on purpose");
        for (Payload& p : f.outputs) p = make_ref<Number>(1);
        return {};
      }));
    } else {
      round.bindings.push_back(adding(sleeps && random() % 2 ? 1e-5 : 0));
    }
  }
  if (random() % 3 == 0) add_outlet(round, random);
  round.bindings.resize(round.plan.actors.size());
  return round;
}

/// Waits for the end as a caller does who reads everything.
State read_all(StreamRun& run, const Round& round) {
  if (round.options.caller_stream < 0) return run.wait(60);
  State s;
  while ((s = run.next(60)) == State::Item) run.take();
  return s;
}

void expect_that_it_ended(const StreamRun& run, const Round& round, State s) {
  const Fault* fault = run.fault();
  ASSERT_NE(s, State::Running) << run.at_work();
  ASSERT_EQ(s == State::Failed, fault != nullptr);
  if (fault) {
    ASSERT_EQ(fault->message, "on purpose");
    ASSERT_TRUE(round.culprits.count(fault->actor)) << fault->actor;
  }
  if (round.ending != Ending::Wait) return;
  ASSERT_NE(s, State::Stopped);
  if (!round.ends && !round.culprits.empty()) {
    ASSERT_TRUE(fault);
  }
}

void play(Round& round, std::mt19937& random) {
  StreamRun run(round.plan, round.bindings, round.options);
  if (round.options.caller_stream >= 0)  // an impatient reader
    for (auto n = random() % 20; n > 0 && run.next(0.0001) == State::Item; --n) run.take();
  if (round.ending != Ending::Wait && random() % 2) pause(1e-6 * static_cast<double>(random() % 2000));
  switch (round.ending) {
    case Ending::Wait: return expect_that_it_ended(run, round, read_all(run, round));
    case Ending::Stop:
      run.stop();
      ASSERT_TRUE(run.join(60)) << run.at_work();
      return expect_that_it_ended(run, round, run.wait(0));
    case Ending::StopFromAThread: {
      std::thread other([&] { run.stop(); });
      const State s = read_all(run, round);
      other.join();
      return expect_that_it_ended(run, round, s);
    }
    case Ending::Abandon:
      run.stop();
      run.abandon();
      break;
    case Ending::Drop:
    case Ending::kCount: break;
  }
}

/// For as long as HEADWATER_STRESS_SECONDS says; HEADWATER_STRESS_SEED is the first round's, each has the next one.
TEST(Runtime, StressNeitherHangsNorLeaks) {
  const char *seconds = std::getenv("HEADWATER_STRESS_SECONDS"), *first = std::getenv("HEADWATER_STRESS_SEED");
  const std::chrono::duration<double> length(seconds ? std::atof(seconds) : 2.5);
  auto seed = static_cast<unsigned>(first ? std::atoi(first) : 1);
  const auto began = std::chrono::steady_clock::now();
  Watchdog watchdog;
  const Possessions before;
  int64_t bytes = 0;
  int rounds = 0, counted = 0;
  while (std::chrono::steady_clock::now() - began < length) {
    std::mt19937 random(seed);
    Round round = random_round(random);
    watchdog.begin(seed++);
    if (!refusal(round.plan).empty()) continue;
    play(round, random);
    ASSERT_FALSE(HasFatalFailure()) << "HEADWATER_STRESS_SEED=" << seed - 1 << "\n" << write_stream_plan(round.plan);
    if (++rounds == 100)
      bytes = settled(before).bytes, counted = rounds;  // from here on nothing is done for the first time
  }
  const Possessions after = settled(before);
  EXPECT_EQ(after.threads, before.threads);
  EXPECT_EQ(after.files, before.files);
  EXPECT_EQ(after.numbers, before.numbers);
  if (counted) {
    // What the allocator keeps for threads goes up and down by this; a round makes some 10 kB.
    EXPECT_LT(after.bytes - bytes, 1 << 20) << "in " << rounds - counted << " rounds";
  }
  EXPECT_GT(rounds, 10);
  RecordProperty("rounds", rounds);
  std::printf("%d rounds, %ld bytes more than after %d\n", rounds, static_cast<long>(after.bytes - bytes), counted);
}

}  // namespace
}  // namespace hw
