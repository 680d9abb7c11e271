// Running a model: the form for the shapes given, addresses, the chain.
#include "infer/session.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>

#include "base/error.h"
#include "base/thread_team.h"
#include "core/allocator.h"
#include "infer/machine.h"
#include "plan/file.h"
#include "plan/layout.h"

namespace hw::infer {

static constexpr int kMostThreads = 1024;

struct Memory::State {
  std::mutex mutex;
  void* data = nullptr;
  size_t bytes = 0;
  Allocator from;

  void* obtain(size_t wanted) const {
    if (!from.allocate) return allocate(wanted);
    void* p = from.allocate(from.context, wanted, kPlanAlignment);
    if (!p) fail(ErrorKind::Memory, "the allocator given has no ", wanted, " bytes");
    if (reinterpret_cast<uintptr_t>(p) % kPlanAlignment != 0) {
      from.release(from.context, p, wanted);
      fail(ErrorKind::Value, "the allocator given returned memory that is not at a multiple of ", kPlanAlignment);
    }
    return p;
  }
  void give_back(void* p, size_t size) const {
    if (from.allocate)
      from.release(from.context, p, size);
    else
      deallocate(p, size);
  }
};

Memory::Memory(const Allocator& from) : state_(std::make_unique<State>()) {
  check(!from.allocate == !from.release, "an allocator has both functions, or none");
  state_->from = from;
}
Memory::~Memory() {
  if (state_->data) state_->give_back(state_->data, state_->bytes);
}

Ref<Storage> Memory::storage(size_t bytes) {
  if (!state_->from.allocate) return make_ref<Storage>(bytes);
  struct Piece {
    Ref<Memory> memory;
    void* data;
    size_t bytes;
  };
  auto piece = std::make_unique<Piece>(Piece{Ref<Memory>(this), nullptr, bytes});
  piece->data = state_->obtain(bytes);
  void* data = piece->data;
  return make_ref<Storage>(
      data, bytes,
      [](void* context) {
        const std::unique_ptr<Piece> p(static_cast<Piece*>(context));
        p->memory->state_->give_back(p->data, p->bytes);
      },
      piece.release());
}

void Memory::with(size_t bytes, FunctionRef<void(void*)> body) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  if (bytes > s.bytes || !s.data) {
    if (s.data) s.give_back(s.data, s.bytes);
    s.data = nullptr;
    s.bytes = 0;
    const size_t wanted = std::max<size_t>(bytes, 64);
    s.data = s.obtain(wanted);
    s.bytes = wanted;
  }
  body(s.data);
}

size_t Memory::bytes() const { return state_->bytes; }

Session::Session(Ref<LoadedModel> model, Ref<Memory> memory)
    : model_(std::move(model)), memory_(memory ? std::move(memory) : make_ref<Memory>()) {
  const FrozenModel& m = model_->frozen();
  input_specs_ = m.forms[0].inputs;
  input_data_.resize(m.inputs.size());
  output_data_.resize(m.outputs.size());
  ready_.resize(m.forms.size());
  fitted_ = fitted_threads(m);
  if (fitted_ == 0) {
    prepared(0);
    return;
  }
  const TeamScope scope(team_threads(), cores_);
  prepared(0);
}

int Session::team_threads() const { return threads_ || !fitted_ ? threads_ : std::min(fitted_, num_threads()); }

Session::~Session() = default;

void Session::set_input(int32_t i, const void* data, DType dtype, std::span<const int64_t> shape) {
  const FrozenModel& m = model_->frozen();
  check(i >= 0 && static_cast<size_t>(i) < input_data_.size(), "the model ", m.name, " has ", m.inputs.size(),
        " inputs, there is no input ", i);
  const auto at = static_cast<size_t>(i);
  check(static_cast<int>(dtype) < kNumDTypes, "input ", m.inputs[at], ": there is no dtype number ",
        static_cast<int>(dtype));
  check(reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(std::min<int64_t>(dtype_size(dtype), 8)) == 0,
        "input ", m.inputs[at], " is not aligned to its elements of ", dtype_size(dtype), " bytes");
  input_data_[at] = data;
  tied_ = false;
  TensorSpec& s = input_specs_[at];
  if (s.dtype == dtype && std::equal(shape.begin(), shape.end(), s.shape.begin(), s.shape.end())) return;
  s.dtype = dtype;
  s.shape = Dims(shape);
  s.strides = {};
  shape_changed_ = true;
}

