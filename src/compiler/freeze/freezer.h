// From captured functions to a frozen model: one plan for each capture, weights shared.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/cache/entry.h"
#include "compiler/program/program.h"
#include "plan/frozen.h"

namespace hw {

class Freezer {
 public:
  /// `packed`: the file holds what is computed of the weights alone; otherwise the weights, and the plan that computes it at load.
  Freezer(std::string name, std::string producer, std::vector<std::string> inputs, std::vector<std::string> outputs,
          bool packed);

  /// A capture of the function, without gradients. Throws Error{Value} for a function that changes state or draws random numbers, and
  /// with "share memory" for outputs that are views of an input, of a weight or of each other: clone them in the function.
  void add(const ProgramParts& parts);
  /// For the capture added last: what to run to see whether the model works, and what comes out.
  void add_test(Tensors inputs, Tensors outputs);
  void note(std::string key, std::string value) { model_.notes.emplace_back(std::move(key), std::move(value)); }
  const FrozenModel& model() const { return model_; }

 private:
  int32_t weight(const Tensor& t, const std::string& name);
  static Tensors packed_weights(const ProgramParts& parts, ProgramPlan& made);

  FrozenModel model_;
  bool packed_;
  std::map<std::string, int32_t> known_;  // weights, by what is in them
};

}  // namespace hw
