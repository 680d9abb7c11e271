// Recording a run of a program as a graph: the interpreter of a thread while a function is captured.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "autograd/journal.h"
#include "autograd/node.h"
#include "core/read_guard.h"
#include "eager/eager.h"
#include "eager/global/global_tensor.h"
#include "eager/global_hook.h"
#include "ir/graph.h"

namespace hw {

/// Runs operators on abstract tensors and writes them down. In-place writes become new values: for each storage the capture knows
/// the value that its memory would hold now, and a tensor is read through its geometry in that storage.
/// Everything else (composites, autocast, views, the tape, backward) is what eager mode does.
/// A global tensor is its parts: the interpreter of global tensors chooses signatures and moves parts as in eager mode, and what it
/// asks the hosted ranks to do is written down (wholes.cpp).
class Capture final : public EagerInterpreter, public GradJournal, public LocalRecorder {
 public:
  /// `parent`: the capture that this one is nested in, for the branches and loops of control flow. What it does not know belongs to the
  /// parent and becomes an input.
  explicit Capture(std::string name, Capture* parent = nullptr);
  ~Capture() override;

  /// An argument of the function: the abstract tensor to hand to it. `shape` may differ from the tensor's own.
  Tensor add_input(const Tensor& given, std::string name, const Dims& shape);
  /// A tensor made from Python values while capturing.
  void note_constant(const Tensor& t);
  /// Where the host numbers of the next op with dynamic attributes start.
  void bind_next_to_host(int32_t first) { pending_host_ = first; }
  int32_t add_host(int32_t count);
  /// A capture of more nodes is given up: the program unrolls a size.
  void set_node_limit(size_t nodes) { node_limit_ = nodes; }

  /// Between enter and leave this thread's ops are recorded. leave() takes the gradients off the leaves again, and gives every
  /// tensor from outside the history that it had.
  void enter();
  void leave();
  bool active() const { return active_; }
  /// Between pause and resume ops run at once: state that the function makes on its first call.
  void pause();
  void resume();

  // -------- control flow
  /// Tensors of the parent that were read inside.
  const Tensors& lifted() const { return lifted_; }
  /// The graph as the body of a node whose inputs are `inputs`: tensors of the parent, or what add_input gave for them.
  std::shared_ptr<const Graph> body(std::span<const Tensor> inputs, std::span<const Tensor> outputs);
  /// A node that runs graphs; its outputs are new, contiguous tensors.
  Tensors add_control(std::string op, std::span<const Tensor> inputs, std::vector<std::shared_ptr<const Graph>> bodies);

  struct Output {
    ValueId value = kNone;
    int32_t source = kNone;  // whose memory it shows, if it is not made by the graph
    bool itself = false;     // it is the source, not another tensor that looks the same
    DType dtype = DType::None;
    Dims shape, strides;
    int64_t offset = 0;  // in elements of its own, from the source's first
  };
  /// What the function returns in one place: a value, or those of a global tensor's parts.
  struct Returned {
    int32_t first = 0, count = 1;  // into Outputs::values
    const Place* place = nullptr;  // of a global tensor
    TensorSpec spec = {};          // of a global tensor
    int32_t whole = kNone;         // it shows that one's memory
    bool itself = false;           // it is that one
    int64_t offset = 0;            // from its first element
  };
  struct Outputs {
    std::vector<Output> values;
    std::vector<Returned> returned;
  };
  void output(const Tensor& t, Outputs& to);
  ValueId value_of(const Tensor& t);

  struct LeafGradient {
    Tensor leaf, before;  // `before`: undefined where there was none
    bool read = false;    // the program depends on it
    bool written = false;
    Tensor after;                  // until finish()
    bool changed = false;          // it becomes another tensor, or None
    bool result = false;           // one that the graph computes: the results of kind Gradient are these, in this order
    const Place* place = nullptr;  // of a global one, whose parts are that many results
    TensorSpec spec = {};
  };
  /// Whether a tensor from outside required gradients when the capture first met it.
  struct Flag {
    Tensor tensor;
    bool requires_grad;
  };
  /// Another tensor from outside on the memory of a source.
  struct Alias {
    Tensor tensor, base;
    int64_t offset;  // from the first element of base
    Dims shape, strides;
  };
  /// A global tensor from outside. Its parts are sources.
  struct Whole {
    Tensor tensor;             // state, or what stands for an argument
    int32_t input = kNone;     // it is an argument
    int32_t gradient = kNone;  // or the gradient in this entry
    const Place* place = nullptr;
    uint32_t version = 0;  // when it was met
    bool written = false;
  };
  /// What a source is, if not a tensor for itself.
  struct SourceNote {
    int32_t input = kNone;  // an argument
    int32_t whole = kNone, part = kNone;
  };
  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  /// How a state tensor is called in the graph's text, if it is a source.
  void name_state(const Tensor& t, const std::string& name);
  /// Arguments and state that gradients may flow to.
  Tensors differentiable_sources() const;
  /// By source: the tensor whose memory it is (undefined for constants), in the order of the graph's sources.
  const Tensors& source_tensors() const { return source_tensors_; }
  const std::vector<LeafGradient>& gradients() const { return gradients_; }
  const std::vector<Flag>& flags() const { return flags_; }
  const std::vector<Alias>& aliases() const { return aliases_; }
  const Tensors& stand_ins() const { return stand_ins_; }
  const std::vector<SourceNote>& source_notes() const { return source_notes_; }
  const std::vector<Whole>& wholes() const { return wholes_; }
  /// By source: the gradient entry whose tensor it was, or kNone.
  const std::vector<int32_t>& source_gradients() const { return source_gradients_; }
  /// Adds Update and Gradient results for everything that was written.
  void finish();
  /// Sources that are written, by number.
  std::vector<int32_t> written_sources() const;
  /// Abstract tensors that somebody outside still holds, by the origin of their op: they must not outlive the capture.
  std::vector<std::string> leaks() const;

