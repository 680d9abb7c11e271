// Packing and unpacking of buckets.
#include "comm/bucket.h"

#include <cstring>
#include <mutex>

#include "base/error.h"
#include "core/visit.h"

namespace hw {

static constexpr size_t kShelfBytes = 256 << 20;

struct BucketMemory::Shelf {
  std::mutex mutex;
  std::vector<Scratch> spare;
  size_t bytes = 0;
};

BucketMemory::BucketMemory() : shelf_(std::make_unique<Shelf>()) {}
BucketMemory::~BucketMemory() = default;

Scratch BucketMemory::take(size_t bytes) {
  {
    std::lock_guard<std::mutex> guard(shelf_->mutex);
    for (Scratch& s : shelf_->spare) {
      if (s.bytes < bytes || s.bytes > 2 * bytes + 4096) continue;
      Scratch out = std::move(s);
      s = std::move(shelf_->spare.back());
      shelf_->spare.pop_back();
      shelf_->bytes -= out.bytes;
      return out;
    }
  }
  return {std::unique_ptr<char[]>(new char[bytes + 1]), bytes};
}

void BucketMemory::give(Scratch scratch) {
  std::lock_guard<std::mutex> guard(shelf_->mutex);
  if (shelf_->bytes + scratch.bytes > kShelfBytes) return;
  shelf_->bytes += scratch.bytes;
  shelf_->spare.push_back(std::move(scratch));
}

/// f(wire type) for the two types that f32 may be sent as.
template <class F>
static void visit_wire(DType wire, F&& f) {
  if (wire == DType::BF16)
    f(Type<BFloat16>{});
  else
    f(Type<Half>{});
}

Bucket::Bucket(Comm& comm, Ref<BucketMemory> memory, std::vector<Piece> pieces, DType dtype, Reduce reduce, DType wire,
               Group group)
    : pieces_(std::move(pieces)), dtype_(dtype), wire_(wire == DType::None ? dtype : wire), memory_(std::move(memory)) {
  check(wire_ == dtype_ || (dtype_ == DType::F32 && is_reduced(wire_)), "a bucket of ", dtype_, " cannot be sent as ",
        wire_, "; float32 can, as bfloat16 or float16");
  int64_t count = 0;
  for (const Piece& p : pieces_) count += p.count;
  data_ = memory_->take(static_cast<size_t>(count * dtype_size(wire_)));
  char* at = data_.data.get();
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
  request_ = comm.all_reduce(data_.data.get(), data_.data.get(), count, wire_, reduce, group);
}

Bucket::~Bucket() {
  if (request_ && request_->done() && request_->status().ok()) memory_->give(std::move(data_));
}

void Bucket::unpack() {
  const char* at = data_.data.get();
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
