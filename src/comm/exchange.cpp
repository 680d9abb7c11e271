// The collectives as exchanges. Each rank talks to each other one directly: for the ranks of a host and for tens of hosts.
#include "comm/exchange.h"

#include <algorithm>

namespace hw {

namespace {

/// Below this everybody sends everything to everybody: one hop instead of two.
constexpr int64_t kOneHopBytes = 16 << 10;
/// Large reductions are cut, so that one piece is reduced while the next is on its way.
constexpr int64_t kPieceBytes = 1 << 20;
constexpr size_t kScatterBytes = 256 << 10;

const char* at(const void* data, size_t offset) { return static_cast<const char*>(data) + offset; }
char* at(void* data, size_t offset) { return static_cast<char*>(data) + offset; }

Message send_to(int peer, const void* data, size_t bytes) {
  return {.sends = true, .data = const_cast<void*>(data), .bytes = bytes, .peer = peer};
}
Message recv_from(int peer, void* data, size_t bytes) { return {.data = data, .bytes = bytes, .peer = peer}; }

Exchanges one(std::unique_ptr<Exchange> exchange) {
  Exchanges out;
  out.push_back(std::move(exchange));
  return out;
}

/// Makes `e` receive a piece of own.count elements from every other member and reduce them with `own` into `out`.
void add_reduction(Exchange& e, const Members& m, const void* own, void* out, int64_t count, DType dtype,
                   Reduce reduce) {
  e.reduced = out;
  e.count = count;
  e.dtype = dtype;
  e.reduce = reduce;
  e.scratch_bytes = static_cast<size_t>(count * dtype_size(dtype));
  for (int i = 0; i < m.count(); ++i) {
    e.sources.push_back(i == m.index ? own : nullptr);
    if (i != m.index) e.first.push_back(recv_from(m.ranks[i], nullptr, e.scratch_bytes));
  }
}

std::unique_ptr<Exchange> reduce_piece(const Members& m, const char* in, char* out, int64_t count, DType dtype,
                                       Reduce reduce) {
  auto e = std::make_unique<Exchange>();
  int64_t size = dtype_size(dtype);
  int n = m.count();
  if (count * size <= kOneHopBytes) {
    add_reduction(*e, m, in, out, count, dtype, reduce);
    for (int i = 0; i < n; ++i)
      if (i != m.index) e->first.push_back(send_to(m.ranks[i], in, static_cast<size_t>(count * size)));
    return e;
  }
  auto begin = [&](int i) { return count * i / n; };
  auto offset = [&](int i) { return static_cast<size_t>(begin(i) * size); };
  auto bytes = [&](int i) { return offset(i + 1) - offset(i); };
  int me = m.index;
  add_reduction(*e, m, in + offset(me), out + offset(me), begin(me + 1) - begin(me), dtype, reduce);
  for (int i = 0; i < n; ++i) {
    if (i == me) continue;
    e->first.push_back(send_to(m.ranks[i], in + offset(i), bytes(i)));
    e->second.push_back(recv_from(m.ranks[i], out + offset(i), bytes(i)));
    e->second.push_back(send_to(m.ranks[i], out + offset(me), bytes(me)));
  }
  return e;
}

}  // namespace

Exchanges plan_all_reduce(const Members& m, const void* in, void* out, int64_t count, DType dtype, Reduce reduce) {
  int64_t size = dtype_size(dtype), piece = kPieceBytes / size;
  Exchanges pieces;
  for (int64_t done = 0; done < count || pieces.empty(); done += piece) {
    size_t offset = static_cast<size_t>(done * size);
    pieces.push_back(reduce_piece(m, at(in, offset), at(out, offset), std::min(piece, count - done), dtype, reduce));
  }
  return pieces;
}

Exchanges plan_all_gather(const Members& m, const void* in, void* out, std::span<const size_t> sizes) {
  auto e = std::make_unique<Exchange>();
  size_t offset = 0;
  for (int i = 0; i < m.count(); ++i) {
    if (i == m.index) {
      e->copies.push_back({in, at(out, offset), sizes[i]});
    } else {
      e->first.push_back(recv_from(m.ranks[i], at(out, offset), sizes[i]));
      e->first.push_back(send_to(m.ranks[i], in, sizes[m.index]));
    }
    offset += sizes[i];
  }
  return one(std::move(e));
}

Exchanges plan_reduce_scatter(const Members& m, const void* in, void* out, std::span<const int64_t> counts, DType dtype,
                              Reduce reduce) {
  auto e = std::make_unique<Exchange>();
  size_t offset = 0, size = static_cast<size_t>(dtype_size(dtype));
  for (int i = 0; i < m.count(); ++i) {
    size_t bytes = static_cast<size_t>(counts[i]) * size;
    if (i == m.index)
      add_reduction(*e, m, at(in, offset), out, counts[i], dtype, reduce);
    else
      e->first.push_back(send_to(m.ranks[i], at(in, offset), bytes));
    offset += bytes;
  }
  return one(std::move(e));
}

Exchanges plan_all_to_all(const Members& m, const void* in, std::span<const size_t> send_sizes, void* out,
                          std::span<const size_t> recv_sizes) {
  auto e = std::make_unique<Exchange>();
  size_t from = 0, to = 0;
  for (int i = 0; i < m.count(); ++i) {
    if (i == m.index) {
      e->copies.push_back({at(in, from), at(out, to), send_sizes[i]});
    } else {
      e->first.push_back(recv_from(m.ranks[i], at(out, to), recv_sizes[i]));
      e->first.push_back(send_to(m.ranks[i], at(in, from), send_sizes[i]));
    }
    from += send_sizes[i];
    to += recv_sizes[i];
  }
  return one(std::move(e));
}

Exchanges plan_broadcast(const Members& m, void* data, size_t bytes, int root) {
  auto e = std::make_unique<Exchange>();
  int n = m.count(), me = m.index;
  bool scatter = n > 2 && bytes >= kScatterBytes;  // root's link carries everything twice, not n - 1 times
  auto offset = [&](int i) { return scatter ? bytes / static_cast<size_t>(n) * static_cast<size_t>(i) : size_t{0}; };
  auto part = [&](int i) { return scatter ? (i + 1 == n ? bytes : offset(i + 1)) - offset(i) : bytes; };
  for (int i = 0; i < n; ++i) {
    if (i == me) continue;
    if (me == root)
      e->first.push_back(send_to(m.ranks[i], at(data, offset(i)), part(i)));
    else if (i == root)
      e->first.push_back(recv_from(m.ranks[i], at(data, offset(me)), part(me)));
    if (!scatter) continue;
    if (me != root) e->second.push_back(recv_from(m.ranks[i], at(data, offset(i)), part(i)));
    if (i != root) e->second.push_back(send_to(m.ranks[i], at(data, offset(me)), part(me)));
  }
  return one(std::move(e));
}

Exchanges plan_barrier(const Members& m) {
  auto e = std::make_unique<Exchange>();
  for (int i = 0; i < m.count(); ++i) {
    if (i == m.index) continue;
    e->first.push_back(recv_from(m.ranks[i], nullptr, 0));
    e->first.push_back(send_to(m.ranks[i], nullptr, 0));
  }
  return one(std::move(e));
}

}  // namespace hw
