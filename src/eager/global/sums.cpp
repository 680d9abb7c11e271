// When gradients are sent, and how they come back.
#include "eager/global/sums.h"

#include <atomic>
#include <utility>

#include "autograd/journal.h"
#include "base/error.h"
#include "eager/global/boxing.h"
#include "eager/global/world.h"
#include "eager/global_hook.h"
#include "op/call.h"

namespace hw {

namespace {

/// A bucket goes when it is this large: many small messages cost more than waiting for some gradients more.
constexpr int64_t kBucketBytes = 1 << 20;
/// Gradients that a plan wants split exist whole only on their way; so much of them at a time.
constexpr size_t kAloneBytes = 32 << 20;

Ref<BucketMemory> bucket_memory() {
  static const Ref<BucketMemory> memory = make_ref<BucketMemory>();
  return memory;
}

/// Memory in use by the engine, until the last request is done.
struct Kept {
  Ref<Bucket> bucket;
  std::vector<Tensor> tensors;
  std::atomic<int> open{0};

  static void keep(const std::vector<Request>& requests, Ref<Bucket> bucket, std::vector<Tensor> tensors) {
    std::vector<Request> open;
    for (const Request& r : requests)
      if (r && !r->done()) open.push_back(r);
    if (open.empty()) return;
    auto kept = std::make_unique<Kept>();
    kept->bucket = std::move(bucket);
    kept->tensors = std::move(tensors);
    kept->open = static_cast<int>(open.size());
    Kept* mine = kept.release();  // one_done deletes it
    for (const Request& r : open) r->when_done(&one_done, mine);
  }
  static void one_done(void* context) {
    auto* kept = static_cast<Kept*>(context);
    if (kept->open.fetch_sub(1) == 1) std::unique_ptr<Kept>(kept).reset();
  }
};

}  // namespace

OverlappedSums::~OverlappedSums() {
  for (Travelling& t : buckets_)
    if (t.bucket) Kept::keep(t.bucket->requests(), t.bucket, std::move(t.parts));
  for (Entry& e : entries_)
    if (e.moving.request)
      Kept::keep({e.moving.request}, {}, {e.moving.part, e.moving.packed, e.moving.made, e.moving.out});
}

bool OverlappedSums::take(const Tensor& gradient, const Tensor& leaf, bool alone) {
  const GlobalTensor &g = *global_of(gradient), &l = *global_of(leaf);
  if (t_defer_sums && !l.gradient) return false;
  const Place* to = l.gradient ? l.gradient : place_of(without_partial(l.place->value));
  if (g.place == to || world().processes == 1) return false;
  const Tensors& parts = parts_of(gradient);
  if (parts.size() != 1) return false;
  std::optional<Collective> c = collective_between(g.place, to, gradient.shape(), gradient.dtype());
  if (!c || (c->kind != Collective::Kind::AllReduce && c->kind != Collective::Kind::ReduceScatter)) return false;
  Entry& e = entries_.emplace_back(Entry{leaf, to, parts[0], std::move(*c), {}});
  if (e.collective.kind == Collective::Kind::AllReduce) {
    if (!alone) e.part = dense_copy(e.part);
    add_to_bucket(e);
    return true;
  }
  e.moving = hw::start(e.collective, e.part, local_dims(to, gradient.shape(), to->here[0]), {});
  alone_bytes_ += static_cast<size_t>(e.part.nbytes());
  e.part = {};
  bring_in(kAloneBytes);
  return true;
}

void OverlappedSums::add_to_bucket(const Entry& e) {
  const auto key = std::make_pair(e.part.dtype(), e.collective.group);
  Open& open = open_[key];
  open.dtype = key.first;
  open.group = key.second;
  open.pieces.push_back({e.part.data(), e.part.numel()});
  open.parts.push_back(e.part);
  open.bytes += static_cast<int64_t>(e.part.nbytes());
  if (open.bytes < kBucketBytes) return;
  Open full = std::move(open);
  open_.erase(key);
  start(std::move(full));
}

void OverlappedSums::start(Open open) {
  auto bucket = make_ref<Bucket>(*world().messenger->comm(), bucket_memory(), std::move(open.pieces), open.dtype,
                                 Reduce::Sum, DType::None, open.group);
  buckets_.push_back({std::move(bucket), std::move(open.parts)});
}

/// Ends the oldest gradients that go alone until no more bytes than these are on their way.
void OverlappedSums::bring_in(size_t most_bytes) {
  while (next_alone_ < entries_.size() && alone_bytes_ > most_bytes) {
    Entry& e = entries_[next_alone_++];
    if (!e.moving.request) continue;
    world().messenger->wait({&e.moving.request, 1});
    alone_bytes_ -= static_cast<size_t>(e.moving.part.nbytes());
    e.part = hw::finish(e.collective, e.moving);
    e.moving = {};
  }
}

std::vector<GradientSums::Sum> OverlappedSums::finish() {
  while (!open_.empty()) start(std::move(open_.extract(open_.begin()).mapped()));
  for (Travelling& t : buckets_) {
    world().messenger->wait(t.bucket->requests());
    t.bucket->wait_for(0);  // unpacks
    throw_unless_ok(t.bucket->status());
    t.bucket = {};
  }
  bring_in(0);
  std::vector<Sum> sums;
  for (Entry& e : entries_) {
    TensorSpec spec = e.leaf.spec();
    spec.strides = contiguous_strides(spec.shape);
    sums.push_back({e.leaf, make_global(spec, e.place, {std::move(e.part)})});
  }
  entries_.clear();
  buckets_.clear();
  return sums;
}

Tensors sum_gradients(const Tensors& leaves) {
  if (t_local_recorder || t_grad_journal || world().processes == 1) return leaves;
  Tensors rest;
  OverlappedSums sums;
  for (const Tensor& leaf : leaves) {
    GradMeta& m = *grad_meta(leaf);
    Tensor g = std::move(m.grad);
    const bool alone = g->use_count() == 1 && g->storage->use_count() == 1 && holds_alone(g);
    if (sums.take(g, leaf, alone)) continue;
    m.grad = std::move(g);
    rest.push_back(leaf);
  }
  for (const GradientSums::Sum& sum : sums.finish()) grad_meta(sum.leaf)->grad = sum.gradient;
  return rest;
}

[[maybe_unused]] static const bool g_installed = (set_gradient_sums([]() -> std::unique_ptr<GradientSums> {
                                                    // Without global tensors on several processes there is nothing to sum.
                                                    if (!global_hook() || world().processes == 1) return nullptr;
                                                    return std::make_unique<OverlappedSums>();
                                                  }),
                                                  true);

}  // namespace hw
