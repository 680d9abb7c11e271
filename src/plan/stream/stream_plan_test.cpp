// Plans of actors: what is refused, how fast, how much memory, against plans played event by event and cycles counted one by one.
#include "plan/stream/stream_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "plan/stream/analysis.h"
#include "plan/stream/random_plan.h"

namespace hw {
namespace {

StreamPlan stages(std::vector<double> seconds, int32_t count) {
  StreamPlan p;
  p.name = "stages";
  for (size_t i = 0; i < seconds.size(); ++i) {
    p.streams.push_back({text("thread", i)});
    StreamActor a;
    a.name = text("stage", i);
    a.kind = i == 0 ? "source" : "host";
    a.stream = static_cast<int32_t>(i);
    a.seconds = seconds[i];
    p.actors.push_back(a);
    if (i == 0) continue;
    p.registers.push_back({text("r", i), static_cast<int32_t>(i) - 1, {static_cast<int32_t>(i)}, 1000, count});
  }
  return p;
}

std::string message(const StreamPlan& plan) {
  try {
    analyse(plan);
  } catch (const Error& e) {
    return e.message();
  }
  return {};
}

TEST(StreamPlan, TwoCopiesOverlapAProducerWithItsConsumer) {
  EXPECT_DOUBLE_EQ(analyse(stages({0.010, 0.020, 0.015}, 1)).step_seconds, 0.035);
  EXPECT_DOUBLE_EQ(analyse(stages({0.010, 0.020, 0.015}, 2)).step_seconds, 0.020);
  const StreamAnalysis a = analyse(stages({0.010, 0.020, 0.015}, 2));
  EXPECT_DOUBLE_EQ(a.utilisation[0], 0.5);
  EXPECT_DOUBLE_EQ(a.utilisation[1], 1);
  EXPECT_EQ(a.memory[0].registers, 4000);
  EXPECT_EQ(a.critical.cycle[0].from, 1);
  std::vector<int64_t> ends;  // of the last stage, when the plan is played
  for (const Firing& f : simulate(stages({0.010, 0.020, 0.015}, 2), 40).firings)
    if (f.actor == 2) ends.push_back(f.end);
  ASSERT_EQ(ends.size(), 40u);
  EXPECT_EQ(ends[0], 45'000'000);  // the first value passes all three
  for (size_t i = 1; i < 40; ++i) EXPECT_EQ(ends[i] - ends[i - 1], 20'000'000);
}

TEST(StreamPlan, CountsAreChosenForSpeedAndFitTheBudget) {
  StreamPlan p = stages({0.010, 0.020, 0.015}, 7);
  choose_register_counts(p);
  EXPECT_EQ(p.registers[0].count, 2);
  EXPECT_EQ(p.registers[1].count, 2);
  EXPECT_DOUBLE_EQ(analyse(p).step_seconds, 0.020);
  choose_register_counts(p, 3000);  // one more copy: between the two whose sum is larger
  EXPECT_EQ(p.registers[0].count, 1);
  EXPECT_EQ(p.registers[1].count, 2);
  EXPECT_DOUBLE_EQ(analyse(p).step_seconds, 0.030);
  EXPECT_THROW(choose_register_counts(p, 1999), Error);
  p.registers[0].fixed = p.registers[1].fixed = true;
  p.registers[0].count = 1;
  choose_register_counts(p);
  EXPECT_EQ(p.registers[0].count, 1);
}

TEST(StreamPlan, ASkippedStageNeedsMoreCopies) {
  StreamPlan p = stages({0.010, 0.010, 0.010, 0.010}, 1);
  p.registers.push_back({"skip", 0, {3}, 10, 1});
  choose_register_counts(p);
  EXPECT_DOUBLE_EQ(analyse(p).step_seconds, 0.010);
  EXPECT_EQ(p.registers[3].count, 4);  // alive from the first stage to the end of the last
}

TEST(StreamPlan, RefusalsNameTheCycle) {
  StreamPlan p = stages({0.01, 0.01}, 0);
  EXPECT_NE(message(p).find("'stage0' -> (register 'r1') -> 'stage1' -> (free copy of 'r1') -> 'stage0'"),
            std::string::npos)
      << message(p);
  EXPECT_NE(message(p).find("more copies"), std::string::npos);
  p = stages({0.01, 0.01}, 1);
  p.registers.push_back({"back", 1, {0}, 8, 1});
  EXPECT_NE(message(p).find("register 'back'"), std::string::npos) << message(p);
  p.registers.back().initial = 1;
  p.registers.back().count = 2;
  EXPECT_EQ(message(p), "");
  EXPECT_DOUBLE_EQ(analyse(p).step_seconds, 0.02);
  p = stages({0.01, 0.01}, 1);
  std::swap(p.actors[0], p.actors[1]);
  p.registers[0].producer = 1, p.registers[0].consumers = {0};
  p.actors[0].stream = p.actors[1].stream = 0;
  p.streams[0].ordered = true;
  EXPECT_NE(message(p).find("order of stream 'thread0'"), std::string::npos) << message(p);
  p.streams[0].ordered = false;
  EXPECT_EQ(message(p), "");
}

TEST(StreamPlan, ProblemsAreNamed) {
  StreamPlan p = stages({0.01, 0.01}, 1);
  p.registers[0].consumers = {1, 1};
  EXPECT_NE(message(p).find("register 'r1' has the consumer 'stage1' twice"), std::string::npos);
  p.registers[0].consumers = {7};
  EXPECT_NE(message(p).find("not in the plan"), std::string::npos);
  p = stages({-1}, 1);
  EXPECT_NE(message(p).find("actor 'stage0' takes -1 seconds"), std::string::npos);
}

/// The largest ratio over all simple cycles, one by one; tokens of zero count as endless.
double brute_ratio(const MarkedGraph& g) {
  double best = 0;
  const auto n = static_cast<int32_t>(g.nanoseconds.size());
  for (int32_t start = 0; start < n; ++start) {
    std::vector<bool> on(static_cast<size_t>(n), false);
    const std::function<void(int32_t, int64_t, int64_t)> walk = [&](int32_t at, int64_t time, int64_t tokens) {
      for (const MarkedEdge& e : g.edges) {
        if (e.from != at || e.to < start) continue;
        const int64_t t = time + g.nanoseconds[static_cast<size_t>(at)], k = tokens + e.tokens;
        if (e.to == start)
          best = std::max(best, k == 0 ? 1e18 : static_cast<double>(t) / static_cast<double>(k));
        else if (!on[static_cast<size_t>(e.to)]) {
          on[static_cast<size_t>(e.to)] = true;
          walk(e.to, t, k);
          on[static_cast<size_t>(e.to)] = false;
        }
      }
    };
    walk(start, 0, 0);
  }
  return best / 1e9;
}

TEST(StreamPlan, RefusedIfAndOnlyIfItStandsStillWhenPlayed) {
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 4000; ++i) {
    const StreamPlan p = random_plan(random);
    const Simulation s = simulate(p, 50);
    EXPECT_EQ(refusal(p).empty(), s.stuck.empty()) << i << " " << refusal(p) << "\n" << write_stream_plan(p);
    refused += !s.stuck.empty();
    if (HasFailure()) return;
  }
  EXPECT_GT(refused, 400);
  EXPECT_LT(refused, 3600);
}

TEST(StreamPlan, TheNamedCycleIsOneAndHoldsNoToken) {
  std::mt19937 random(2);
  for (int i = 0; i < 2000; ++i) {
    const std::vector<MarkedEdge> cycle = dead_cycle(marked_graph(random_plan(random)));
    for (size_t e = 0; e < cycle.size(); ++e) {
      EXPECT_EQ(cycle[e].tokens, 0);
      EXPECT_EQ(cycle[e].to, cycle[(e + 1) % cycle.size()].from);
    }
  }
}

TEST(StreamPlan, TheRatioIsTheLargestOfAllCycles) {
  std::mt19937 random(3);
  int live = 0;
  for (int i = 0; i < 1500; ++i) {
    RandomPlanOptions o;
    o.most_actors = 6;
    const MarkedGraph g = marked_graph(random_plan(random, o));
    if (!dead_cycle(g).empty()) continue;
    ++live;
    const CycleRatio r = largest_cycle_ratio(g);
    ASSERT_NEAR(r.seconds(), brute_ratio(g), 1e-12) << i;
    int64_t time = 0, tokens = 0;
    for (const MarkedEdge& e : r.cycle) time += g.nanoseconds[static_cast<size_t>(e.from)], tokens += e.tokens;
    ASSERT_EQ(time, r.nanoseconds);
    ASSERT_EQ(tokens, r.tokens);
  }
  EXPECT_GT(live, 300);
}

TEST(StreamPlan, ThePredictedStepIsWhatIsPlayed) {
  std::mt19937 random(4);
  for (int i = 0; i < 300; ++i) {
    RandomPlanOptions o;
    o.one_each = true;  // a stream shared without an order is a choice that a marked graph does not make
    const StreamPlan p = random_plan(random, o);
    if (!refusal(p).empty()) continue;
    const int64_t firings = 400;
    const Simulation s = simulate(p, firings);
    int64_t half = 0, end = 0;  // of the actors in the second half
    for (const Firing& f : s.firings) {
      if (f.number == firings / 2) half = std::max(half, f.end);
      end = std::max(end, f.end);
    }
    const double measured = static_cast<double>(end - half) / 1e9 / static_cast<double>(firings - 1 - firings / 2);
    const double step = analyse(p).step_seconds;
    ASSERT_NEAR(measured, step, 0.03 * step + 1e-9) << i << "\n" << write_stream_plan(p);
  }
}

TEST(StreamPlan, ChosenCountsReachTheBestStepAndNoneIsTooMany) {
  std::mt19937 random(5);
  for (int i = 0; i < 300; ++i) {
    RandomPlanOptions o;
    o.loops = o.none = false;
    StreamPlan p = random_plan(random, o);
    for (StreamRegister& r : p.registers) r.initial = 0;
    StreamPlan many = p;
    for (StreamRegister& r : many.registers) r.count = 64;
    if (!refusal(many).empty()) continue;
    choose_register_counts(p);
    const double step = analyse(p).step_seconds;
    ASSERT_DOUBLE_EQ(step, analyse(many).step_seconds) << write_stream_plan(p);
    for (StreamRegister& r : p.registers) {
      if (r.count == 1) continue;
      --r.count;
      ASSERT_TRUE(!refusal(p).empty() || analyse(p).step_seconds > step) << write_stream_plan(p);
      ++r.count;
    }
  }
}

TEST(StreamPlan, TextRoundTripAndRefusals) {
  std::mt19937 random(6);
  for (int i = 0; i < 200; ++i) {
    StreamPlan p = random_plan(random);
    p.links.push_back({"a \"link\" \\", 1e9});
    p.actors[0].link = 0;
    p.actors[0].link_bytes = 1 << 20;
    p.actors[0].origin = "train.py:3";
    p.registers.push_back({"fixed", 0, {0}, 5, 3, true, 1});
    const std::string written = write_stream_plan(p);
    EXPECT_EQ(write_stream_plan(read_stream_plan(written)), written);
  }
  const auto wrong = [](const std::string& t) {
    try {
      read_stream_plan(t);
    } catch (const Error& e) {
      return e.message();
    }
    return std::string("read");
  };
  const std::string head = "headwater stream plan 1\n";
  EXPECT_NE(wrong("headwater stream plan 9\n").find("line 1"), std::string::npos);
  EXPECT_NE(wrong("").find("empty"), std::string::npos);
  EXPECT_EQ(wrong(head + "actor \"a\" fly=1\n"), "line 2: there is no field 'fly' in this version");
  EXPECT_EQ(wrong(head + "actor \"a\n"), "line 2: a text in quotes does not end");
  EXPECT_EQ(wrong(head + "actor \"a\" stream=1x\n"), "line 2: '1x' is not a number that fits here");
  EXPECT_EQ(wrong(head + "actor \"a\" stream=0\n"), "actor 'a' is on no stream of the plan");
  EXPECT_EQ(wrong(head + "fly\n"), "line 2: unknown word 'fly'");
}

TEST(StreamPlan, DamagedTextIsAnErrorAndNothingElse) {
  std::mt19937 random(7);
  const std::string written = write_stream_plan(stages({0.01, 0.02, 0.015}, 2));
  for (int i = 0; i < 5000; ++i) {
    std::string changed = written;
    for (int k = 0; k < 3; ++k) changed[random() % changed.size()] = static_cast<char>(random() % 96 + 32);
    try {
      const StreamPlan p = read_stream_plan(changed);
      if (refusal(p).empty()) analysis_text(p, analyse(p));
    } catch (const Error&) {
    }
  }
}

TEST(StreamPlan, ReportsForPeople) {
  StreamPlan p = stages({0.010, 0.020, 0.015}, 2);
  p.links.push_back({"ethernet", 1e6});
  p.actors[1].link = 0;
  p.actors[1].link_bytes = 10000;
  const std::string report = analysis_text(p, analyse(p));
  for (const char* part : {"step time: 20 ms", "'stage1' -> (its next firing) -> 'stage1'", "50 % busy",
                           "9.77 KiB, 50 % of", "registers 3.91 KiB"})
    EXPECT_NE(report.find(part), std::string::npos) << part << "\n" << report;
}

TEST(StreamPlan, PlansOfAThousandDevicesAreReadInSeconds) {
  StreamPlan p;  // 16 pipelines of 64 stages, each with forward, backward and a skipped register between them
  for (int32_t d = 0; d < 16; ++d)
    for (int32_t s = 0; s < 64; ++s) {
      const auto f = static_cast<int32_t>(p.actors.size());
      p.streams.push_back({text("d", d, ".", s), "cpu:0", d * 64 + s});
      for (const char* what : {"forward", "backward"}) {
        StreamActor a;
        a.name = text(what, d, ".", s);
        a.stream = d * 64 + s;
        a.seconds = what[0] == 'f' ? 0.010 : 0.020 + 1e-5 * s;
        p.actors.push_back(a);
      }
      p.registers.push_back({text("kept", d, ".", s), f, {f + 1}, 100, 64});
      if (s == 0) continue;
      p.registers.push_back({text("x", d, ".", s), f - 2, {f}, 10, 2});
      p.registers.push_back({text("g", d, ".", s), f + 1, {f - 1}, 10, 2});
    }
  const StreamAnalysis a = analyse(p);
  EXPECT_GE(a.step_seconds, 0.03);
  EXPECT_EQ(a.utilisation.size(), 1024u);
}

}  // namespace
}  // namespace hw
