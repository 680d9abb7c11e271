// Packing and unpacking of buckets.
#include "comm/bucket.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/error.h"
#include "core/visit.h"

namespace hw {

static constexpr size_t kShelfBytes = 256 << 20;
/// A part is packed while the one before it travels, and fits into the second cache.
static constexpr int64_t kPartBytes = 512 << 10;

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
  int64_t total = 0;
  for (const Piece& p : pieces_) total += p.count;
  data_ = memory_->take(static_cast<size_t>(total * dtype_size(wire_)));
  char* at = data_.data.get();
  for (size_t begin = 0; begin < pieces_.size() || parts_.empty();) {
    int64_t count = 0;
    size_t end = begin;
    do count += end < pieces_.size() ? pieces_[end].count : 0;
    while (++end < pieces_.size() && count * dtype_size(wire_) < kPartBytes);
    Part& part = parts_.emplace_back(Part{begin, std::min(end, pieces_.size()), at, {}});
    pack(part);
    part.request = comm.all_reduce(at, at, count, wire_, reduce, group);
    at += count * dtype_size(wire_);
    begin = end;
  }
}

Bucket::~Bucket() {
  if (at_ == parts_.size()) memory_->give(std::move(data_));
}

bool Bucket::wait_for(double seconds) {
  for (; at_ < parts_.size(); ++at_) {
    if (!parts_[at_].request->wait_for(seconds)) return false;
    if (!parts_[at_].request->status().ok()) return true;
    unpack(parts_[at_]);
  }
  return true;
}

void Bucket::expire() {
  if (at_ < parts_.size()) parts_[at_].request->wait(0);
}

std::vector<Request> Bucket::requests() const {
  std::vector<Request> out;
  for (const Part& part : parts_) out.push_back(part.request);
  return out;
}

void Bucket::pack(const Part& part) const {
  char* at = part.data;
  for (size_t k = part.begin; k < part.end; ++k) {
    const Piece& p = pieces_[k];
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
}

void Bucket::unpack(const Part& part) const {
  const char* at = part.data;
  for (size_t k = part.begin; k < part.end; ++k) {
    const Piece& p = pieces_[k];
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
