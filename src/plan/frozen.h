// Frozen models: plans, the weights they share, names, and test data, as plain data and as .hwm files.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan.h"

namespace hw {

constexpr int32_t kFrozenVersion = 1;

/// What a source of a form's plan is.
struct FrozenTie {
  enum class Kind : uint8_t {
    Unused,  // no step reads it
    Input,   // input `index` of the call
    Weight,  // weights[index]
    Once     // result `index` of the form's plan that runs once, when the model is loaded
  };
  Kind kind = Kind::Unused;
  int32_t index = -1;
};

/// The model for one set of input shapes.
struct FrozenForm {
  std::vector<TensorSpec> inputs, outputs;  // contiguous
  Plan plan;
  std::optional<Plan> once;                       // packs weights: its sources are weights
  std::vector<FrozenTie> sources;                 // of the plan
  std::vector<int32_t> once_sources;              // of `once`, into weights
  std::vector<int32_t> results;                   // by output, into Plan::results
  std::vector<Tensor> test_inputs, test_outputs;  // none, or one for each input and output
};

struct FrozenModel {
  int32_t version = kFrozenVersion;
  std::string name, producer;
  std::vector<std::string> inputs, outputs;  // names; the same for all forms
  std::vector<Tensor> weights;
  std::vector<std::string> weight_names;
  std::vector<FrozenForm> forms;
  std::vector<std::pair<std::string, std::string>> notes;  // what the user wants to keep with it
};

/// The first thing that is wrong with a model from outside whose plans plan_problem() accepts, or empty: everything is tied to
/// something of its kind and size, and no call writes to weights or inputs.
std::string frozen_problem(const FrozenModel& model);

/// Writes beside and renames, so that the file is there whole or not at all.
void save_frozen(const FrozenModel& model, const std::string& path);
std::string write_frozen(const FrozenModel& model);
/// Weights are views of `file`, which must be 64-byte aligned. Throws Error{Value} that says what is wrong. The hash of the structure is
/// checked; that of the weights is not, because it would read all of them: see check_frozen_data().
FrozenModel read_frozen(const Ref<Storage>& file);
/// Throws Error{Value} if weights or test data are not those that were written.
void check_frozen_data(const Storage& file);

/// Writes the structure's hash anew: for tests, which change bytes to see what is behind the hash.
void seal_frozen(std::string& file);

}  // namespace hw
