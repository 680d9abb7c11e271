// Packing and unpacking of buckets.
#include "comm/bucket.h"

#include <cstring>

#include "base/error.h"
#include "core/visit.h"

namespace hw {

/// f(wire type) for the two types that f32 may be sent as.
template <class F>
static void visit_wire(DType wire, F&& f) {
  if (wire == DType::BF16)
    f(Type<BFloat16>{});
  else
    f(Type<Half>{});
}

Bucket::Bucket(Comm& comm, std::vector<Piece> pieces, DType dtype, Reduce reduce, DType wire, Group group)
    : pieces_(std::move(pieces)), dtype_(dtype), wire_(wire == DType::None ? dtype : wire) {
  check(wire_ == dtype_ || (dtype_ == DType::F32 && is_reduced(wire_)), "a bucket of ", dtype_, " cannot be sent as ",
        wire_, "; float32 can, as bfloat16 or float16");
  int64_t count = 0;
  for (const Piece& p : pieces_) count += p.count;
  data_.reset(new char[static_cast<size_t>(count * dtype_size(wire_)) + 1]);
  char* at = data_.get();
  for (const Piece& p : pieces_) {
    size_t bytes = static_cast<size_t>(p.count * dtype_size(wire_));
    if (wire_ == dtype_) {
      if (bytes) std::memcpy(at, p.data, bytes);
    } else {
      visit_wire(wire_, [&]<class T>(Type<T>) {
        auto* from = static_cast<const float*>(p.data);
        auto* to = reinterpret_cast<T*>(at);
        for (int64_t i = 0; i < p.count; ++i) to[i] = T(from[i]);
      });
    }
    at += bytes;
  }
  request_ = comm.all_reduce(data_.get(), data_.get(), count, wire_, reduce, group);
}

void Bucket::unpack() {
  const char* at = data_.get();
  for (const Piece& p : pieces_) {
    size_t bytes = static_cast<size_t>(p.count * dtype_size(wire_));
    if (wire_ == dtype_) {
      if (bytes) std::memcpy(p.data, at, bytes);
    } else {
      visit_wire(wire_, [&]<class T>(Type<T>) {
        auto* from = reinterpret_cast<const T*>(at);
        auto* to = static_cast<float*>(p.data);
        for (int64_t i = 0; i < p.count; ++i) to[i] = static_cast<float>(from[i]);
      });
    }
    at += bytes;
  }
}

}  // namespace hw
