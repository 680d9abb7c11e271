// The cache of prepared kernels: open addressing, per thread, emptied when full.
#include "eager/prepared.h"

#include <pthread.h>

#include <atomic>
#include <cstring>

#include "eager/eager.h"

namespace hw {

static std::atomic<int64_t> g_epoch{0};
void invalidate_prepared() { g_epoch.fetch_add(1); }
/// What oneDNN prepared for the team of the parent would wait for threads that a child of fork() does not have.
[[maybe_unused]] static const int g_at_fork = pthread_atfork(nullptr, nullptr, &invalidate_prepared);

namespace {

struct Entry {
  uint64_t hash = 0;
  Signature signature;
  Prepared prepared;
};

struct Table {
  static constexpr size_t kSlots = 1 << 14;    // a power of two
  static constexpr size_t kMost = kSlots / 2;  // entries before it starts over
  std::vector<Entry*> slots = std::vector<Entry*>(kSlots);
  size_t used = 0;
  int64_t epoch = 0;
  PreparedStats stats;

  ~Table() { clear(); }
  void clear() {
    for (Entry*& e : slots) {
      delete e;
      e = nullptr;
    }
    used = 0;
  }
};

Table& table() {
  static thread_local Table t;
  if (int64_t now = g_epoch.load(std::memory_order_relaxed); t.epoch != now) {
    t.clear();
    t.epoch = now;
  }
  return t;
}

void append_bytes(Signature& s, const std::string& bytes) {
  s.push_back(static_cast<int64_t>(bytes.size()));
  for (size_t i = 0; i < bytes.size(); i += 8) {
    int64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min<size_t>(8, bytes.size() - i));
    s.push_back(word);
  }
}

void append_double_bits(Signature& s, double v) {
  int64_t word;
  std::memcpy(&word, &v, 8);
  s.push_back(word);
}

void append_attr(Signature& s, const AttrValue& a) {
  s.push_back(static_cast<int64_t>(a.kind()) + 1000);
  switch (a.kind()) {
    case AttrValue::Kind::None: break;
    case AttrValue::Kind::Bool:
    case AttrValue::Kind::Int: s.push_back(a.i64()); break;
    case AttrValue::Kind::Float: append_double_bits(s, a.f64()); break;
    case AttrValue::Kind::Scalar:
      s.push_back(static_cast<int64_t>(a.scalar().kind()));
      s.push_back(a.i64());
      append_double_bits(s, a.f64());
      append_double_bits(s, a.scalar().c128().imag());
      break;
    case AttrValue::Kind::Text: append_bytes(s, a.text()); break;
    case AttrValue::Kind::Ints:
      s.push_back(static_cast<int64_t>(a.ints().size()));
      for (int64_t v : a.ints()) s.push_back(v);
      break;
    case AttrValue::Kind::Floats:
      s.push_back(static_cast<int64_t>(a.floats().size()));
      for (double v : a.floats()) append_double_bits(s, v);
      break;
    case AttrValue::Kind::DType: s.push_back(static_cast<int64_t>(a.dtype())); break;
  }
}

void append_tensor(Signature& s, const Tensor& t) {
  if (!t.defined()) {
    s.push_back(-1);
    return;
  }
  const TensorBody& b = *t.body();
  int64_t ndim = static_cast<int64_t>(b.shape.size());
  s.push_back(ndim << 16 | int64_t{b.contiguous} << 9 | int64_t{b.wrapped} << 8 | static_cast<int64_t>(b.dtype));
  for (int64_t n : b.shape) s.push_back(n);
  if (!b.contiguous)
    for (int64_t n : b.strides) s.push_back(n);
}

}  // namespace

void append_signature(Signature& s, const OpDef& op, std::span<const Tensor> in, const Attrs& attrs,
                      std::span<const Tensor> given_out) {
  s.push_back(reinterpret_cast<int64_t>(&op));
  for (const Tensor& t : in) append_tensor(s, t);
  s.push_back(-2);
  for (const Tensor& t : given_out) append_tensor(s, t);
  for (size_t i = 0; i < attrs.size(); ++i)
    if (!op.attrs()[i].dynamic) append_attr(s, attrs[i]);
}

uint64_t hash_signature(const Signature& s) {
  uint64_t h = 0x2545f4914f6cdd1dull;
  for (int64_t word : s) {
    h ^= static_cast<uint64_t>(word);
    h *= 0x9e3779b97f4a7c15ull;
    h ^= h >> 32;
  }
  return h;
}

const Prepared* find_prepared(const Signature& s, uint64_t hash) {
  Table& t = table();
  for (size_t i = hash & (Table::kSlots - 1); t.slots[i]; i = (i + 1) & (Table::kSlots - 1)) {
    const Entry& e = *t.slots[i];
    if (e.hash == hash && e.signature == s) {
      ++t.stats.hits;
      return &e.prepared;
    }
  }
  ++t.stats.misses;
  return nullptr;
}

const Prepared* insert_prepared(const Signature& s, uint64_t hash, Prepared prepared) {
  Table& t = table();
  if (t.used >= Table::kMost) t.clear();
  size_t i = hash & (Table::kSlots - 1);
  while (t.slots[i]) i = (i + 1) & (Table::kSlots - 1);
  t.slots[i] = new Entry{hash, s, std::move(prepared)};
  ++t.used;
  return &t.slots[i]->prepared;
}

PreparedStats prepared_stats() {
  PreparedStats s = table().stats;
  s.entries = static_cast<int64_t>(table().used);
  return s;
}

}  // namespace hw
