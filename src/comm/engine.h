// Engine: a Comm over any Transport. One thread at a time drives it: whoever waits, or its own thread when nobody does.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "comm/exchange.h"

namespace hw {

class Engine final : public Comm {
 public:
  explicit Engine(std::unique_ptr<Transport> transport);
  /// Ends what is under way. Nobody may be waiting.
  ~Engine() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Request send(const void* data, size_t bytes, int peer, int tag) override;
  Request recv(void* data, size_t bytes, int peer, int tag) override;
  Request all_reduce(const void* in, void* out, int64_t count, DType dtype, Reduce reduce, Group group) override;
  Request all_gather(const void* in, void* out, std::span<const size_t> sizes, Group group) override;
  Request reduce_scatter(const void* in, void* out, std::span<const int64_t> counts, DType dtype, Reduce reduce,
                         Group group) override;
  Request all_to_all(const void* in, std::span<const size_t> send_sizes, void* out, std::span<const size_t> recv_sizes,
                     Group group) override;
  Request broadcast(void* data, size_t bytes, int root, Group group) override;
  Request barrier(Group group) override;
  void abort(const std::string& cause) override;
  Status renew(double seconds) override;
  Status status() const override;
  void set_timeout(double seconds) override;

 private:
  friend class Operation;
  struct Threads;  // mutexes, conditions and the thread
  /// The exchanges of one group, oldest first; the first `started` of them are in their first phase.
  struct Queue {
    Members members;
    int tag = 0;  // even; tag + 1 is that of second phases
    std::deque<std::unique_ptr<Exchange>> waiting;
    size_t started = 0;
  };
  struct Pending {  // a message under way
    Operation* operation = nullptr;
    Exchange* exchange = nullptr;  // null for a user's message
    Queue* queue = nullptr;
    int peer = 0;
  };

  Request message(bool sends, void* data, size_t bytes, int peer, int tag);
  Request failed(std::string what, std::string why) const;
  Queue* queue_of(Group group, std::string& why);
  Request collective(std::string what, Queue* queue, Exchanges exchanges);
  bool wait(Operation& operation, double seconds);
  void expire(Operation& operation, double seconds);
  void run();

  // Under the lock:
  bool progress();
  void advance(Queue& queue);
  void start(Queue& queue, Exchange& exchange);
  void start_second(Queue& queue, std::unique_ptr<Exchange> exchange);
  void post(std::vector<Message>& messages, int tag, Pending pending);
  void post_parts(Message message, const Pending& pending);
  void end_part(Operation& operation);
  void end(Operation& operation, Status status);
  void give_up(const std::string& cause, Operation* expired);
  void lend_scratch(Exchange& exchange);
  std::string missing_ranks(const Operation& operation) const;
  void call_back();  // takes no lock: what ended is told to whoever asked

  std::unique_ptr<Transport> transport_;
  int rank_, size_;
  size_t largest_message_;
  std::atomic<double> timeout_{1800};
  std::unique_ptr<Threads> threads_;
  std::unordered_map<std::string, std::unique_ptr<Queue>> queues_;  // by the bytes of the ranks
  std::unordered_map<int, const Queue*> tags_;
  std::unordered_map<uint64_t, Pending> pending_;
  std::unordered_map<Exchange*, std::unique_ptr<Exchange>> second_;  // exchanges in their second phase
  std::unordered_map<Operation*, Ref<Operation>> alive_;
  std::vector<Scratch> spare_;
  std::vector<Delivered> delivered_;
  uint64_t last_id_ = 0;
  Status gone_;  // Ok as long as it works
};

}  // namespace hw