void Session::set_output(int32_t i, void* data, size_t bytes) {
  check(i >= 0 && static_cast<size_t>(i) < output_data_.size(), "the model ", model_->frozen().name, " has ",
        output_data_.size(), " outputs, there is no output ", i);
  output_data_[static_cast<size_t>(i)] = {data, bytes};
  tied_ = false;
}

void Session::set_team(int threads, std::span<const int32_t> cores) {
  check(threads >= 0 && threads <= kMostThreads, "a session has 0 to ", kMostThreads, " threads, got ", threads);
  TeamCores wanted(cores);
  threads_ = threads, fitted_ = 0;
  cores_ = std::move(wanted);
  forget();
}

void Session::forget() {
  for (Ready& r : ready_) r = {};
  tied_ = ran_ = false;
}

Session::Ready& Session::prepared(size_t form) {
  Ready& r = ready_[form];
  if (r.chain) return r;
  const FrozenForm& f = model_->form(form);
  auto chain = std::make_unique<Chain>(f.plan);
  r.sources = model_->sources(form);
  r.inputs.clear();
  for (size_t s = 0; s < f.sources.size(); ++s)
    if (f.sources[s].kind == FrozenTie::Kind::Input)
      r.inputs.emplace_back(static_cast<uint32_t>(s), static_cast<uint32_t>(f.sources[s].index));
  r.outputs.assign(f.plan.outputs.size(), nullptr);
  r.results.assign(f.outputs.size(), nullptr);
  r.own.resize(f.outputs.size());
  r.buffer_of.clear();
  r.copies.clear();
  for (int32_t result : f.results) {
    const PlanTensor& t = f.plan.tensors[static_cast<size_t>(f.plan.results[static_cast<size_t>(result)])];
    const auto buffer = static_cast<uint32_t>(f.plan.buffers[static_cast<size_t>(t.buffer)].index);
    const auto first = std::find(r.buffer_of.begin(), r.buffer_of.end(), buffer);
    if (first != r.buffer_of.end())
      r.copies.emplace_back(static_cast<uint32_t>(first - r.buffer_of.begin()),
                            static_cast<uint32_t>(r.buffer_of.size()));
    r.buffer_of.push_back(buffer);
  }
  r.chain = std::move(chain);
  return r;
}

/// Addresses of inputs and outputs into those that the chain takes.
void Session::tie() {
  Ready& r = prepared(form_);
  const FrozenForm& f = form();
  const FrozenModel& m = model_->frozen();
  for (size_t i = 0; i < f.inputs.size(); ++i)
    check(input_data_[i] || f.inputs[i].numel() == 0, "input ", m.inputs[i], " is not given");
  for (const auto& [source, input] : r.inputs) r.sources[source] = input_data_[input];
  for (size_t i = 0; i < f.outputs.size(); ++i) {
    const auto wanted = static_cast<size_t>(extent_of(f.outputs[i]));
    const Output& given = output_data_[i];
    check(!given.data || given.bytes == wanted, "output ", m.outputs[i], " is ", f.outputs[i], ", ", wanted,
          " bytes; the memory given has ", given.bytes);
    check(reinterpret_cast<uintptr_t>(given.data) %
                  static_cast<uintptr_t>(std::min<int64_t>(dtype_size(f.outputs[i].dtype), 8)) ==
              0,
          "the memory given for output ", m.outputs[i], " is not aligned to its elements");
    if (!given.data && !r.own[i]) r.own[i] = memory_->storage(std::max<size_t>(wanted, 1));
    r.results[i] = given.data ? given.data : r.own[i]->data();
    if (std::find(r.buffer_of.begin(), r.buffer_of.end(), r.buffer_of[i]) - r.buffer_of.begin() ==
        static_cast<std::ptrdiff_t>(i))
      r.outputs[r.buffer_of[i]] = r.results[i];
  }
}

void Session::get_ready() {
  if (shape_changed_) {
    form_ = model_->form_for(input_specs_);
    shape_changed_ = false;
    tied_ = false;
  }
  if (tied_) return;
  tie();
  tied_ = true;
}

