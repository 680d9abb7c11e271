// The processes of a job and the ranks that each of them hosts. By default one process hosts every rank.
#pragma once

#include <memory>

#include "comm/comm.h"
#include "core/tensor.h"
#include "sbp/mesh.h"

namespace hw {

/// What goes to one process or comes from it, in an order that both know.
struct Parcel {
  struct Piece {
    void* data = nullptr;
    size_t bytes = 0;
    Tensor owner;  // whose memory it is; undefined: the caller's, who lends it until exchange() returns
  };
  int process = 0;
  std::vector<Piece> pieces;
};

class Messenger {
 public:
  virtual ~Messenger() = default;
  /// Sends and receives at once. Between two processes parcels arrive in the order of the calls; throws when the other end is gone.
  virtual void exchange(std::span<const Parcel> out, std::span<Parcel> in) = 0;
  /// For collectives, where a process is the rank of its number; null: there are only messages.
  virtual Comm* comm() { return nullptr; }
  /// Returns when they are done, throws when one failed. Either way nothing uses their memory any more.
  virtual void wait(std::span<const Request> requests);
};

struct World {
  int process = 0, processes = 1;
  int64_t ranks_each = 0;  // ranks r * ranks_each, ... are hosted by process r; 0: the first mesh decides
  std::unique_ptr<Messenger> messenger;

  int process_of(int64_t rank) const { return processes == 1 ? 0 : static_cast<int>(rank / ranks_each); }
};

World& world();
/// Once, before the first global tensor. `ranks`: of all processes together; 0: the first mesh decides.
void join_world(int process, int processes, int64_t ranks, std::unique_ptr<Messenger> messenger);
/// Whether the devices of a mesh hold no values: no process hosts them.
inline bool is_meta(const Mesh& mesh) { return mesh.device == "meta"; }
/// The positions of a mesh whose ranks this process hosts.
Ints hosted_positions(const Mesh& mesh);
/// One rank of each process: where a value goes that every process wants.
Mesh one_rank_each();

}  // namespace hw