 protected:
  void execute(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out) override;
  void viewed(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, const Tensor& view) override;
  Attrs with_draw(const OpDef& op, const Attrs& attrs) override;
  void reading(const Tensor& leaf) override;
  void writing(const Tensor& leaf) override;
  void asking(const Tensor& t) override;
  void meet(const Tensor& global) override;
  void local(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out) override;
  void local_view(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, const Tensor& view) override;
  const Tensor& token() override;

 private:
  struct Geometry {
    Dims shape, strides;
    int64_t offset = 0;
    DType dtype = DType::None;
    bool operator==(const Geometry&) const = default;
  };
  struct Shown {
    Geometry geometry;
    ValueId value;
  };
  static bool known(const Tensor& t);  // the value is the same in every run
  struct Memory {                      // of one storage
    Tensor base;                       // the first tensor seen on it; keeps the storage alive
    ValueId value = kNone;             // what base's memory holds now
    int32_t source = kNone;
    bool written = false;
    std::vector<Shown> shown;  // views already made of `value`
    int32_t origin = 0;
  };

  static Geometry geometry_of(const Tensor& t);
  Memory& memory_of(const Tensor& t);
  Memory& lift(const Tensor& t);
  Memory& add_source_memory(const Tensor& t, GraphSource::Kind kind, std::string name);
  int32_t constant_of(const Tensor& t);
  void write(const Tensor& t, ValueId value);
  int32_t origin();
  LeafGradient& gradient_entry(const Tensor& leaf);
  bool is_constant(const Memory& m) const;
  bool lasts(const Tensor& leaf) const;
  void note_alias(const Tensor& t, const Memory& m);
  Output local_output(const Tensor& t);
  bool on_ranks(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out);
  Tensor add_global_input(const Tensor& given, const std::string& name);
  void take_given(const Tensor& given, const Tensor& stand_in);
  void add_whole(const Tensor& t, int32_t gradient);
  int32_t whole_with(const Storage* storage) const;
  void settle_gradients();
  void settle_global(LeafGradient& g, const Tensor& after);
  void settle_flags();
  void restore_history();
  /// What the tape knew of a tensor from outside when the capture first met it. In the order of flags_, until finish().
  struct History {
    Ref<GradNode> fn;
    uint32_t slot = 0, view_version = 0;
    bool leaf_requires_grad = false;
    Ref<RetainHook> retained;
    bool requires_after = false, rewritten = false;  // set by leave()
  };

  /// Memory from outside that was written to while capturing, which wrote nothing.
  struct Raised {
    Ref<Storage> storage;
    uint32_t before, paused;  // versions: at the first write, and when the capture was last paused
  };

  Graph graph_;
  std::vector<Raised> raised_;
  std::unordered_map<Storage*, Memory> memories_;
  std::unordered_map<std::string, ValueId> constants_;
  std::unordered_map<Storage*, bool> noted_constants_;
  std::unordered_map<Storage*, int32_t> argument_storages_;
  Capture* parent_ = nullptr;
  Capture* capture_before_ = nullptr;
  Tensors lifted_;
  Tensors input_given_;  // by source: what an argument stands for
  Tensors kept_;         // noted constants
  Tensors given_;        // by input: the argument itself, until finish()
  Tensors stand_ins_;    // by input
  Tensor token_;         // of exchanges between processes, if there are any
  std::vector<Storage*> output_storages_;
  Tensors source_tensors_;
  std::vector<int32_t> source_gradients_;
  std::vector<SourceNote> source_notes_;
  std::vector<Whole> wholes_;
  std::unordered_map<const GlobalMeta*, size_t> whole_index_;
  std::vector<LeafGradient> gradients_;
  std::unordered_map<TensorBody*, size_t> gradient_index_, flag_index_;
  std::vector<Flag> flags_;
  std::vector<History> histories_;
  std::vector<Alias> aliases_;
  std::unordered_set<TensorBody*> views_;  // made while capturing
  int32_t pending_draw_ = kNone, pending_host_ = kNone;
  size_t node_limit_ = SIZE_MAX;
  bool active_ = false, anomaly_before_ = false;
  Interpreter* interpreter_before_ = nullptr;
  GradJournal* journal_before_ = nullptr;
  LocalRecorder* recorder_before_ = nullptr;
  ReadRefusal refusal_before_;
};

/// The capture of this thread, or null.
Capture* current_capture() noexcept;

}  // namespace hw
