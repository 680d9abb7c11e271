// Bucket: many small buffers reduced as one message, on request with fewer bits on the wire.
#pragma once

#include <memory>
#include <vector>

#include "comm/comm.h"

namespace hw {

class Bucket : public RefCounted {
 public:
  struct Piece {
    void* data;
    int64_t count;
  };
  /// Packs the pieces and starts an all_reduce of them. `wire` other than `dtype` is BF16 or F16, for F32: each rank's value
  /// is rounded to it, the sum is formed in float32 and rounded to it once more; every rank gets the same bits.
  Bucket(Comm& comm, std::vector<Piece> pieces, DType dtype, Reduce reduce, DType wire, Group group);
  const Request& request() const { return request_; }
  /// Puts the results into the pieces. Once, after the request has ended without an error.
  void unpack();

 private:
  std::vector<Piece> pieces_;
  DType dtype_, wire_;
  std::unique_ptr<char[]> data_;
  Request request_;
};

}  // namespace hw
