// A mailbox for each rank: the second of a send and its recv to come copies the bytes and tells both sides.
#include "comm/inproc/inproc.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "base/error.h"
#include "comm/engine.h"

namespace hw {

namespace {

/// What is delivered to one rank. A leaf among the locks.
struct News {
  std::mutex mutex;
  std::vector<Delivered> delivered;
  void (*wake)(void*) = nullptr;
  void* context = nullptr;

  void add(Delivered d) {
    std::lock_guard<std::mutex> guard(mutex);
    delivered.push_back(std::move(d));
    if (wake) wake(context);
  }
  void call() {
    std::lock_guard<std::mutex> guard(mutex);
    if (wake) wake(context);
  }
};

/// What waits for rank `to`: sends without a recv, or recvs without a send.
struct Mailbox {
  using Key = std::tuple<int, int, Message::Channel>;  // from, tag
  std::mutex mutex;
  std::map<Key, std::deque<Message>> sends, recvs;
};

struct World : RefCounted {
  explicit World(int size) : boxes(static_cast<size_t>(size)), news(static_cast<size_t>(size)) {}
  std::vector<Mailbox> boxes;
  std::vector<News> news;
  std::mutex mutex;
  std::condition_variable renewed;
  Status cause;        // under mutex
  int anew = 0;        // ranks that wait for the others to begin anew, under mutex
  uint64_t lives = 0;  // how often they did, under mutex
};

void clear(std::map<Mailbox::Key, std::deque<Message>>& messages, int from) {
  for (auto it = messages.begin(); it != messages.end();)
    it = from < 0 || std::get<0>(it->first) == from ? messages.erase(it) : std::next(it);
}

class InprocTransport final : public Transport {
 public:
  InprocTransport(Ref<World> world, int rank) : world_(std::move(world)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(world_->boxes.size()); }
  int max_tag() const override { return INT32_MAX; }
  bool must_be_polled() const override { return false; }

  void on_news(void (*wake)(void*), void* context) override {
    News& mine = world_->news[rank_];
    std::lock_guard<std::mutex> guard(mine.mutex);
    mine.wake = wake;
    mine.context = context;
  }

  void post(const Message& m) override {
    int from = m.sends ? rank_ : m.peer, to = m.sends ? m.peer : rank_;
    Mailbox& box = world_->boxes[to];
    Mailbox::Key key{from, m.tag, m.channel};
    Message other;
    Status received;
    {
      std::lock_guard<std::mutex> guard(box.mutex);
      auto& others = m.sends ? box.recvs : box.sends;
      auto found = others.find(key);
      if (found == others.end()) {
        (m.sends ? box.sends : box.recvs)[key].push_back(m);
        return;
      }
      other = found->second.front();
      found->second.pop_front();
      if (found->second.empty()) others.erase(found);
      const Message &send = m.sends ? m : other, &recv = m.sends ? other : m;
      if (send.bytes != recv.bytes)
        received = {Status::Code::Mismatch,
                    text("rank ", from, " sent ", send.bytes, " bytes, ", recv.bytes, " were expected")};
      else if (send.bytes)
        std::memcpy(recv.data, send.data, send.bytes);  // under the lock: abort() waits for it
    }
    world_->news[from].add({m.sends ? m.id : other.id, {}});
    world_->news[to].add({m.sends ? other.id : m.id, std::move(received)});
  }

  void poll(std::vector<Delivered>& out) override {
    News& mine = world_->news[rank_];
    std::lock_guard<std::mutex> guard(mine.mutex);
    out.insert(out.end(), std::make_move_iterator(mine.delivered.begin()),
               std::make_move_iterator(mine.delivered.end()));
    mine.delivered.clear();
  }

  void abort(const std::string& cause) override {
    {
      std::lock_guard<std::mutex> guard(world_->mutex);
      if (world_->cause.ok()) world_->cause = {Status::Code::Aborted, cause};
    }
    for (int to = 0; to < size(); ++to) {
      Mailbox& box = world_->boxes[to];
      std::lock_guard<std::mutex> guard(box.mutex);
      clear(box.sends, rank_);
      if (to == rank_) clear(box.recvs, -1);
    }
    for (News& news : world_->news) news.call();
  }

  Status renew(double seconds) override {
    std::vector<Delivered> old;
    poll(old);
    std::unique_lock<std::mutex> guard(world_->mutex);
    const uint64_t life = world_->lives;
    if (++world_->anew == size()) {
      world_->anew = 0;
      world_->cause = {};
      ++world_->lives;
      world_->renewed.notify_all();
      return {};
    }
    const auto until =
        std::chrono::system_clock::now() + std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6));
    if (world_->renewed.wait_until(guard, until, [&] { return world_->lives != life; })) return {};
    return {Status::Code::Timeout, text("rank ", rank_, " waited ", seconds, " s to begin anew; ", world_->anew--,
                                        " of ", size(), " ranks came")};
  }

  Status aborted() const override {
    std::lock_guard<std::mutex> guard(world_->mutex);
    return world_->cause;
  }

 private:
  Ref<World> world_;
  int rank_;
};

}  // namespace

std::vector<Ref<Comm>> make_inproc(int size) {
  check(size > 0, "a world of ranks needs at least one, got ", size);
  auto world = make_ref<World>(size);
  std::vector<Ref<Comm>> out;
  for (int r = 0; r < size; ++r) out.push_back(make_ref<Engine>(std::make_unique<InprocTransport>(world, r)));
  return out;
}

}  // namespace hw
