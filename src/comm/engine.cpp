// The engine's calls and threads: checks, requests, who drives it, how waiting ends. What it does when driven: progress.cpp.
#include "comm/engine.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/flags.h"
#include "base/trace.h"
#include "comm/reduce.h"

namespace hw {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

/// Order of locks: `drive`, then the transport's, then `event`, which is held for moments only.
struct Engine::Threads {
  std::mutex drive;  // whoever holds it may touch the engine's state and the transport
  std::mutex event;
  std::condition_variable foreground, background;
  uint64_t events = 0;  // grows with each news, under `event`
  bool stop = false;    // under `event`
  bool polled = false;
  std::atomic<bool> dozing{false};  // the engine's thread takes a long nap
  std::atomic<int> waiters{0}, under_way{0};
  std::vector<Ref<Operation>> ended;  // whose callbacks are to be called, under `event`
  std::atomic<bool> some_ended{false};
  std::thread thread;

  uint64_t seen() {
    std::lock_guard<std::mutex> guard(event);
    return events;
  }
  void notify() {
    {
      std::lock_guard<std::mutex> guard(event);
      ++events;
    }
    foreground.notify_all();
    // Each wake of a thread costs more than a small message; a polled engine's thread looks up by itself when it does not doze.
    if (waiters.load() == 0 && (!polled || dozing.load())) background.notify_all();
  }
  /// A moment of the system's clock: ThreadSanitizer does not know waits on the steady one.
  static std::chrono::system_clock::time_point after(double seconds) {
    return std::chrono::system_clock::now() + std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6));
  }
};

void throw_unless_ok(const Status& status) {
  if (!status.ok()) fail(ErrorKind::Runtime, status.message);
}

// ---------------------------------------------------------------- Operation
bool Operation::test() {
  if (!done() && engine_) engine_->wait(*this, 0);
  return done();
}

Status Operation::wait(double seconds) {
  if (done()) return status_;
  double limit = seconds < 0 ? engine_->timeout_.load() : seconds;
  if (!engine_->wait(*this, limit)) engine_->expire(*this, limit);
  return status_;
}

bool Operation::wait_for(double seconds) { return done() || engine_->wait(*this, seconds); }

void Operation::when_done(void (*function)(void*), void* context) {
  if (engine_) {
    std::lock_guard<std::mutex> guard(engine_->threads_->event);
    if (!done()) {
      callback_ = function;
      context_ = context;
      return;
    }
  }
  function(context);
}

// ---------------------------------------------------------------- threads
Engine::Engine(std::unique_ptr<Transport> transport)
    : transport_(std::move(transport)),
      rank_(transport_->rank()),
      size_(transport_->size()),
      largest_message_(static_cast<size_t>(std::max<int64_t>(1, flag_int("HEADWATER_COMM_LARGEST_MESSAGE", 1 << 30)))),
      threads_(std::make_unique<Threads>()) {
  threads_->polled = transport_->must_be_polled();
  transport_->on_news([](void* threads) { static_cast<Threads*>(threads)->notify(); }, threads_.get());
  threads_->thread = std::thread([this] { run(); });
}

Engine::~Engine() {
  {
    std::lock_guard<std::mutex> guard(threads_->event);
    threads_->stop = true;
  }
  threads_->background.notify_all();
  threads_->thread.join();
  transport_->on_news(nullptr, nullptr);
  {
    std::lock_guard<std::mutex> guard(threads_->drive);
    if (!alive_.empty()) give_up(text("rank ", rank_, " closed its Comm while messages were under way"), nullptr);
  }
  call_back();
}

/// Seconds between two looks for news of what nobody waits for; longer and longer while there are none: a look costs 10 us, which the
/// work of the same core lacks.
static constexpr double kShortPause = 200e-6, kLongPause = 1.6e-3;

