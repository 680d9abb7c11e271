// Grouping in order: an elementwise step joins the group of a producer, or one that reads the same tile, if no path leaves the group and
// comes back. At most 64 steps, so that sets of them are words.
#include "codegen/groups.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "kernels/elementwise/driver.h"

namespace hw {

namespace {

using Set = uint64_t;
constexpr size_t kMostSteps = 64, kMostInputs = 16, kMostNodes = 40;

constexpr Set bit(size_t i) { return Set{1} << i; }

class Grouper {
 public:
  explicit Grouper(const PlanLoop& loop) : loop_(loop), steps_(loop.body.size()) {}
  Grouping run();

 private:
  struct Group {
    Set members = 0;
    int32_t shaped_by = 0;  // tile whose shape all results have
  };
  void find_dependencies();
  Set closure(Set from) const;
  std::optional<FusedNode> node_of(size_t step);
  void visit(size_t step);
  bool may_join(size_t step, const Group& group) const;
  bool touches(size_t step, const Group& group) const;
  size_t inputs_of(Set members) const;
  StepGroup finish(const Group& group) const;
  void make_order();

  const PlanStep& step(size_t i) const { return loop_.body[i]; }
  const PlanTile& tile(int32_t t) const { return loop_.tiles[static_cast<size_t>(t)]; }

