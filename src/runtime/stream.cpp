// The rule of the runtime: an actor fires when every input is readable and one copy of each output is free; then it tells its
// consumers, and returns the credits of what it consumed.
#include "runtime/stream.h"

#include <cxxabi.h>

#include <algorithm>

#include "base/trace.h"

namespace hw {

Stream::Stream(Board& board, int32_t stream, std::span<const Ref<Behaviour>> behaviours, StreamOptions options)
    : board_(board), stream_(stream), options_(options) {
  const StreamPlan& plan = board.plan();
  ordered_ = plan.streams[static_cast<size_t>(stream)].ordered;
  place_.assign(plan.actors.size(), -1);
  for (size_t a = 0; a < plan.actors.size(); ++a)
    if (plan.actors[a].stream == stream) add_actor(static_cast<int32_t>(a), behaviours[a]);
  left_ = actors_.size();
  for (Actor& a : actors_) look_at(a);
}

/// The inputs (or outputs) of an actor are numbered in the order of the plan's registers.
static int32_t port_of(const StreamPlan& plan, size_t reg, int32_t actor, bool output) {
  int32_t port = 0;
  for (size_t r = 0; r < reg; ++r) {
    const std::vector<int32_t>& c = plan.registers[r].consumers;
    port += output ? plan.registers[r].producer == actor : std::find(c.begin(), c.end(), actor) != c.end();
  }
  return port;
}

void Stream::add_actor(int32_t id, Ref<Behaviour> behaviour) {
  const StreamPlan& plan = board_.plan();
  Actor actor;
  actor.id = id;
  actor.behaviour = std::move(behaviour);
  for (size_t r = 0; r < plan.registers.size(); ++r) {
    const StreamRegister& reg = plan.registers[r];
    for (size_t c = 0; c < reg.consumers.size(); ++c) {
      if (reg.consumers[c] != id) continue;
      Input in{
          static_cast<int32_t>(r), static_cast<int32_t>(c), reg.producer, port_of(plan, r, reg.producer, true), {}};
      for (int32_t copy = 0; copy < reg.initial; ++copy) in.tokens.push_back({copy, {}});
      actor.inputs.push_back(std::move(in));
    }
    if (reg.producer != id) continue;
    Output out{static_cast<int32_t>(r), reg.consumers, {}, {}, {}, {}, {}, {}};
    for (int32_t consumer : reg.consumers) out.ports.push_back(port_of(plan, r, consumer, false));
    out.gone.assign(reg.consumers.size(), false);
    const auto count = static_cast<size_t>(reg.count);
    out.memory.resize(count);
    for (int32_t copy = 0; copy < reg.count; ++copy) {
      const bool readable = copy < reg.initial;
      out.unread.emplace_back(reg.consumers.size(), readable);
      out.readers.push_back(readable ? static_cast<int32_t>(reg.consumers.size()) : 0);
      if (!readable) out.free.push_back(copy);
    }
    actor.outputs.push_back(std::move(out));
  }
  actor.values.resize(actor.inputs.size());
  actor.results.resize(actor.outputs.size());
  actor.copies.resize(actor.outputs.size());
  place_[static_cast<size_t>(id)] = static_cast<int32_t>(actors_.size());
  actors_.push_back(std::move(actor));
}

Stream::Actor& Stream::local(int32_t actor) { return actors_[static_cast<size_t>(place_[static_cast<size_t>(actor)])]; }

void Stream::send(int32_t actor, StreamMessage message) {
  if (place_[static_cast<size_t>(actor)] < 0) return board_.post_to(actor, std::move(message));
  message.actor = actor;
  own_.push_back(std::move(message));
}

bool Stream::step(double seconds) {
  if (left_ == 0) return false;
  if (ordered_) skip_ended();
  const bool idle = own_.empty() && !(ordered_ ? can_fire(actors_[turn_]) : !ready_.empty());
  board_.mailbox(stream_).take(taken_, idle ? seconds : 0);
  for (StreamMessage& m : taken_) handle(m);
  taken_.clear();
  while (!own_.empty()) {
    StreamMessage m = std::move(own_.front());
    own_.pop_front();
    handle(m);
  }
  if (stopped_ || board_.stopping()) return false;
  if (Actor* actor = next_to_fire()) fire(*actor);
  return left_ > 0;
}

void Stream::run() {
  name_thread(board_.plan().streams[static_cast<size_t>(stream_)].name);
  while (step(-1)) {
  }
  end();
}

void Stream::end() {
  board_.add_records(std::move(records_));
  records_.clear();
  board_.stream_ended();
}

void Stream::handle(StreamMessage& m) {
  if (m.kind == StreamMessage::Kind::Stop) {
    stopped_ = true;
    return;
  }
  Actor& actor = local(m.actor);
  if (actor.ended) return;
  switch (m.kind) {
    case StreamMessage::Kind::Readable:
      actor.inputs[static_cast<size_t>(m.port)].tokens.push_back({m.copy, std::move(m.value)});
      break;
    case StreamMessage::Kind::End: actor.inputs[static_cast<size_t>(m.port)].ended = true; break;
    case StreamMessage::Kind::Free: read_again(actor, m.port, m.copy, m.consumer); break;
    case StreamMessage::Kind::Leave: consumer_leaves(actor, m.port, m.consumer); break;
    case StreamMessage::Kind::Stop: break;
  }
  look_at(actor);
}

void Stream::read_again(Actor& actor, int32_t port, int32_t copy, int32_t consumer) {
  Output& out = actor.outputs[static_cast<size_t>(port)];
  const auto c = static_cast<size_t>(copy);
  if (!out.unread[c][static_cast<size_t>(consumer)]) return;
  out.unread[c][static_cast<size_t>(consumer)] = false;
  if (--out.readers[c] > 0) return;
  out.free.push_back(copy);
  board_.reg(out.reg).held.fetch_sub(1, std::memory_order_relaxed);
}

void Stream::consumer_leaves(Actor& actor, int32_t port, int32_t consumer) {
  Output& out = actor.outputs[static_cast<size_t>(port)];
  for (size_t copy = 0; copy < out.unread.size(); ++copy) read_again(actor, port, static_cast<int32_t>(copy), consumer);
  out.gone[static_cast<size_t>(consumer)] = true;
  for (const Output& o : actor.outputs)
    if (std::find(o.gone.begin(), o.gone.end(), false) != o.gone.end()) return;
  finish(actor, true);  // nobody reads what it would make
}

/// Whether an input has ended and is used up: the actor never fires again.
bool Stream::has_run_dry(const Actor& actor) const {
  return std::any_of(actor.inputs.begin(), actor.inputs.end(),
                     [](const Input& in) { return in.ended && in.tokens.empty(); });
}

bool Stream::can_fire(const Actor& actor) const {
  return !actor.ended &&
         std::all_of(actor.inputs.begin(), actor.inputs.end(), [](const Input& i) { return !i.tokens.empty(); }) &&
         std::all_of(actor.outputs.begin(), actor.outputs.end(), [](const Output& o) { return !o.free.empty(); });
}

void Stream::look_at(Actor& actor) {
  if (actor.ended) return;
  if (options_.most_firings >= 0 && actor.fired >= options_.most_firings) return finish(actor, false);
  if (has_run_dry(actor)) return finish(actor, true);
  if (ordered_ || actor.queued || !can_fire(actor)) return;
  actor.queued = true;
  ready_.push_back(static_cast<size_t>(place_[static_cast<size_t>(actor.id)]));
}

void Stream::skip_ended() {
  for (size_t i = 0; i < actors_.size() && actors_[turn_].ended; ++i) turn_ = (turn_ + 1) % actors_.size();
}

Stream::Actor* Stream::next_to_fire() {
  if (ordered_) {
    skip_ended();
    return can_fire(actors_[turn_]) ? &actors_[turn_] : nullptr;
  }
  while (!ready_.empty()) {
    Actor& actor = actors_[ready_.front()];
    ready_.pop_front();
    actor.queued = false;
    if (can_fire(actor)) return &actor;
  }
  return nullptr;
}

void Stream::fire(Actor& actor) {
  if (ordered_) turn_ = (turn_ + 1) % actors_.size();
  for (size_t i = 0; i < actor.inputs.size(); ++i) actor.values[i] = std::move(actor.inputs[i].tokens.front().value);
  for (size_t o = 0; o < actor.outputs.size(); ++o) {
    Output& out = actor.outputs[o];
    actor.copies[o] = out.free.back();
    out.free.pop_back();
    Board::RegisterCounters& counters = board_.reg(out.reg);
    const int64_t held = counters.held.fetch_add(1, std::memory_order_relaxed) + 1;
    if (held > counters.most_held.load(std::memory_order_relaxed))
      counters.most_held.store(held, std::memory_order_relaxed);
    actor.results[o] = std::move(out.memory[static_cast<size_t>(actor.copies[o])]);
  }
  Board::ActorCounters& counters = board_.actor(actor.id);
  const int64_t begin = board_.now();
  counters.began.store(begin, std::memory_order_relaxed);
  Fired fired = tracing() ? call_traced(actor) : call(actor);
  const int64_t end = board_.now();
  counters.began.store(-1, std::memory_order_relaxed);
  counters.busy.fetch_add(end - begin, std::memory_order_relaxed);
  for (Payload& value : actor.values) value.reset();
  if (fired.how == Fired::How::Failed) {
    const StreamActor& planned = board_.plan().actors[static_cast<size_t>(actor.id)];
    fired.fault.actor = planned.name;
    if (fired.fault.runs.empty()) fired.fault.runs = planned.runs;
    if (fired.fault.origin.empty()) fired.fault.origin = planned.origin;
    return board_.fail(std::move(fired.fault));
  }
  if (fired.how == Fired::How::End) return finish(actor, true);
  if (options_.record) records_.push_back({actor.id, actor.fired, begin, end});
  ++actor.fired;
  counters.fired.store(actor.fired, std::memory_order_relaxed);
  board_.count_firing();
  deliver(actor);
  give_credits(actor);
  look_at(actor);
}

Fired Stream::call_traced(Actor& actor) {
  TraceScope scope(TraceEvent::Kind::Actor);
  Fired fired = call(actor);
  TraceEvent* e = scope.event();
  if (!e) return fired;
  e->end = trace_now();
  const StreamActor& planned = board_.plan().actors[static_cast<size_t>(actor.id)];
  e->name = planned.name;
  e->detail = planned.runs;
  e->origin = planned.origin;
  e->id = board_.id();
  e->number = fired.how == Fired::How::Done ? actor.fired : -1;
  return fired;
}

Fired Stream::call(Actor& actor) {
  FiringView view{actor.fired, actor.values, actor.results};
  try {
    return actor.behaviour->fire(view);
  } catch (const Error& e) {
    return {Fired::How::Failed, {e.kind(), e.message(), {}, {}, {}, {}}};
  } catch (const std::bad_alloc&) {
    return {Fired::How::Failed, {ErrorKind::Memory, "out of memory", {}, {}, {}, {}}};
  } catch (const std::exception& e) {
    return {Fired::How::Failed, {ErrorKind::Runtime, e.what(), {}, {}, {}, {}}};
  } catch (const abi::__forced_unwind&) {  // the thread is being ended from outside: an interpreter that exits
    throw;
  } catch (...) {
    return {Fired::How::Failed, {ErrorKind::Runtime, "an unknown C++ exception", {}, {}, {}, {}}};
  }
}

void Stream::deliver(Actor& actor) {
  const bool keeps = actor.behaviour->reuses_memory();
  for (size_t o = 0; o < actor.outputs.size(); ++o) {
    Output& out = actor.outputs[o];
    const int32_t copy = actor.copies[o];
    const auto c = static_cast<size_t>(copy);
    Payload value = std::move(actor.results[o]);
    if (keeps) out.memory[c] = value;
    out.readers[c] = 0;
    for (size_t i = 0; i < out.consumers.size(); ++i) {
      out.unread[c][i] = !out.gone[i];
      out.readers[c] += !out.gone[i];
    }
    if (out.readers[c] == 0) {
      out.free.push_back(copy);
      board_.reg(out.reg).held.fetch_sub(1, std::memory_order_relaxed);
      continue;
    }
    for (size_t i = 0; i < out.consumers.size(); ++i) {
      if (out.gone[i]) continue;
      board_.reg(out.reg).messages.fetch_add(1, std::memory_order_relaxed);
      send(out.consumers[i], {StreamMessage::Kind::Readable, -1, out.ports[i], copy, -1, value});
    }
  }
}

void Stream::give_credits(Actor& actor) {
  for (Input& in : actor.inputs) {
    const int32_t copy = in.tokens.front().copy;
    in.tokens.pop_front();
    send(in.producer, {StreamMessage::Kind::Free, -1, in.port, copy, in.consumer, {}});
  }
}

/// The actor fires no more. With `leave_inputs` its producers hear that it reads no more; otherwise everybody ends after the same
/// number of firings, and for those its credits are enough.
void Stream::finish(Actor& actor, bool leave_inputs) {
  if (actor.ended) return;
  actor.ended = true;
  --left_;
  for (const Output& out : actor.outputs)
    for (size_t i = 0; i < out.consumers.size(); ++i)
      send(out.consumers[i], {StreamMessage::Kind::End, -1, out.ports[i], -1, -1, {}});
  for (Input& in : actor.inputs) {
    in.tokens.clear();
    if (leave_inputs) send(in.producer, {StreamMessage::Kind::Leave, -1, in.port, -1, in.consumer, {}});
  }
  actor.results.assign(actor.results.size(), {});
  board_.actor_ended();
}

}  // namespace hw