/// Drives the engine while nobody waits for anything.
void Engine::run() {
  Threads& t = *threads_;
  uint64_t last = 0;
  int quiet = 0;
  double pause = kShortPause;
  while (true) {
    uint64_t seen;
    {
      std::unique_lock<std::mutex> guard(t.event);
      if (t.stop) return;
      seen = t.events;
    }
    bool moved = false;
    if (t.waiters.load() == 0) {
      {
        std::lock_guard<std::mutex> driving(t.drive);
        moved = progress();
      }
      call_back();
    }
    if (moved) {
      pause = kShortPause;
      continue;
    }
    std::unique_lock<std::mutex> guard(t.event);
    if (t.stop) return;
    if (!t.polled) {  // news wake us
      if (t.events == seen) t.background.wait_until(guard, t.after(1.0));
      continue;
    }
    // Often while messages are under way that nobody waits for, now and then after that, in the end only to hear of an abort.
    bool busy = t.under_way.load() > 0 && t.waiters.load() == 0;
    const bool news = t.events != last;
    quiet = busy || news ? 0 : quiet + 1;
    last = t.events;
    t.dozing = quiet > 20;
    pause = news ? kShortPause : std::min(2 * pause, kLongPause);
    t.background.wait_until(guard, t.after(busy ? pause : t.dozing ? 0.05 : 500e-6));
    t.dozing = false;
  }
}

/// True when it is done; false after `seconds`.
bool Engine::wait(Operation& operation, double seconds) {
  Threads& t = *threads_;
  Clock::time_point begin = Clock::now(), moved = begin;
  t.waiters.fetch_add(1);
  while (true) {
    uint64_t seen = t.seen();
    if (operation.done()) break;
    {  // no try_lock: who holds it may have looked for news before ours came
      std::lock_guard<std::mutex> driving(t.drive);
      if (progress()) moved = Clock::now();
    }
    call_back();
    if (operation.done()) break;
    Clock::time_point now = Clock::now();
    double left = seconds - Seconds(now - begin).count();
    if (left <= 0) break;
    // A polled engine is asked again at once for two milliseconds after the last news, then ten thousand times a second.
    if (t.polled && Seconds(now - moved).count() < 2e-3) {
      std::this_thread::yield();
      continue;
    }
    std::unique_lock<std::mutex> guard(t.event);
    if (t.events == seen && !operation.done())
      t.foreground.wait_until(guard, t.after(std::min(left, t.polled ? 100e-6 : 1.0)));
  }
  if (t.waiters.fetch_sub(1) == 1) t.notify();  // the background thread takes over
  return operation.done();
}

/// The time of `operation` is over: nothing may use its buffers any more, so everything ends.
void Engine::expire(Operation& operation, double seconds) {
  {
    std::lock_guard<std::mutex> guard(threads_->drive);
    if (!operation.done())
      give_up(text("rank ", rank_, " waited ", seconds, " s for ", operation.what_, "; nothing came from ",
                   missing_ranks(operation), ". Is every rank making the same calls?"),
              &operation);
  }
  call_back();
}

void Engine::abort(const std::string& cause) {
  {
    std::lock_guard<std::mutex> guard(threads_->drive);
    give_up(cause, nullptr);
  }
  call_back();
}

Status Engine::renew(double seconds) {
  Status how;
  {
    std::lock_guard<std::mutex> guard(threads_->drive);
    give_up(text("rank ", rank_, " begins anew"), nullptr);
    how = transport_->renew(seconds);
    if (how.ok()) gone_ = {};
  }
  call_back();
  return how;
}

Status Engine::status() const { return transport_->aborted(); }
void Engine::set_timeout(double seconds) { timeout_ = seconds; }

/// Something goes on from here to the end() of its operation.
static void trace_begin(const Operation& operation, const std::string& what, int64_t bytes, int32_t from = -1,
                        int32_t to = -1, int32_t tag = -1) {
  TraceEvent e;
  e.kind = TraceEvent::Kind::Begin;
  e.from = from;
  e.to = to;
  e.tag = tag;
  e.begin = e.end = trace_now();
  e.id = reinterpret_cast<uintptr_t>(&operation);
  e.number = bytes;
  e.name = what;
  trace_add(std::move(e));
}

static void trace_end(const Operation& operation) {
  TraceEvent e;
  e.kind = TraceEvent::Kind::End;
  e.begin = e.end = trace_now();
  e.id = reinterpret_cast<uintptr_t>(&operation);
  trace_add(std::move(e));
}

/// What a rank sends of a collective.
static int64_t bytes_of(const Exchanges& exchanges) {
  size_t bytes = 0;
  for (const auto& e : exchanges)
    for (const std::vector<Message>* phase : {&e->first, &e->second})
      for (const Message& m : *phase)
        if (m.sends) bytes += m.bytes;
  return static_cast<int64_t>(bytes);
}

