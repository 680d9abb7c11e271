// The engine at work, under its lock: messages that arrived move their exchanges on, exchanges end their operations.
#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "comm/engine.h"
#include "comm/reduce.h"

namespace hw {

/// How many exchanges of a group have messages of their first phase under way.
static constexpr size_t kWindow = 4;

/// Takes what the transport has delivered; whether there was anything.
bool Engine::progress() {
  if (!gone_.ok()) {
    transport_->keep_alive();
    return false;
  }
  delivered_.clear();
  transport_->poll(delivered_);
  for (const Delivered& d : delivered_) {
    auto found = pending_.find(d.id);
    if (found == pending_.end()) continue;
    Pending p = found->second;
    pending_.erase(found);
    if (!d.status.ok() && p.exchange) {
      give_up(text("rank ", rank_, ", ", p.operation->what_, ": ", d.status.message), nullptr);
      return true;
    }
    if (!p.exchange) {
      if (!d.status.ok() && p.operation->status_.ok())
        p.operation->status_ = {d.status.code, text(p.operation->what_, ": ", d.status.message)};
      end_part(*p.operation);
    } else if (--p.exchange->outstanding == 0) {
      if (p.exchange->in_second) {
        Ref<Operation> operation = p.exchange->operation;
        second_.erase(p.exchange);
        end_part(*operation);
      } else {
        advance(*p.queue);
      }
    }
    if (!gone_.ok()) return true;
  }
  if (Status cause = transport_->aborted(); !cause.ok()) give_up(cause.message, nullptr);
  return !delivered_.empty();
}

/// Starts what the window allows, and moves exchanges whose first phase is over on, in order.
void Engine::advance(Queue& queue) {
  while (gone_.ok()) {
    if (queue.started < std::min(kWindow, queue.waiting.size())) {
      Exchange& next = *queue.waiting[queue.started++];
      start(queue, next);
    } else if (queue.started > 0 && queue.waiting.front()->outstanding == 0) {
      std::unique_ptr<Exchange> front = std::move(queue.waiting.front());
      queue.waiting.pop_front();
      --queue.started;
      start_second(queue, std::move(front));
    } else {
      return;
    }
  }
}

void Engine::lend_scratch(Exchange& e) {
  size_t pieces = 0;
  for (const void* source : e.sources) pieces += source == nullptr;
  if (size_t bytes = pieces * e.scratch_bytes) {
    auto fits = std::find_if(spare_.begin(), spare_.end(), [&](const Scratch& s) { return s.bytes >= bytes; });
    if (fits != spare_.end()) {
      e.scratch = std::move(*fits);
      spare_.erase(fits);
    } else {
      e.scratch = {std::unique_ptr<char[]>(new char[bytes]), bytes};
    }
  }
  char* next = e.scratch.data.get();
  size_t message = 0;
  for (const void*& source : e.sources) {
    if (source) continue;
    source = next;
    while (e.first[message].sends) ++message;  // receives stand in the group's order
    e.first[message++].data = next;
    next += e.scratch_bytes;
  }
}

void Engine::start(Queue& queue, Exchange& e) {
  for (const Exchange::Copy& copy : e.copies)
    if (copy.bytes && copy.from != copy.to) std::memmove(copy.to, copy.from, copy.bytes);
  if (e.reduced) lend_scratch(e);
  post(e.first, queue.tag, {e.operation.get(), &e, &queue, 0});
}

void Engine::start_second(Queue& queue, std::unique_ptr<Exchange> exchange) {
  Exchange& e = *exchange;
  if (e.reduced) reduce_elements(e.reduced, e.sources, e.count, e.dtype, e.reduce);
  if (e.scratch.data && spare_.size() < 2 * kWindow) spare_.push_back(std::move(e.scratch));
  if (e.second.empty()) return end_part(*e.operation);
  e.in_second = true;
  second_[&e] = std::move(exchange);
  post(e.second, queue.tag + 1, {e.operation.get(), &e, &queue, 0});
}

void Engine::post(std::vector<Message>& messages, int tag, Pending pending) {
  for (bool sends : {false, true}) {  // receives first: what arrives finds its place
    for (Message& m : messages) {
      if (m.sends != sends) continue;
      m.channel = Message::Channel::Collective;
      m.tag = tag;
      pending.peer = m.peer;
      post_parts(m, pending);
    }
  }
}

/// A message longer than what the library takes goes as several, which arrive in order.
void Engine::post_parts(Message message, const Pending& pending) {
  size_t left = message.bytes;
  do {
    message.bytes = std::min(left, largest_message_);
    message.id = ++last_id_;
    pending_[message.id] = pending;
    if (pending.exchange)
      ++pending.exchange->outstanding;
    else
      ++pending.operation->parts_;
    transport_->post(message);
    message.data = static_cast<char*>(message.data) + message.bytes;
    left -= message.bytes;
  } while (left);
}

void Engine::end_part(Operation& operation) {
  if (--operation.parts_ == 0) end(operation, operation.status_);
}

void Engine::give_up(const std::string& cause, Operation* expired) {
  if (!gone_.ok()) return;
  transport_->abort(cause);  // from here on no buffer of ours is touched
  gone_ = transport_->aborted();
  pending_.clear();
  second_.clear();
  for (auto& [key, queue] : queues_) {
    queue->waiting.clear();
    queue->started = 0;
  }
  std::vector<Operation*> all;
  for (auto& [operation, ref] : alive_) all.push_back(operation);
  for (Operation* operation : all) end(*operation, operation == expired ? Status{Status::Code::Timeout, cause} : gone_);
}

/// "rank 2", "ranks 0, 3": whose messages an operation lacks.
std::string Engine::missing_ranks(const Operation& operation) const {
  std::vector<int> ranks;
  for (auto& [id, p] : pending_)
    if (p.operation == &operation && std::find(ranks.begin(), ranks.end(), p.peer) == ranks.end())
      ranks.push_back(p.peer);
  if (ranks.empty()) return "any rank";
  std::sort(ranks.begin(), ranks.end());
  std::string out = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) out += text(i ? ", " : "", ranks[i]);
  return out;
}

}  // namespace hw
