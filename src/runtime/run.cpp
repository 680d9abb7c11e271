// Starting, watching and ending the streams of a run.
#include "runtime/run.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <thread>

#include "plan/stream/analysis.h"
#include "runtime/outlet.h"

namespace hw {

struct StreamRun::Threads {
  std::vector<std::thread> threads;
  int owner = getpid();
};

static std::vector<Ref<Behaviour>> behaviours_of(const StreamPlan& plan, const std::vector<ActorBinding>& bindings) {
  check(bindings.size() == plan.actors.size(), "plan '", plan.name, "' has ", plan.actors.size(), " actors, got ",
        bindings.size(), " bindings");
  std::vector<Ref<Behaviour>> list;
  for (size_t a = 0; a < plan.actors.size(); ++a) {
    const ActorKind* kind = find_actor_kind(plan.actors[a].kind);
    check(kind, "actor '", plan.actors[a].name, "' is of kind '", plan.actors[a].kind,
          "', which is none; there are: ", actor_kind_names());
    list.push_back(kind->make(plan, static_cast<int32_t>(a), bindings[a]));
  }
  return list;
}

/// Signals are for the thread that waits, not for those that work.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

StreamRun::StreamRun(StreamPlan plan, const std::vector<ActorBinding>& bindings, RunOptions options)
    : options_(options), threads_(std::make_unique<Threads>()) {
  if (const std::string why = refusal(plan); !why.empty()) fail(ErrorKind::Value, "plan '", plan.name, "': ", why);
  const std::vector<Ref<Behaviour>> behaviours = behaviours_of(plan, bindings);
  const auto streams = static_cast<int32_t>(plan.streams.size());
  check(options.caller_stream < streams, "the caller's stream ", options.caller_stream, " is not in the plan");
  board_ = std::make_shared<Board>(std::move(plan));
  board_->set_streams(streams);
  const StreamOptions stream_options{options.most_firings, options.record};
  for (size_t a = 0; a < behaviours.size(); ++a)
    if (board_->plan().actors[a].stream == options.caller_stream && is_outlet(*behaviours[a])) outlet_ = behaviours[a];
  std::vector<std::shared_ptr<Stream>> made;  // all before any thread starts
  for (int32_t s = 0; s < streams; ++s) {
    if (s == options.caller_stream)
      caller_ = std::make_unique<Stream>(*board_, s, behaviours, stream_options);
    else
      made.push_back(std::make_shared<Stream>(*board_, s, behaviours, stream_options));
  }
  const SignalsBlocked blocked;
  try {
    for (const auto& stream : made) threads_->threads.emplace_back([stream, board = board_] { stream->run(); });
  } catch (...) {  // no more threads to be had: those that run must not outlive this object
    board_->stop();
    for (std::thread& t : threads_->threads) t.join();
    throw;
  }
}

StreamRun::~StreamRun() {
  if (getpid() != threads_->owner) {  // a copy in a forked process: the threads are not there
    (void)threads_.release();
    return;
  }
  stop();
  end_caller();
  for (std::thread& t : threads_->threads)
    if (t.joinable()) t.join();
}

void StreamRun::end_caller() {
  if (!caller_) return;
  caller_->end();
  caller_.reset();
}

void StreamRun::stop() { board_->stop(); }

StreamRun::State StreamRun::ended() const {
  if (board_->fault()) return State::Failed;
  if (board_->all_actors_ended()) return State::Finished;
  return board_->stopping() ? State::Stopped : State::Running;
}

std::string StreamRun::at_work() const {
  std::string out;
  for (size_t a = 0; a < plan().actors.size(); ++a) {
    const Board::ActorCounters& c = board_->actor(static_cast<int32_t>(a));
    const int64_t began = c.began.load();
    if (began < 0) continue;
    const double seconds = std::round(static_cast<double>(board_->now() - began) / 1e8) / 10;
    out += text(out.empty() ? "" : "; ", "'", plan().actors[a].name, "' is in its firing ", c.fired.load() + 1, " for ",
                seconds, " s");
  }
  return out;
}

bool StreamRun::timed_out() {
  if (options_.timeout <= 0) return false;
  const int64_t now = board_->now(), firings = board_->firings();
  if (firings != seen_firings_) {
    seen_firings_ = firings;
    seen_at_ = now;
  }
  if (static_cast<double>(now - seen_at_) / 1e9 < options_.timeout) return false;
  std::string work = at_work();
  Fault f;
  f.message = text("no firing ended within the timeout of ", options_.timeout, " s");
  f.message += work.empty() ? std::string("; no actor is at work") : text("; ", work);
  for (const StreamActor& a : plan().actors)
    if (f.actor.empty() && work.find("'" + a.name + "'") == 0) f.actor = a.name, f.runs = a.runs, f.origin = a.origin;
  board_->fail(std::move(f));
  return true;
}

StreamRun::State StreamRun::wait(double seconds) {
  const double slice = options_.timeout > 0 ? std::min(seconds, options_.timeout / 4) : seconds;
  const int64_t until = board_->now() + static_cast<int64_t>(seconds * 1e9);
  for (;;) {
    if (board_->wait(slice)) return ended();
    if (timed_out()) return State::Failed;
    if (board_->now() >= until) return State::Running;
  }
}

StreamRun::State StreamRun::next(double seconds) {
  if (!outlet_) bug("next() needs an outlet on the caller's stream");
  const int64_t until = board_->now() + static_cast<int64_t>(seconds * 1e9);
  for (;;) {
    if (outlet_has(*outlet_) && !board_->stopping()) return State::Item;
    if (!caller_) return wait(std::max(0.0, static_cast<double>(until - board_->now()) / 1e9));
    const double left = static_cast<double>(until - board_->now()) / 1e9;
    const double slice = options_.timeout > 0 ? std::min(left, options_.timeout / 4) : left;
    if (!caller_->step(std::max(0.0, slice))) {
      if (!outlet_has(*outlet_) || board_->stopping()) end_caller();
      continue;
    }
    if (outlet_has(*outlet_)) continue;
    if (timed_out()) return State::Failed;
    if (board_->now() >= until) return State::Running;
  }
}

std::vector<Payload> StreamRun::take() { return outlet_take(*outlet_); }

bool StreamRun::join(double seconds) {
  end_caller();
  if (!board_->wait(seconds)) return false;
  for (std::thread& t : threads_->threads)
    if (t.joinable()) t.join();
  board_->forget_values();
  if (outlet_ && outlet_has(*outlet_)) outlet_take(*outlet_);
  return true;
}

void StreamRun::abandon() {
  for (std::thread& t : threads_->threads)
    if (t.joinable()) t.detach();
}

std::vector<StreamRun::ActorStats> StreamRun::actor_stats() const {
  std::vector<ActorStats> out;
  for (size_t a = 0; a < plan().actors.size(); ++a) {
    const Board::ActorCounters& c = board_->actor(static_cast<int32_t>(a));
    out.push_back({c.fired.load(), static_cast<double>(c.busy.load()) / 1e9});
  }
  return out;
}

std::vector<StreamRun::RegisterStats> StreamRun::register_stats() const {
  std::vector<RegisterStats> out;
  for (size_t r = 0; r < plan().registers.size(); ++r) {
    const Board::RegisterCounters& c = board_->reg(static_cast<int32_t>(r));
    out.push_back({c.most_held.load(), c.messages.load()});
  }
  return out;
}

}  // namespace hw
