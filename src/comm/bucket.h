// Bucket: many small buffers reduced as one message, on request with fewer bits on the wire.
#pragma once

#include <memory>
#include <vector>

#include "comm/exchange.h"

namespace hw {

/// Memory of buckets that are over, for the next ones: fresh pages cost as much as the packing. Any thread.
class BucketMemory : public RefCounted {
 public:
  BucketMemory();
  ~BucketMemory() override;
  Scratch take(size_t bytes);
  void give(Scratch scratch);

 private:
  struct Shelf;
  std::unique_ptr<Shelf> shelf_;
};

class Bucket : public RefCounted {
 public:
  struct Piece {
    void* data;
    int64_t count;
  };
  /// Packs the pieces and starts an all_reduce of them. `wire` other than `dtype` is BF16 or F16, for F32: each rank's value
  /// is rounded to it, the sum is formed in float32 and rounded to it once more; every rank gets the same bits.
  Bucket(Comm& comm, Ref<BucketMemory> memory, std::vector<Piece> pieces, DType dtype, Reduce reduce, DType wire,
         Group group);
  ~Bucket() override;
  /// Waits at most so long; true when all pieces hold their results, or something failed. Whoever waits also unpacks: the first
  /// pieces while the last are on their way. One thread at a time.
  bool wait_for(double seconds);
  /// Past the time everything is aborted, as in Operation::wait.
  void expire();
  /// How it ended, once wait_for() said true.
  const Status& status() const { return parts_[at_ < parts_.size() ? at_ : at_ - 1].request->status(); }
  /// The requests of its messages, for whoever must know that no memory of it is in use.
  std::vector<Request> requests() const;

 private:
  /// Some pieces that go as one message.
  struct Part {
    size_t begin, end;  // of pieces_
    char* data;
    Request request;
  };
  void pack(const Part& part) const;
  void unpack(const Part& part) const;

  std::vector<Piece> pieces_;
  std::vector<Part> parts_;
  size_t at_ = 0;  // parts before it are unpacked
  DType dtype_, wire_;
  Ref<BucketMemory> memory_;
  Scratch data_;
};

}  // namespace hw
