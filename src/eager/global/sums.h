// Sums of gradients over ranks that go on while others are computed: small ones together, all by non-blocking collectives.
#pragma once

#include <map>
#include <memory>

#include "autograd/accumulate.h"
#include "comm/bucket.h"
#include "eager/global/collective.h"

namespace hw {

/// Every process takes the same gradients in the same order, so their collectives meet. The bits are those of one sum each.
class OverlappedSums final : public GradientSums {
 public:
  OverlappedSums() = default;
  /// After an error what is under way keeps its memory until it ends.
  ~OverlappedSums() override;
  OverlappedSums(const OverlappedSums&) = delete;
  OverlappedSums& operator=(const OverlappedSums&) = delete;

  bool take(const Tensor& gradient, const Tensor& leaf, bool alone) override;
  std::vector<Sum> finish() override;

 private:
  /// A gradient on its way to where its leaf wants it.
  struct Entry {
    Tensor leaf;
    const Place* place = nullptr;
    Tensor part;  // of this process; where whole gradients are summed, in place
    Collective collective;
    Moving moving;  // of a gradient that goes alone
  };
  /// Whole gradients of one dtype and group.
  struct Open {
    std::vector<Bucket::Piece> pieces;
    std::vector<Tensor> parts;
    DType dtype = DType::None;
    std::vector<int> group;
    int64_t bytes = 0;
  };
  struct Travelling {
    Ref<Bucket> bucket;
    std::vector<Tensor> parts;
  };

  void add_to_bucket(const Entry& entry);
  void start(Open open);
  void bring_in(size_t most_bytes);

  std::vector<Entry> entries_;
  std::map<std::pair<DType, std::vector<int>>, Open> open_;
  std::vector<Travelling> buckets_;
  size_t next_alone_ = 0, alone_bytes_ = 0;  // entries before it are there; bytes of those on their way
};

/// Sums the partial gradients of leaves, together. Returns those leaves whose gradients no collective sums: they are as they were.
Tensors sum_gradients(const Tensors& leaves);

}  // namespace hw