void Engine::end(Operation& operation, Status status) {
  if (tracing()) [[unlikely]]
    trace_end(operation);
  auto found = alive_.find(&operation);
  {
    std::lock_guard<std::mutex> guard(threads_->event);
    operation.status_ = std::move(status);
    operation.state_.store(Operation::State::Done, std::memory_order_release);
    if (found != alive_.end()) {
      threads_->ended.push_back(std::move(found->second));
      threads_->some_ended = true;
    }
    ++threads_->events;
  }
  threads_->foreground.notify_all();
  if (found == alive_.end()) return;
  alive_.erase(found);
  threads_->under_way.fetch_sub(1);
}

/// The callbacks of what has ended, without any lock.
void Engine::call_back() {
  if (!threads_->some_ended.load()) return;
  std::vector<Ref<Operation>> ended;
  {
    std::lock_guard<std::mutex> guard(threads_->event);
    ended.swap(threads_->ended);
    threads_->some_ended = false;
  }
  for (const Ref<Operation>& operation : ended)
    if (operation->callback_) operation->callback_(operation->context_);
}

// ---------------------------------------------------------------- requests
Request Engine::failed(std::string what, std::string why) const {
  Request out = make_ref<Operation>();
  out->what_ = std::move(what);
  out->status_ = {Status::Code::Mismatch, text(out->what_, ": ", why)};
  out->state_ = Operation::State::Done;
  return out;
}

Request Engine::message(bool sends, void* data, size_t bytes, int peer, int tag) {
  std::string what = sends ? text("send of ", bytes, " bytes to rank ", peer, ", tag ", tag)
                           : text("recv of ", bytes, " bytes from rank ", peer, ", tag ", tag);
  if (peer < 0 || peer >= size_) return failed(what, text("there are ranks 0 to ", size_ - 1));
  if (tag < 0 || tag > kMaxTag) return failed(what, text("tags go from 0 to ", kMaxTag));
  Request out = make_ref<Operation>();
  out->what_ = std::move(what);
  out->engine_ = this;
  out->parts_ = 1;
  if (tracing()) [[unlikely]]
    trace_begin(*out, out->what_, static_cast<int64_t>(bytes), sends ? rank_ : peer, sends ? peer : rank_, tag);
  {
    std::lock_guard<std::mutex> guard(threads_->drive);
    if (!gone_.ok()) {
      end(*out, gone_);
    } else {
      alive_[out.get()] = out;
      threads_->under_way.fetch_add(1);
      post_parts(
          {.channel = Message::Channel::User, .sends = sends, .data = data, .bytes = bytes, .peer = peer, .tag = tag},
          {.operation = out.get(), .peer = peer});
      end_part(*out);  // the one that kept it open while it was posted
    }
  }
  threads_->notify();
  return out;
}

Request Engine::send(const void* data, size_t bytes, int peer, int tag) {
  return message(true, const_cast<void*>(data), bytes, peer, tag);
}
Request Engine::recv(void* data, size_t bytes, int peer, int tag) { return message(false, data, bytes, peer, tag); }

/// The queue of a group; null and a reason when there can be none.
Engine::Queue* Engine::queue_of(Group group, std::string& why) {
  std::vector<int> ranks(group.begin(), group.end());
  for (int r = 0; group.empty() && r < size_; ++r) ranks.push_back(r);
  std::string key(reinterpret_cast<const char*>(ranks.data()), ranks.size() * sizeof(int));
  std::lock_guard<std::mutex> guard(threads_->drive);
  if (auto found = queues_.find(key); found != queues_.end()) return found->second.get();
  auto queue = std::make_unique<Queue>();
  queue->members.index = -1;
  uint64_t hash = 1469598103934665603u;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] < 0 || ranks[i] >= size_)
      why = text("the group names rank ", ranks[i], ", there are ranks 0 to ", size_ - 1);
    if (std::count(ranks.begin(), ranks.end(), ranks[i]) > 1) why = text("the group names rank ", ranks[i], " twice");
    if (ranks[i] == rank_) queue->members.index = static_cast<int>(i);
    hash = (hash ^ static_cast<uint64_t>(ranks[i] + 1)) * 1099511628211u;
  }
  if (why.empty() && queue->members.index < 0) why = text("rank ", rank_, " is no member of the group");
  if (!why.empty()) return nullptr;
  hash ^= hash >> 32;
  queue->tag =
      group.empty() ? 0 : 2 + 2 * static_cast<int>(hash % static_cast<uint64_t>((transport_->max_tag() - 3) / 2));
  if (const Queue* other = tags_[queue->tag]) {
    why = text("two groups of ", ranks.size(), " and ", other->members.count(),
               " ranks get the same tag in this engine; list the ranks of one of them in another order");
    return nullptr;
  }
  queue->members.ranks = std::move(ranks);
  tags_[queue->tag] = queue.get();
  return (queues_[key] = std::move(queue)).get();
}