  const PlanLoop& loop_;
  size_t steps_;
  std::vector<Set> before_;                      // by step: what must run earlier
  std::vector<Set> readers_;                     // by tile
  std::vector<int32_t> writer_;                  // by tile, or -1
  std::vector<std::optional<FusedNode>> nodes_;  // by step
  std::vector<int32_t> group_of_;                // by step, or -1
  std::vector<Group> groups_;
  Grouping result_;
};

void Grouper::find_dependencies() {
  before_.assign(steps_, 0);
  readers_.assign(loop_.tiles.size(), 0);
  writer_.assign(loop_.tiles.size(), -1);
  Set reads_operand = 0;
  for (size_t i = 0; i < steps_; ++i) {
    for (int32_t t : step(i).inputs) {
      if (t < 0) continue;
      readers_[static_cast<size_t>(t)] |= bit(i);
      if (const int32_t w = writer_[static_cast<size_t>(t)]; w >= 0) before_[i] |= bit(static_cast<size_t>(w));
    }
    for (int32_t t : step(i).outputs) {
      writer_[static_cast<size_t>(t)] = static_cast<int32_t>(i);
      // An output may lie over an input of the loop, which is read before.
      if (tile(t).operand >= 0) before_[i] |= reads_operand;
    }
    for (int32_t t : step(i).inputs)
      if (t >= 0 && tile(t).operand >= 0 && static_cast<size_t>(tile(t).operand) < loop_.num_inputs)
        reads_operand |= bit(i);
  }
}

/// What must have run when `from` has, groups taken as a whole.
Set Grouper::closure(Set from) const {
  for (Set todo = from; todo;) {
    const size_t i = static_cast<size_t>(__builtin_ctzll(todo));
    todo &= todo - 1;
    Set more = before_[i];
    if (group_of_[i] >= 0) more |= groups_[static_cast<size_t>(group_of_[i])].members;
    more &= ~from;
    from |= more;
    todo |= more;
  }
  return from;
}

/// The step as a node with tiles for inputs, if it can be written as code.
std::optional<FusedNode> Grouper::node_of(size_t i) {
  const PlanStep& s = step(i);
  if (s.outputs.size() != 1) return std::nullopt;
  std::vector<TensorSpec> in;
  for (int32_t t : s.inputs) {
    if (t < 0) return std::nullopt;
    in.push_back(tile(t).spec);
  }
  const TensorSpec& out = tile(s.outputs[0]).spec;
  FusedNode n;
  n.inputs = s.inputs;
  n.dtype = out.dtype;
  std::string why_not;
  if (s.op == "cast") {
    n.functor = s.op;
    n.compute = in[0].dtype;
  } else {
    ElementwisePlan plan;
    if (!make_elementwise_plan({s.op, in, {&out, 1}, s.attrs, s.compute}, &find_elementwise, plan, why_not))
      return std::nullopt;  // a reduction, for example
    if (plan.checks_divisor) {
      result_.note = text(s.op, " looks for divisors of zero");
      return std::nullopt;
    }
    n.functor = plan.entry->op;
    n.compute = plan.entry->compute;
    n.params = plan.params;
  }
  if (can_write(n, why_not)) return n;
  result_.note = why_not;
  return std::nullopt;
}

bool Grouper::touches(size_t i, const Group& group) const {
  if (before_[i] & group.members) return true;
  for (int32_t t : step(i).inputs)
    if (readers_[static_cast<size_t>(t)] & group.members) return true;
  return false;
}

size_t Grouper::inputs_of(Set members) const {
  size_t count = 0;
  for (size_t t = 0; t < loop_.tiles.size(); ++t)
    if (readers_[t] & members && (writer_[t] < 0 || !(bit(static_cast<size_t>(writer_[t])) & members))) ++count;
  return count;
}

bool Grouper::may_join(size_t i, const Group& group) const {
  if (tile(step(i).outputs[0]).spec.shape != tile(group.shaped_by).spec.shape || !touches(i, group)) return false;
  if (static_cast<size_t>(__builtin_popcountll(group.members)) >= kMostNodes) return false;
  if (inputs_of(group.members | bit(i)) > kMostInputs) return false;
  return (closure(before_[i] & ~group.members) & group.members) == 0;
}

void Grouper::visit(size_t i) {
  nodes_[i] = node_of(i);
  if (!nodes_[i]) return;
  for (size_t g = groups_.size(); g-- > 0;)
    if (may_join(i, groups_[g])) {
      groups_[g].members |= bit(i);
      group_of_[i] = static_cast<int32_t>(g);
      return;
    }
  group_of_[i] = static_cast<int32_t>(groups_.size());
  groups_.push_back({bit(i), step(i).outputs[0]});
}

StepGroup Grouper::finish(const Group& group) const {
  StepGroup made;
  std::vector<int32_t> value(loop_.tiles.size(), -1);
  for (size_t i = 0; i < steps_; ++i) {
    if (!(group.members & bit(i))) continue;
    made.steps.push_back(static_cast<int32_t>(i));
    for (int32_t t : step(i).inputs) {
      const int32_t w = writer_[static_cast<size_t>(t)];
      if (w >= 0 && group.members & bit(static_cast<size_t>(w))) continue;
      if (value[static_cast<size_t>(t)] >= 0) continue;
      value[static_cast<size_t>(t)] = static_cast<int32_t>(made.inputs.size());
      made.inputs.push_back(t);
      made.expression.inputs.push_back({tile(t).spec.dtype, true});
    }
  }
  int32_t next = static_cast<int32_t>(made.inputs.size());
  for (int32_t i : made.steps) {
    FusedNode n = *nodes_[static_cast<size_t>(i)];
    for (int32_t& t : n.inputs) t = value[static_cast<size_t>(t)];
    made.expression.nodes.push_back(std::move(n));
    const int32_t out = step(static_cast<size_t>(i)).outputs[0];
    value[static_cast<size_t>(out)] = next++;
    if (tile(out).operand < 0 && !(readers_[static_cast<size_t>(out)] & ~group.members)) continue;
    made.outputs.push_back(out);
    made.expression.outputs.push_back(value[static_cast<size_t>(out)]);
  }
  return made;
}

void Grouper::make_order() {
  Set done = 0;
  std::vector<bool> placed(groups_.size());
  for (size_t left = steps_; left > 0;) {
    const size_t was = left;
    for (size_t i = 0; i < steps_; ++i) {
      if (done & bit(i)) continue;
      const int32_t g = group_of_[i];
      const Set unit = g < 0 ? bit(i) : groups_[static_cast<size_t>(g)].members;
      Set needs = 0;
      for (size_t k = 0; k < steps_; ++k)
        if (unit & bit(k)) needs |= before_[k];
      if (needs & ~unit & ~done) continue;
      done |= unit;
      left -= static_cast<size_t>(__builtin_popcountll(unit));
      if (g >= 0 && __builtin_popcountll(unit) > 1) {
        result_.order.push_back(-1 - static_cast<int32_t>(result_.groups.size()));
        result_.groups.push_back(finish(groups_[static_cast<size_t>(g)]));
      } else {
        result_.order.push_back(static_cast<int32_t>(i));
      }
    }
    if (left == was) {  // cannot be: then all steps stand alone
      result_.groups.clear();
      result_.order.clear();
      for (size_t i = 0; i < steps_; ++i) result_.order.push_back(static_cast<int32_t>(i));
      return;
    }
  }
}

Grouping Grouper::run() {
  if (steps_ > kMostSteps) {
    for (size_t i = 0; i < steps_; ++i) result_.order.push_back(static_cast<int32_t>(i));
    result_.note = "the loop has too many steps";
    return std::move(result_);
  }
  nodes_.resize(steps_);
  group_of_.assign(steps_, -1);
  find_dependencies();
  for (size_t i = 0; i < steps_; ++i) visit(i);
  make_order();
  return std::move(result_);
}

}  // namespace

Grouping group_steps(const PlanLoop& loop) { return Grouper(loop).run(); }

}  // namespace hw
