// A compiled function: its plan, prepared, with the state it reads and writes.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "chain/chain.h"
#include "compiler/capture/capture.h"
#include "compiler/pipeline.h"
#include "compiler/program/bisect.h"
#include "compiler/program/once.h"

namespace hw {

/// Working memory that several programs share: the largest need of all, kept between runs.
class Workspace : public RefCounted {
 public:
  ~Workspace() override;
  void* at_least(size_t bytes);
  void release();
  size_t bytes() const { return bytes_; }
  /// Programs on one workspace must not run at once. Callers that may meet others take turns by these.
  bool try_lock() { return !busy_.exchange(true, std::memory_order_acquire); }
  void lock() {
    while (!try_lock()) busy_.wait(true, std::memory_order_relaxed);
  }
  void unlock() {
    busy_.store(false, std::memory_order_release);
    busy_.notify_one();
  }
  /// The one that computes this of these, or a new one.
  Ref<Once> once_for(Plan plan, std::vector<PreparedStep> kernels, std::vector<ProgramSource> sources);

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
  std::atomic<bool> busy_{false};
  std::vector<Ref<Once>> once_;
};

/// A global tensor whose parts are sources.
struct ProgramWhole {
  ProgramSource of;
  const Place* place = nullptr;
  TensorSpec spec;
  bool written = false;
};

/// A graph and how it is tied to tensors.
struct ProgramParts {
  Graph graph;
  std::vector<ProgramSource> sources;       // by source of the graph; nothing for constants
  std::vector<Capture::Output> outputs;     // values, in the order in which the function returned them
  std::vector<Capture::Returned> returned;  // what the function returned, of these
  std::vector<ProgramWhole> wholes;
  std::vector<Capture::LeafGradient> gradients;
  std::vector<Capture::Flag> flags;
  std::vector<Capture::Alias> aliases;
  std::vector<Tensor> stand_ins;  // by argument: what stood for it while capturing
};

/// The parts of a finished capture.
ProgramParts parts_of(const Capture& capture, Capture::Outputs outputs);

/// What one run takes and gives, in terms of tensors.
class Program {
 public:
  Program(const ProgramParts& parts, Ref<Workspace> workspace, const PipelineOptions& options = {});

  const Plan& plan() const { return chain_.plan(); }
  const Chain& chain() const { return chain_; }
  const PipelineResult& passes() const { return passes_; }
  /// Whether plan and records of passes came from the cache on disk, and what was wrong with an entry there.
  bool from_cache() const { return from_cache_; }
  const std::string& cache_note() const { return cache_note_; }
  /// What is computed of the state alone, or null.
  const Once* once() const { return once_.get(); }
  Workspace& workspace() const { return *workspace_; }
  /// Runs with these arguments (as they were given to Capture::add_input, in that order). State is updated, gradients are set.
  Tensors run(std::span<const Tensor> inputs, std::span<const double> host);
  std::vector<int64_t> run_timed(std::span<const Tensor> inputs, std::span<const double> host);

  /// Tensors that are read or written in each run, without gradients.
  Tensors state() const;
  /// Why the state does not fit any more ("the gradient of fc1.weight is there now"), or empty.
  std::string state_problem() const;
  bool state_holds() const;  // the same, as yes or no

  /// What the function computes now after each pass, if the program was made with PipelineOptions::keep_graph; else an error.
  void bisect(std::span<const Tensor> inputs, std::span<const double> host,
              FunctionRef<bool(BisectStage&&)> visit) const;

 private:
  struct GradientResult {
    int32_t result = kNone;  // into Plan::results; kNone: the gradient becomes None
    Tensor leaf;
    int32_t input = -1;            // the leaf is an argument
    bool read = false;             // the old gradient is a source
    const Place* place = nullptr;  // it is global: its parts are results from `result` on
    TensorSpec spec;
  };

  Chain planned(const ProgramParts& parts, const PipelineOptions& options);
  const Tensor& source(size_t i, std::span<const Tensor> inputs) const;
  void launch(const ChainInputs& in, void* work);
  std::string whole_problem() const;
  Tensor returned(const Capture::Returned& r, std::span<const Tensor> values, std::span<const Tensor> inputs) const;
  Tensor result_tensor(int32_t result, const std::vector<Ref<Storage>>& memory) const;
  void drop_old_gradients(std::span<const Tensor> inputs) const;
  void check_separate(std::span<const Tensor> inputs) const;
  bool separate_state() const;
  void set_gradients(std::span<const Tensor> inputs, const std::vector<Ref<Storage>>& memory);

  std::vector<ProgramSource> sources_;  // of the plan: without constants
  std::vector<Capture::Output> outputs_;
  std::vector<Capture::Returned> returned_;
  std::vector<ProgramWhole> wholes_;
  std::vector<int32_t> output_results_;  // by output: into Plan::results, or kNone
  std::vector<int32_t> output_sources_;  // by output: into sources_, or kNone
  std::vector<GradientResult> gradients_;
  struct Expected {
    Tensor leaf;
    bool present;
    TensorSpec spec;
    const Place* place;
  };
  std::vector<Expected> expected_;
  std::vector<Capture::Flag> flags_;
  std::vector<Capture::Alias> aliases_;
  mutable std::vector<const Storage*> memories_;  // of the sources that are state, when last looked at
  Ref<Workspace> workspace_;
  PipelineResult passes_;
  bool from_cache_ = false;
  std::string cache_note_;
  Ref<Once> once_;
  std::unique_ptr<const Graph> captured_;  // if it is kept
  PassOptions pass_options_;
  Chain chain_;
  bool timing_ = false, writes_ = false;
  std::vector<int64_t> times_;
};

}  // namespace hw
