// Comm: what one rank says to the others: messages and collectives, none of which blocks until its request is waited for.
#pragma once

#include <atomic>
#include <span>

#include "base/ref.h"
#include "comm/status.h"
#include "core/dtype.h"

namespace hw {

class Engine;

/// How a reduction joins the elements of the ranks. Bool: Sum and Max are "any", Min and Product "all". NaN wins Max and Min.
enum class Reduce : uint8_t { Sum, Max, Min, Product, Average };
void append_text(std::string& out, Reduce reduce);

/// The ranks that take part in a collective, in the order of their parts; empty means all ranks. Every member calls the
/// collectives of a group in the same order; different groups do not order each other, even when they share ranks.
using Group = std::span<const int>;

/// A message or collective under way. The buffers must live until it is done: keep them as long as the request.
class Operation : public RefCounted {
 public:
  /// Whether it is done; lends its thread to the engine for a moment.
  bool test();
  /// Blocks until it is done. Negative seconds: as long as the Comm's timeout. Past the time everything is aborted, for the
  /// buffers could not be given back otherwise: the Status then says Timeout and what was waited for.
  Status wait(double seconds = -1);
  /// Blocks for at most that long and aborts nothing; false if it is not done. For whoever has other things to look after.
  bool wait_for(double seconds);
  /// Calls function(context) once it is done, at once if it is done already. On the engine's or a waiter's thread: only
  /// pass the word on (post to a mailbox); no waiting, no throwing. One callback an operation. status() is valid in it.
  void when_done(void (*function)(void*), void* context);
  bool done() const { return state_.load(std::memory_order_acquire) == State::Done; }
  /// How it ended. Only after done().
  const Status& status() const { return status_; }

 private:
  friend class Engine;
  enum class State : uint8_t { Pending, Done };
  std::atomic<State> state_{State::Pending};
  Status status_;
  std::string what_;          // "all_reduce of 12 f32", for messages
  int parts_ = 0;             // exchanges and messages still under way, under the engine's lock
  Engine* engine_ = nullptr;  // which must outlive whoever waits
  void (*callback_)(void*) = nullptr;
  void* context_ = nullptr;
};
using Request = Ref<Operation>;

/// One rank's end. Calls may come from any thread. Sizes are in bytes, counts in elements. A mistake in the arguments is a
/// request that is done with Code::Mismatch; nothing throws. Reductions add in the order of the group's ranks, element by
/// element, 16-bit floats in float32 with one rounding at the end: the bits do not depend on the engine, on how a buffer is
/// cut, or on whether it was reduced alone or together with others.
class Comm : public RefCounted {
 public:
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Messages with the same sender, receiver and tag arrive in the order they were sent. tag: 0 to max_tag.
  static constexpr int kMaxTag = 32767;
  virtual Request send(const void* data, size_t bytes, int peer, int tag) = 0;
  virtual Request recv(void* data, size_t bytes, int peer, int tag) = 0;

  /// `out` may be `in`.
  virtual Request all_reduce(const void* in, void* out, int64_t count, DType dtype, Reduce reduce,
                             Group group = {}) = 0;
  /// `out` gets the parts of all members one after the other; sizes[i]: bytes of member i. `in` may lie in its place in `out`.
  virtual Request all_gather(const void* in, void* out, std::span<const size_t> sizes, Group group = {}) = 0;
  /// `in` holds the parts for all members one after the other, counts[i] elements for member i; `out` gets the reduced part
  /// of this rank. `out` may lie in `in`.
  virtual Request reduce_scatter(const void* in, void* out, std::span<const int64_t> counts, DType dtype, Reduce reduce,
                                 Group group = {}) = 0;
  /// Part i of `in` (send_sizes[i] bytes) goes to member i; part i of `out` (recv_sizes[i] bytes) comes from member i.
  virtual Request all_to_all(const void* in, std::span<const size_t> send_sizes, void* out,
                             std::span<const size_t> recv_sizes, Group group = {}) = 0;
  /// `root` is a rank of the world and a member of the group.
  virtual Request broadcast(void* data, size_t bytes, int root, Group group = {}) = 0;
  virtual Request barrier(Group group = {}) = 0;

  /// Ends everything under way, on all ranks, with Code::Aborted. The first cause stays; later ones are dropped.
  virtual void abort(const std::string& cause) = 0;
  /// Begins anew after an abort, with nothing under way. All ranks call it, and each waits for the others, at most `seconds`; a rank
  /// that has not heard of an abort gives up what it has under way. Fails when a rank is lost or does not come.
  virtual Status renew(double seconds) = 0;
  /// Ok, or why nothing can be sent any more.
  virtual Status status() const = 0;
  /// Seconds that wait() waits; the default is 1800.
  virtual void set_timeout(double seconds) = 0;
};

}  // namespace hw
