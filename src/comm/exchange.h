// Exchange: one collective, or one piece of a large one, as plain data: what to send and receive, then reduce, then send again.
#pragma once

#include <memory>
#include <vector>

#include "comm/comm.h"
#include "comm/transport.h"

namespace hw {

/// Memory for what other ranks send; kept by the engine for the next exchange, so that its pages stay warm.
struct Scratch {
  std::unique_ptr<char[]> data;
  size_t bytes = 0;
};

/// The members of a group as one of them sees it.
struct Members {
  std::vector<int> ranks;
  int index = 0;  // of this rank in `ranks`
  int count() const { return static_cast<int>(ranks.size()); }
};

/// All collectives have this form: local copies; messages; a reduction of what came; messages again. The order of the
/// second messages among the exchanges of a group is that of the exchanges, so that tags need no counter.
struct Exchange {
  struct Copy {
    const void* from;
    void* to;
    size_t bytes;
  };
  Ref<Operation> operation;
  std::vector<Copy> copies;
  std::vector<Message> first, second;  // peer, data, bytes, sends; the engine fills in the rest
  void* reduced = nullptr;             // null: nothing to reduce
  std::vector<const void*> sources;    // in the group's order; null: the next piece of scratch
  int64_t count = 0;
  DType dtype = DType::None;
  Reduce reduce = Reduce::Sum;
  size_t scratch_bytes = 0;  // one piece; the engine lends (members - 1) of them and points the receives at them
  Scratch scratch;

  int outstanding = 0;  // messages of the phase under way
  bool in_second = false;
};
using Exchanges = std::vector<std::unique_ptr<Exchange>>;

Exchanges plan_all_reduce(const Members& members, const void* in, void* out, int64_t count, DType dtype, Reduce reduce);
Exchanges plan_all_gather(const Members& members, const void* in, void* out, std::span<const size_t> sizes);
Exchanges plan_reduce_scatter(const Members& members, const void* in, void* out, std::span<const int64_t> counts,
                              DType dtype, Reduce reduce);
Exchanges plan_all_to_all(const Members& members, const void* in, std::span<const size_t> send_sizes, void* out,
                          std::span<const size_t> recv_sizes);
Exchanges plan_broadcast(const Members& members, void* data, size_t bytes, int root);  // root: an index in members
Exchanges plan_barrier(const Members& members);

}  // namespace hw
