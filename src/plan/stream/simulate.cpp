// Plays a plan of actors, event by event, without its marked graph: on registers, credits and streams, as the runtime would.
#include <algorithm>
#include <cmath>
#include <queue>

#include "base/error.h"
#include "plan/stream/analysis.h"

namespace hw {

namespace {

class Player {
 public:
  Player(const StreamPlan& plan, int64_t firings) : plan_(plan), goal_(firings) {
    const std::string problem = stream_plan_problem(plan);
    check(problem.empty(), problem);
    inputs_.resize(plan.actors.size());
    outputs_.resize(plan.actors.size());
    members_.resize(plan.streams.size());
    turn_.assign(plan.streams.size(), 0);
    busy_.assign(plan.streams.size(), false);
    fired_.assign(plan.actors.size(), 0);
    for (size_t a = 0; a < plan.actors.size(); ++a)
      members_[static_cast<size_t>(plan.actors[a].stream)].push_back(static_cast<int32_t>(a));
    for (size_t r = 0; r < plan.registers.size(); ++r) {
      const StreamRegister& reg = plan.registers[r];
      outputs_[static_cast<size_t>(reg.producer)].push_back(r);
      for (size_t c = 0; c < reg.consumers.size(); ++c)
        inputs_[static_cast<size_t>(reg.consumers[c])].push_back({r, c});
      written_.push_back(reg.initial);
      read_.emplace_back(reg.consumers.size(), 0);
      begun_.emplace_back(reg.consumers.size(), 0);
      claimed_.push_back(reg.initial);
    }
  }

  Simulation run() {
    begin_all(0);
    while (!ends_.empty()) {
      const int64_t now = ends_.top().first;
      while (!ends_.empty() && ends_.top().first == now) {
        finish(ends_.top().second);
        ends_.pop();
      }
      begin_all(now);
    }
    Simulation s;
    for (size_t a = 0; a < fired_.size(); ++a)
      if (fired_[a] < goal_) s.stuck.push_back(static_cast<int32_t>(a));
    s.firings = std::move(firings_);
    return s;
  }

 private:
  struct Input {
    size_t reg, consumer;
  };

  bool can_fire(int32_t actor) const {
    const auto a = static_cast<size_t>(actor);
    if (fired_[a] >= goal_) return false;
    for (const Input& i : inputs_[a])
      if (begun_[i.reg][i.consumer] >= written_[i.reg]) return false;
    for (size_t r : outputs_[a]) {
      const int64_t slowest = *std::min_element(read_[r].begin(), read_[r].end());
      if (claimed_[r] - slowest >= plan_.registers[r].count) return false;
    }
    return true;
  }

  void begin_all(int64_t now) {
    for (size_t s = 0; s < members_.size(); ++s) {
      if (busy_[s] || members_[s].empty()) continue;
      const auto& m = members_[s];
      if (plan_.streams[s].ordered) {
        if (can_fire(m[turn_[s] % m.size()])) begin(m[turn_[s]++ % m.size()], now);
        continue;
      }
      // Of those who can, the one that fired least: nobody is starved.
      int32_t chosen = -1;
      for (int32_t a : m)
        if (can_fire(a) && (chosen < 0 || fired_[static_cast<size_t>(a)] < fired_[static_cast<size_t>(chosen)]))
          chosen = a;
      if (chosen >= 0) begin(chosen, now);
    }
  }

  void begin(int32_t actor, int64_t now) {
    const auto a = static_cast<size_t>(actor);
    busy_[static_cast<size_t>(plan_.actors[a].stream)] = true;
    for (const Input& i : inputs_[a]) ++begun_[i.reg][i.consumer];
    for (size_t r : outputs_[a]) ++claimed_[r];
    const int64_t end = now + std::llround(plan_.actors[a].seconds * 1e9);
    firings_.push_back({actor, fired_[a]++, now, end});
    ends_.push({end, actor});
  }

  void finish(int32_t actor) {
    const auto a = static_cast<size_t>(actor);
    busy_[static_cast<size_t>(plan_.actors[a].stream)] = false;
    for (const Input& i : inputs_[a]) ++read_[i.reg][i.consumer];
    for (size_t r : outputs_[a]) ++written_[r];
  }

  using End = std::pair<int64_t, int32_t>;
  const StreamPlan& plan_;
  int64_t goal_;
  std::vector<std::vector<Input>> inputs_;
  std::vector<std::vector<size_t>> outputs_;
  std::vector<std::vector<int32_t>> members_;  // by stream
  std::vector<size_t> turn_;
  std::vector<bool> busy_;
  std::vector<int64_t> fired_, written_, claimed_;
  std::vector<std::vector<int64_t>> read_, begun_;  // by register and consumer
  std::vector<Firing> firings_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
};

}  // namespace

Simulation simulate(const StreamPlan& plan, int64_t firings) { return Player(plan, firings).run(); }

}  // namespace hw