Request Engine::collective(std::string what, Queue* queue, Exchanges exchanges) {
  Request out = make_ref<Operation>();
  out->what_ = std::move(what);
  out->engine_ = this;
  out->parts_ = static_cast<int>(exchanges.size());
  if (tracing()) [[unlikely]]
    trace_begin(*out, out->what_, bytes_of(exchanges), rank_);
  {
    std::lock_guard<std::mutex> guard(threads_->drive);
    if (!gone_.ok()) {
      end(*out, gone_);
    } else {
      alive_[out.get()] = out;
      threads_->under_way.fetch_add(1);
      for (auto& exchange : exchanges) {
        exchange->operation = out;
        queue->waiting.push_back(std::move(exchange));
      }
      advance(*queue);
    }
  }
  threads_->notify();
  call_back();
  return out;
}

static std::string wrong_count(const char* of, size_t given, const Members& members) {
  return text(given, " ", of, " for ", members.count(), " ranks: give one for each member of the group");
}

Request Engine::all_reduce(const void* in, void* out, int64_t count, DType dtype, Reduce reduce, Group group) {
  std::string what = text("all_reduce of ", count, " ", dtype), why = cannot_reduce(dtype, reduce);
  Queue* queue = why.empty() ? queue_of(group, why) : nullptr;
  if (!queue) return failed(what, why);
  return collective(what, queue, plan_all_reduce(queue->members, in, out, count, dtype, reduce));
}

Request Engine::all_gather(const void* in, void* out, std::span<const size_t> sizes, Group group) {
  std::string what = "all_gather", why;
  Queue* queue = queue_of(group, why);
  if (queue && sizes.size() != queue->members.ranks.size()) why = wrong_count("sizes", sizes.size(), queue->members);
  if (!why.empty()) return failed(what, why);
  return collective(what, queue, plan_all_gather(queue->members, in, out, sizes));
}

Request Engine::reduce_scatter(const void* in, void* out, std::span<const int64_t> counts, DType dtype, Reduce reduce,
                               Group group) {
  std::string what = text("reduce_scatter of ", dtype), why = cannot_reduce(dtype, reduce);
  Queue* queue = why.empty() ? queue_of(group, why) : nullptr;
  if (queue && counts.size() != queue->members.ranks.size()) why = wrong_count("counts", counts.size(), queue->members);
  if (!why.empty()) return failed(what, why);
  return collective(what, queue, plan_reduce_scatter(queue->members, in, out, counts, dtype, reduce));
}

Request Engine::all_to_all(const void* in, std::span<const size_t> send_sizes, void* out,
                           std::span<const size_t> recv_sizes, Group group) {
  std::string what = "all_to_all", why;
  Queue* queue = queue_of(group, why);
  for (size_t given : {send_sizes.size(), recv_sizes.size()})
    if (queue && given != queue->members.ranks.size()) why = wrong_count("sizes", given, queue->members);
  if (why.empty() && send_sizes[queue->members.index] != recv_sizes[queue->members.index])
    why = text("this rank sends ", send_sizes[queue->members.index], " bytes to itself, but wants to receive ",
               recv_sizes[queue->members.index]);
  if (!why.empty()) return failed(what, why);
  return collective(what, queue, plan_all_to_all(queue->members, in, send_sizes, out, recv_sizes));
}

Request Engine::broadcast(void* data, size_t bytes, int root, Group group) {
  std::string what = text("broadcast of ", bytes, " bytes from rank ", root), why;
  Queue* queue = queue_of(group, why);
  if (!queue) return failed(what, why);
  const std::vector<int>& ranks = queue->members.ranks;
  auto found = std::find(ranks.begin(), ranks.end(), root);
  if (found == ranks.end()) return failed(what, text("rank ", root, " is no member of the group"));
  return collective(what, queue, plan_broadcast(queue->members, data, bytes, static_cast<int>(found - ranks.begin())));
}

Request Engine::barrier(Group group) {
  std::string what = "barrier", why;
  Queue* queue = queue_of(group, why);
  return queue ? collective(what, queue, plan_barrier(queue->members)) : failed(what, why);
}

}  // namespace hw
