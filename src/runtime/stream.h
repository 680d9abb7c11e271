// A stream at work: its actors, what they hold, and the loop that takes messages and fires.
#pragma once

#include <deque>

#include "runtime/board.h"

namespace hw {

struct StreamOptions {
  int64_t most_firings = -1;  // of each actor; -1: until the sources end
  bool record = false;        // every firing
};

/// Used by one thread at a time.
class Stream {
 public:
  Stream(Board& board, int32_t stream, std::span<const Ref<Behaviour>> behaviours, StreamOptions options);

  /// Takes what is in the mailbox, waiting for at most `seconds` (negative: for ever), and fires one actor, if one can.
  /// False once nothing is left to do here: all actors have ended, or the run stops.
  bool step(double seconds);
  /// step() until it is false, then says so to the board.
  void run();
  /// Says that this stream is through; for whoever calls step().
  void end();

 private:
  struct Token {
    int32_t copy;
    Payload value;
  };
  struct Input {
    int32_t reg, consumer;   // the register, and this actor's place among its consumers
    int32_t producer, port;  // whose output it is, and which
    std::deque<Token> tokens;
    bool ended = false;
  };
  struct Output {
    int32_t reg;
    std::vector<int32_t> consumers, ports;  // who reads it, through which input
    std::vector<bool> gone;                 // by consumer: reads no more
    std::vector<int32_t> free;              // copies
    std::vector<std::vector<bool>> unread;  // by copy and consumer
    std::vector<int32_t> readers;           // by copy: how many are to read it yet
    std::vector<Payload> memory;            // by copy: what it holds, if the behaviour uses it again
  };
  struct Actor {
    int32_t id;
    Ref<Behaviour> behaviour;
    std::vector<Input> inputs;
    std::vector<Output> outputs;
    std::vector<Payload> values, results;  // of a firing: kept, so that none is allocated
    std::vector<int32_t> copies;
    int64_t fired = 0;
    bool ended = false, queued = false;
  };

  void add_actor(int32_t id, Ref<Behaviour> behaviour);
  Actor& local(int32_t actor);
  void handle(StreamMessage& message);
  void read_again(Actor& actor, int32_t port, int32_t copy, int32_t consumer);
  void consumer_leaves(Actor& actor, int32_t port, int32_t consumer);
  void look_at(Actor& actor);
  bool can_fire(const Actor& actor) const;
  bool has_run_dry(const Actor& actor) const;
  void skip_ended();
  Actor* next_to_fire();
  void fire(Actor& actor);
  Fired call(Actor& actor);
  Fired call_traced(Actor& actor);
  void deliver(Actor& actor);
  void give_credits(Actor& actor);
  void finish(Actor& actor, bool leave_inputs);
  void send(int32_t actor, StreamMessage message);

  Board& board_;
  int32_t stream_;
  StreamOptions options_;
  bool ordered_, stopped_ = false;
  std::vector<Actor> actors_;
  std::vector<int32_t> place_;  // by actor of the plan: into actors_, or -1
  size_t left_ = 0, turn_ = 0;
  std::deque<size_t> ready_;  // into actors_, in the order in which they became ready
  std::vector<StreamMessage> taken_;
  std::deque<StreamMessage> own_;  // to actors of this stream: no lock, no wake-up
  std::vector<FiringRecord> records_;
};

}  // namespace hw
