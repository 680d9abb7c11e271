// Runs of plans of actors: order, overlap, back-pressure, ends of every kind.
#include "runtime/run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "chain/chain.h"
#include "core/tensor.h"
#include "plan/sample_plan.h"
#include "plan/stream/analysis.h"
#include "plan/stream/random_plan.h"
#include "runtime/sample_actors.h"

namespace hw {
namespace {

using State = StreamRun::State;

/// Stages one after the other, each on a stream of its own, "source" to "sink".
StreamPlan line_of(int32_t stages, int32_t count) {
  StreamPlan p;
  p.name = "line";
  for (int32_t i = 0; i < stages; ++i) {
    p.streams.push_back({text("thread", i), "cpu:0", 0, false});
    StreamActor a;
    a.name = text("stage", i);
    a.kind = i == 0 ? "source" : i + 1 == stages ? "sink" : "host";
    a.stream = i;
    a.runs = text("function", i);
    a.origin = text("file.py:", i);
    p.actors.push_back(a);
    StreamRegister r;
    r.name = text("r", i);
    r.producer = i - 1;
    r.consumers = {i};
    r.count = count;
    if (i > 0) p.registers.push_back(r);
  }
  return p;
}

TEST(Runtime, ValuesArriveInOrder) {
  std::vector<int64_t> got;
  StreamRun run(line_of(4, 2), {counting(1000), adding(), adding(), calls([&](FiringView& f) -> Fired {
                                  got.push_back(number_of(f.inputs[0]));
                                  return {};
                                })});
  ASSERT_EQ(run.wait(30), State::Finished);
  ASSERT_EQ(got.size(), 1000u);
  for (int64_t i = 0; i < 1000; ++i) ASSERT_EQ(got[static_cast<size_t>(i)], i);
}

TEST(Runtime, NothingOfARunIsLeft) {
  const int64_t before = Number::alive;
  { StreamRun run(line_of(3, 4), {counting(-1), adding(), adding(0.001)}); }
  EXPECT_EQ(Number::alive, before);
}

/// Stages of 10, 20 and 15 ms. What is measured is compared with what was measured of the stages themselves: sleeps last longer on a
/// busy machine.
TEST(Runtime, StagesOverlap) {
  RunOptions options;
  options.record = true;
  StreamRun run(line_of(4, 2), {counting(40), adding(0.010), adding(0.020), adding(0.015)}, options);
  ASSERT_EQ(run.wait(60), State::Finished);
  std::vector<double> busy;
  double sum = 0;
  for (const auto& s : run.actor_stats()) busy.push_back(s.busy_seconds), sum += s.busy_seconds;
  int64_t end = 0;
  int overlaps = 0;
  const std::vector<FiringRecord> records = run.records();
  for (const FiringRecord& a : records) {
    end = std::max(end, a.end);
    if (a.actor != 2) continue;
    overlaps += std::any_of(records.begin(), records.end(),
                            [&](const FiringRecord& b) { return b.actor == 3 && b.begin < a.end && a.begin < b.end; });
  }
  EXPECT_GE(overlaps, 36);  // of 40: the second stage works while the third does
  EXPECT_LT(static_cast<double>(end) / 1e9, 0.75 * sum);
  for (const double b : busy) EXPECT_GE(static_cast<double>(end) / 1e9, b);
}

double median(std::vector<double> of) {
  std::nth_element(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2), of.end());
  return of[of.size() / 2];
}

/// Stages of 10, 20 and 15 ms: once the registers are full, the step over the time that the slowest stage takes in it, both measured.
double steady_step_of_the_slowest() {
  RunOptions options;
  options.record = true;
  StreamRun run(line_of(4, 2), {counting(24), adding(0.010), adding(0.020), adding(0.015)}, options);
  EXPECT_EQ(run.wait(60), State::Finished);
  std::vector<double> steps, firings;
  int64_t before = 0;
  for (const FiringRecord& r : run.records()) {  // those of one actor are in their order
    if (r.actor != 2) continue;
    if (r.number >= 8) {
      steps.push_back(static_cast<double>(r.end - before));
      firings.push_back(static_cast<double>(r.end - r.begin));
    }
    before = r.end;
  }
  return median(steps) / median(firings);
}

/// 20 ms within 10 %, not 45. Sleeps last longer on a busy machine, for a stage and for the step; the best of three runs counts.
TEST(Runtime, TheSteadyStepIsThatOfTheSlowestStage) {
  double best = 1e9;
  for (int i = 0; i < 3 && best > 1.1; ++i) best = std::min(best, steady_step_of_the_slowest());
  EXPECT_GT(best, 0.99);
  EXPECT_LE(best, 1.1);
}

TEST(Runtime, ASlowConsumerBoundsItsProducers) {
  const int64_t before = Number::alive;
  std::atomic<int64_t> most{0};
  StreamRun run(line_of(3, 3), {counting(60), adding(), calls([&](FiringView&) -> Fired {
                                  pause(0.002);
                                  most = std::max(most.load(), Number::alive - before);
                                  return {};
                                })});
  ASSERT_EQ(run.wait(30), State::Finished);
  // Three copies of each register, and what a firing has just made or still holds.
  EXPECT_LE(most.load(), 3 + 3 + 2);
  for (const auto& r : run.register_stats()) EXPECT_EQ(r.most_held, 3);
}

TEST(Runtime, EveryActorOfALivePlanFires) {
  std::mt19937 random(11);
  int ran = 0, refused = 0;
  for (int i = 0; i < 300; ++i) {
    const StreamPlan plan = random_plan(random);
    std::vector<ActorBinding> bindings(plan.actors.size());
    for (ActorBinding& b : bindings) b = adding();
    RunOptions options;
    options.most_firings = 40;
    if (!refusal(plan).empty()) {
      ++refused;
      try {
        StreamRun(plan, bindings, options);
        FAIL() << "it ran";
      } catch (const Error& e) {  // that the cycle is one: stream_plan_test.cpp
        EXPECT_EQ(e.message(), text("plan 'random': ", refusal(plan)));
        EXPECT_NE(e.message().find("would wait for each other for ever: '"), std::string::npos) << e.message();
      }
      continue;
    }
    ++ran;
    StreamRun run(plan, bindings, options);
    ASSERT_EQ(run.wait(60), State::Finished) << write_stream_plan(plan);
    for (const auto& a : run.actor_stats()) ASSERT_EQ(a.fired, 40);
    const auto stats = run.register_stats();
    for (size_t r = 0; r < stats.size(); ++r) ASSERT_LE(stats[r].most_held, plan.registers[r].count);
  }
  EXPECT_GT(ran, 50);
  EXPECT_GT(refused, 50);
}

TEST(Runtime, TheFirstFaultEndsTheRunAndIsNamed) {
  StreamRun run(line_of(4, 2), {counting(-1), adding(), calls([](FiringView& f) -> Fired {
                                  check(f.number < 5, "five is too many");
                                  f.outputs[0] = f.inputs[0];
                                  return {};
                                }),
                                adding()});
  ASSERT_EQ(run.wait(30), State::Failed);
  EXPECT_EQ(run.fault()->text(), "actor 'stage2' (function2) of file.py:2: five is too many");
  EXPECT_EQ(run.fault()->kind, ErrorKind::Value);
  EXPECT_EQ(run.actor_stats()[2].fired, 5);
}

TEST(Runtime, StopEndsARunWithoutAFault) {
  StreamRun run(line_of(3, 2), {counting(-1), adding(), adding()});
  EXPECT_EQ(run.wait(0.05), State::Running);
  run.stop();
  EXPECT_EQ(run.wait(10), State::Stopped);
  EXPECT_EQ(run.fault(), nullptr);
  EXPECT_GT(run.actor_stats()[2].fired, 0);
}

TEST(Runtime, ATimeoutNamesWhoIsAtWork) {
  std::atomic<bool> go{false};
  RunOptions options;
  options.timeout = 0.2;
  StreamRun run(line_of(2, 2), {counting(-1), calls([&](FiringView&) -> Fired {
                                  while (!go) pause(0.01);
                                  return {};
                                })},
                options);
  EXPECT_EQ(run.wait(30), State::Failed);
  EXPECT_NE(run.fault()->message.find("no firing ended within the timeout of 0.2 s; 'stage1' is in its firing 1"),
            std::string::npos)
      << run.fault()->message;
  EXPECT_FALSE(run.join(0.05));
  go = true;
  EXPECT_TRUE(run.join(10));
}

TEST(Runtime, WhoeverIsNotReadEnds) {  // two sources; the shorter one ends the run of both
  StreamPlan p = line_of(2, 2);
  p.streams.push_back({"other", "cpu:0", 0, false});
  p.actors.push_back({"endless", "source", 2, 0, "", "", 0, -1, 0});
  p.registers.push_back({"e", 2, {1}, 0, 3});
  StreamRun run(p, {counting(7), adding(), counting(-1)});
  EXPECT_EQ(run.wait(30), State::Finished);
  EXPECT_EQ(run.actor_stats()[1].fired, 7);
}

TEST(Runtime, OrderedStreamsFireInTurns) {
  StreamPlan p = line_of(4, 8);
  for (StreamActor& a : p.actors) a.stream = 0;
  p.streams.resize(1);
  p.streams[0].ordered = true;
  RunOptions options;
  options.record = true;
  StreamRun run(p, {counting(20), adding(), adding(), adding()}, options);
  ASSERT_EQ(run.wait(30), State::Finished);
  const auto records = run.records();
  ASSERT_EQ(records.size(), 80u);
  for (size_t i = 0; i < 80; ++i) EXPECT_EQ(records[i].actor, static_cast<int32_t>(i % 4));
}

TEST(Runtime, TheCallersThreadRunsTheOutlet) {
  StreamPlan p = line_of(3, 2);
  p.actors[2].kind = "outlet";
  RunOptions options;
  options.caller_stream = 2;
  {
    StreamRun run(p, {counting(50), adding(), {}}, options);
    for (int64_t i = 0; i < 50; ++i) {
      ASSERT_EQ(run.next(30), State::Item);
      EXPECT_EQ(number_of(run.take()[0]), i);
    }
    EXPECT_EQ(run.next(30), State::Finished);
    EXPECT_EQ(run.next(30), State::Finished);
    EXPECT_TRUE(run.join(10));
  }
  const int64_t before = Number::alive;
  {
    StreamRun run(p, {counting(-1), adding(), {}}, options);  // the caller goes away
    ASSERT_EQ(run.next(30), State::Item);
    pause(0.02);
    EXPECT_LE(run.actor_stats()[0].fired, 6);  // and asks no more: nobody works ahead further than the registers allow
  }
  EXPECT_EQ(Number::alive, before);
}

TEST(Runtime, ARunThatWasJoinedHoldsNoValues) {
  StreamPlan p = line_of(3, 4);
  p.actors[2].kind = "outlet";
  RunOptions options;
  options.caller_stream = 2;
  const int64_t before = Number::alive;
  StreamRun run(p, {counting(-1), adding(), {}}, options);
  ASSERT_EQ(run.next(30), State::Item);  // and it stays there
  while (run.register_stats()[1].most_held < 4) pause(0.001);
  EXPECT_GT(Number::alive, before);
  run.stop();
  ASSERT_TRUE(run.join(30));
  EXPECT_EQ(Number::alive, before);
  EXPECT_GT(run.actor_stats()[0].fired, 0);
}

TEST(Runtime, AFaultReachesTheCaller) {
  StreamPlan p = line_of(2, 2);
  p.actors[1].kind = "outlet";
  RunOptions options;
  options.caller_stream = 1;
  StreamRun run(p,
                {calls([](FiringView& f) -> Fired {
                   if (f.number == 3) return {Fired::How::Failed, {ErrorKind::Index, "broken", {}, {}, {}, {}}};
                   f.outputs[0] = make_ref<Number>(1);
                   return {};
                 }),
                 {}},
                options);
  State s = State::Item;
  for (int i = 0; i < 10 && s == State::Item; ++i) {
    s = run.next(30);
    if (s == State::Item) run.take();
  }
  EXPECT_EQ(s, State::Failed);
  EXPECT_EQ(run.fault()->message, "broken");
}

TEST(Runtime, ChainsAndCopiesWorkInTheMemoryOfTheirRegisters) {
  Plan program;  // y = exp(x)
  program.name = "exp";
  program.origins = {""};
  program.sources = {{"x", sample_spec({16}), false, false}};
  program.buffers = {{PlanBuffer::Kind::Source, 0, 0, 64}, {PlanBuffer::Kind::Output, 0, 0, 64}};
  program.tensors = {{0, 0, sample_spec({16})}, {1, 0, sample_spec({16})}};
  program.steps = {{"exp", {0}, {1}, {}, {}, DType::F32, 0, -1, {}}};
  program.outputs = {64};
  program.results = {1};
  StreamPlan p = line_of(4, 2);
  p.actors[1].kind = "copy";
  p.actors[2].kind = "compute";
  for (StreamRegister& r : p.registers) r.bytes = 64;
  ActorBinding compute;
  compute.chain = std::make_shared<Chain>(std::move(program));
  std::vector<const void*> memory;
  StreamRun run(
      p, {calls([](FiringView& f) -> Fired {
            if (f.number == 20) return {Fired::How::End};
            auto made = make_ref<Storage>(64);
            for (int i = 0; i < 16; ++i) static_cast<float*>(made->data())[i] = static_cast<float>(f.number);
            f.outputs[0] = made;
            return {};
          }),
          {},
          compute,
          calls([&](FiringView& f) -> Fired {
            const auto& in = static_cast<const Storage&>(*f.inputs[0]);
            memory.push_back(in.data());
            check(std::abs(static_cast<float*>(in.data())[15] / std::exp(static_cast<float>(f.number)) - 1) < 1e-5f,
                  "wrong value in step ", f.number);
            return {};
          })});
  ASSERT_EQ(run.wait(30), State::Finished) << run.fault()->text();
  std::sort(memory.begin(), memory.end());
  memory.erase(std::unique(memory.begin(), memory.end()), memory.end());
  EXPECT_LE(memory.size(), 2u);  // two copies, written again and again
}

TEST(Runtime, WrongBindingsAreNamed) {
  const auto message = [](StreamPlan p, std::vector<ActorBinding> b) {
    try {
      StreamRun run(std::move(p), b);
    } catch (const Error& e) {
      return e.message();
    }
    return std::string("ran");
  };
  EXPECT_NE(message(line_of(2, 1), {counting(1)}).find("2 actors, got 1 bindings"), std::string::npos);
  EXPECT_EQ(message(line_of(2, 1), {counting(1), {}}), "actor 'stage1' of kind 'sink' needs a function to call");
  StreamPlan p = line_of(2, 1);
  p.actors[1].kind = "fly";
  EXPECT_NE(message(p, {counting(1), {}}).find("'fly', which is none; there are: "), std::string::npos);
  EXPECT_NE(message(line_of(2, 0), {counting(1), adding()}).find("free copy of 'r1'"), std::string::npos);
}

}  // namespace
}  // namespace hw
