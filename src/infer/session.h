// A model being run: prepared kernels, the caller's buffers, working memory. Used by one thread at a time.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "base/team_scope.h"
#include "chain/chain.h"
#include "infer/loaded_model.h"

namespace hw::infer {

/// Where memory comes from: functions of the caller. Empty: the library's own.
struct Allocator {
  void* context = nullptr;
  void* (*allocate)(void* context, size_t bytes, size_t alignment) = nullptr;  // null: there is none left
  void (*release)(void* context, void* data, size_t bytes) = nullptr;
};

/// Working memory that sessions may share: the largest need of all. A run holds it locked.
class Memory : public RefCounted {
 public:
  explicit Memory(const Allocator& from = {});
  ~Memory() override;
  /// Runs `body(memory)` with at least `bytes`, while nobody else does.
  void with(size_t bytes, FunctionRef<void(void*)> body);
  size_t bytes() const;
  /// From where working memory comes, for outputs; it goes back when the storage does, which holds this object.
  Ref<Storage> storage(size_t bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct StepTime {
  std::string op, kernel, origin;
  int64_t nanoseconds = 0;
};

class Session {
 public:
  explicit Session(Ref<LoadedModel> model, Ref<Memory> memory = {});
  ~Session();
  Session(const Session&) = delete;

  const LoadedModel& model() const { return *model_; }
  /// Reads `data` where it lies in each run from now on. Throws for a dtype that no form takes, and for odd addresses.
  void set_input(int32_t i, const void* data, DType dtype, std::span<const int64_t> shape);
  /// Fills `data` in each run from now on; null: memory of the session.
  void set_output(int32_t i, void* data, size_t bytes);
  /// Threads of this session's kernels (0: as many as the process says), and the cores that they run on (none: any). Results of the last
  /// run are gone, kernels are prepared anew. Until then a session uses the threads that the file says are fastest on this machine, but not
  /// more than the process says.
  void set_team(int threads, std::span<const int32_t> cores);
  void run();
  /// Runs once, with the time that each kernel call took.
  std::vector<StepTime> run_timed();
  /// Of the last run.
  const void* result(int32_t i) const;
  const TensorSpec& result_spec(int32_t i) const;
  const FrozenForm& form() const { return model_->form(form_); }
  size_t form_number() const { return form_; }
  size_t bytes() const;

 private:
  struct Ready {  // a form that was run
    std::unique_ptr<Chain> chain;
    std::vector<const void*> sources;
    std::vector<std::pair<uint32_t, uint32_t>> inputs;  // source, input
    std::vector<void*> outputs;                         // by buffer of the plan
    std::vector<uint32_t> buffer_of;                    // by output
    std::vector<void*> results;                         // by output
    std::vector<std::pair<uint32_t, uint32_t>> copies;  // outputs that are one buffer: the first of them, another
    std::vector<Ref<Storage>> own;                      // by output; made when first needed
  };
  struct Output {
    void* data = nullptr;
    size_t bytes = 0;
  };

  void get_ready();
  void copy_equal(const Ready& ready) const;
  void forget();
  Ready& prepared(size_t form);
  void tie();
  void run_tied();
  int team_threads() const;

  Ref<LoadedModel> model_;
  Ref<Memory> memory_;
  std::vector<TensorSpec> input_specs_;
  std::vector<const void*> input_data_;
  std::vector<Output> output_data_;
  std::vector<Ready> ready_;  // by form
  size_t form_ = 0;
  int threads_ = 0, fitted_ = 0;  // set_team's; those that the file says are fastest here, until set_team is called
  TeamCores cores_;
  bool shape_changed_ = true, tied_ = false, ran_ = false;
};

/// The largest deviation of an output of the model's tests from what it should be, as a part of the output's largest value; integers must
/// be equal. Throws Error{Value} if there are no tests.
double test_difference(const Ref<LoadedModel>& model);

}  // namespace hw::infer
