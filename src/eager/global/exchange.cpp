// Exchanges by the messenger of the job: of tensors in eager mode, of memory in a plan.
#include "eager/global/exchange.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "base/error.h"
#include "eager/global/world.h"
#include "eager/global_hook.h"
#include "kernels/kernel.h"
#include "kernels/loops/each.h"
#include "op/call.h"

namespace hw {

namespace {

/// The pieces in order, those of a process together.
class Parcels {
 public:
  void add(int process, Parcel::Piece piece) {
    auto at = std::find_if(list_.begin(), list_.end(), [&](const Parcel& p) { return p.process >= process; });
    if (at == list_.end() || at->process != process) at = list_.insert(at, Parcel{process, {}});
    at->pieces.push_back(std::move(piece));
  }
  std::vector<Parcel>& list() { return list_; }

 private:
  std::vector<Parcel> list_;
};

Parcel::Piece piece_of(const Tensor& t) { return {t.data(), t.nbytes(), t}; }

std::vector<Tensor> exchange_now(const std::vector<Sent>& sent, const std::vector<Expected>& expected, DType dtype) {
  Parcels out, in;
  std::vector<Tensor> received;
  for (const Sent& s : sent) out.add(s.process, piece_of(s.piece));
  for (const Expected& e : expected) {
    received.push_back(Tensor::empty(e.shape, dtype));
    in.add(e.process, piece_of(received.back()));
  }
  world().messenger->exchange(out.list(), in.list());
  return received;
}

/// The same as a node.
std::vector<Tensor> exchange_later(const std::vector<Sent>& sent, const std::vector<Expected>& expected, DType dtype) {
  static const Op op{"_exchange"};
  Dims to, from, shapes;
  std::vector<Tensor> in{t_local_recorder->token()}, out{in[0]};
  for (const Sent& s : sent) {
    in.push_back(s.piece);
    to.push_back(s.process);
  }
  for (const Expected& e : expected) {
    from.push_back(e.process);
    shapes.push_back(static_cast<int64_t>(e.shape.size()));
    for (int64_t n : e.shape) shapes.push_back(n);
  }
  out.resize(expected.size() + 1);
  execute_here(op.def(), in, {to, from, shapes, dtype}, out);
  out.erase(out.begin());
  return out;
}

thread_local std::exception_ptr t_failure;

/// A node's exchange. It allocates: so does every message.
class Exchange final : public Kernel {
 public:
  explicit Exchange(const KernelRequest& r) {
    const Dims &to = r.attrs[0].ints(), &from = r.attrs[1].ints();
    for (size_t i = 0; i < to.size(); ++i)
      sends_.push_back({static_cast<int>(to[i]), r.inputs[i + 1], strides_of(r.inputs[i + 1])});
    for (size_t i = 0; i < from.size(); ++i) receives_.push_back({static_cast<int>(from[i]), r.outputs[i + 1], {}});
    for (Move& m : sends_) {  // a pass may have given a value other strides
      if (m.strides == contiguous_strides(m.spec.shape)) continue;
      m.packed = scratch_;
      scratch_ += (m.bytes() + 63) / 64 * 64;
    }
  }
  size_t scratch_bytes() const override { return scratch_; }

  void run(const KernelArgs& args) const override {
    *static_cast<char*>(args.outputs[0]) = 0;
    try {
      Parcels out, in;
      for (size_t i = 0; i < sends_.size(); ++i) out.add(sends_[i].process, {sent(i, args), sends_[i].bytes(), {}});
      for (size_t i = 0; i < receives_.size(); ++i)
        in.add(receives_[i].process, {args.outputs[i + 1], receives_[i].bytes(), {}});
      world().messenger->exchange(out.list(), in.list());
    } catch (...) {
      t_failure = std::current_exception();
      args.status->report("RuntimeError: an exchange between processes failed");
    }
  }

 private:
  static constexpr size_t kInPlace = SIZE_MAX;
  struct Move {
    int process;
    TensorSpec spec;
    Dims strides;
    size_t packed = kInPlace;  // where in the scratch it is made dense
    size_t bytes() const { return static_cast<size_t>(spec.numel() * dtype_size(spec.dtype)); }
  };

  /// Messengers take what they send as memory that could be written; they only read it.
  void* sent(size_t i, const KernelArgs& args) const {
    const Move& m = sends_[i];
    const void* x = args.inputs[i + 1];
    if (m.packed == kInPlace) return const_cast<void*>(x);
    char* dense = static_cast<char*>(args.scratch) + m.packed;
    const auto size = static_cast<size_t>(dtype_size(m.spec.dtype));
    each<2>(m.spec.shape, {m.strides, contiguous_strides(m.spec.shape)}, [&](int64_t from, int64_t to) {
      std::memcpy(dense + static_cast<size_t>(to) * size,
                  static_cast<const char*>(x) + from * static_cast<int64_t>(size), size);
    });
    return dense;
  }

  std::vector<Move> sends_, receives_;
  size_t scratch_ = 0;
};

std::unique_ptr<Kernel> prepare(const KernelRequest& r, std::string& why_not) {
  for (size_t list : {size_t{0}, size_t{1}})
    for (int64_t process : r.attrs[list].ints())
      if (process < 0 || process >= world().processes || process == world().process) {
        why_not =
            text("process ", world().process, " of ", world().processes, " has no exchange with process ", process);
        return nullptr;
      }
  return std::make_unique<Exchange>(r);
}

const RegisterKernel kernel({"_exchange", "messages", DeviceType::CPU, 10, &prepare});

}  // namespace

std::vector<Tensor> exchange(const std::vector<Sent>& sent, const std::vector<Expected>& expected, DType dtype) {
  if (sent.empty() && expected.empty()) return {};
  return t_local_recorder ? exchange_later(sent, expected, dtype) : exchange_now(sent, expected, dtype);
}

void rethrow_failed_exchange() {
  if (t_failure) std::rethrow_exception(std::exchange(t_failure, nullptr));
}

}  // namespace hw