void Session::run() {
  if (threads_ == 0 && fitted_ == 0 && cores_.empty() && !team_has_cores()) return run_tied();
  const TeamScope scope(team_threads(), cores_);
  run_tied();
}

void Session::run_tied() {
  get_ready();
  Ready& r = ready_[form_];
  ran_ = false;
  memory_->with(r.chain->memory_bytes(), [&](void* memory) { r.chain->run({r.sources, r.outputs, {}, 0, 0}, memory); });
  copy_equal(r);
  ran_ = true;
}

void Session::copy_equal(const Ready& r) const {
  for (const auto& [from, to] : r.copies)
    if (const auto bytes = static_cast<size_t>(extent_of(form().outputs[to])))
      std::memcpy(r.results[to], r.results[from], bytes);
}

std::vector<StepTime> Session::run_timed() {
  const TeamScope scope(team_threads(), cores_);
  get_ready();
  Ready& r = ready_[form_];
  std::vector<int64_t> times;
  memory_->with(r.chain->memory_bytes(), [&](void* memory) {
    times = r.chain->run_timed({r.sources, r.outputs, {}, 0, 0}, memory);
  });
  copy_equal(r);
  ran_ = true;
  std::vector<StepTime> out;
  const Plan& p = r.chain->plan();
  for (size_t i = 0; i < times.size(); ++i)
    out.push_back(
        {p.steps[i].op, r.chain->kernel_name(i), p.origins[static_cast<size_t>(p.steps[i].origin)], times[i]});
  return out;
}

const void* Session::result(int32_t i) const {
  check(i >= 0 && static_cast<size_t>(i) < output_data_.size(), "the model ", model_->frozen().name, " has ",
        output_data_.size(), " outputs, there is no output ", i);
  check(ran_, "there is no result before a run");
  return ready_[form_].results[static_cast<size_t>(i)];
}

const TensorSpec& Session::result_spec(int32_t i) const { return form().outputs[static_cast<size_t>(i)]; }

size_t Session::bytes() const {
  const Ready& r = ready_[form_];
  size_t sum = r.chain ? r.chain->memory_bytes() : 0;
  for (const Ref<Storage>& s : r.own) sum += s ? s->bytes() : 0;
  return sum;
}

namespace {

/// See test_difference.
double difference(const Tensor& want, const void* have) {
  const auto bytes = static_cast<size_t>(want.numel() * dtype_size(want.dtype()));
  if (bytes == 0 || std::memcmp(want.data(), have, bytes) == 0) return 0;
  if (!is_inexact(want.dtype())) return INFINITY;
  double most = 0, largest = 0;
  const auto* a = static_cast<const char*>(want.data());
  const auto* b = static_cast<const char*>(have);
  for (int64_t i = 0; i < want.numel(); ++i) {
    const std::complex<double> x = load_scalar(a + i * dtype_size(want.dtype()), want.dtype()).c128(),
                               y = load_scalar(b + i * dtype_size(want.dtype()), want.dtype()).c128();
    if (x == y || (std::isnan(std::abs(x)) && std::isnan(std::abs(y)))) continue;
    const double d = std::abs(x - y);
    most = std::isnan(d) ? INFINITY : std::max(most, d);
  }
  for (int64_t i = 0; i < want.numel(); ++i)
    if (const double v = std::abs(load_scalar(a + i * dtype_size(want.dtype()), want.dtype()).c128()); std::isfinite(v))
      largest = std::max(largest, v);
  return most / std::max(largest, 1e-30);
}

}  // namespace

double test_difference(const Ref<LoadedModel>& model) {
  Session session(model);
  double most = 0;
  bool any = false;
  for (const FrozenForm& f : model->frozen().forms) {
    if (f.test_outputs.empty()) continue;
    any = true;
    for (size_t i = 0; i < f.test_inputs.size(); ++i)
      session.set_input(static_cast<int32_t>(i), f.test_inputs[i].data(), f.test_inputs[i].dtype(),
                        f.test_inputs[i].shape());
    session.run();
    for (size_t i = 0; i < f.test_outputs.size(); ++i)
      most = std::max(most, difference(f.test_outputs[i], session.result(static_cast<int32_t>(i))));
  }
  check(any, "the model ", model->frozen().name, " has no test inputs");
  return most;
}

}  // namespace hw::infer
