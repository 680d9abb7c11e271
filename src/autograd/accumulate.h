// The end of the tape: adding a gradient to a leaf's `.grad`.
#pragma once

#include <memory>
#include <vector>

#include "autograd/node.h"

namespace hw {

/// The node that adds to `leaf.grad`; one at a time per leaf.
Ref<GradNode> accumulator(const Tensor& leaf);
/// The leaf of a node that is_accumulator().
const Tensor& leaf_of(const GradNode& accumulator);
/// a + b, in place when nobody else holds `a` and no graph is being made.
Tensor add_gradients(Tensor a, const Tensor& b);
/// Brings the gradient of a leaf to where the leaf lies, when one of them is a global tensor; set by the room that makes these.
using PlaceGradient = Tensor (*)(const Tensor& gradient, const Tensor& leaf);
/// `alone`: whether nobody else holds the parts of a global tensor, so that a leaf may keep them.
/// `alike`: whether both are global and lie in the same way.
void set_place_gradient(PlaceGradient f, bool (*alone)(const Tensor& global),
                        bool (*alike)(const Tensor& a, const Tensor& b));
Tensor placed_gradient(const Tensor& gradient, const Tensor& leaf);  // the gradient itself where neither is global

/// What one backward pass leaves to be summed over ranks while it goes on; set by the room that makes global tensors.
class GradientSums {
 public:
  struct Sum {
    Tensor leaf, gradient;
  };
  virtual ~GradientSums() = default;
  /// Takes the gradient of a leaf; false where it is to be added at once. `alone`: nobody else holds it.
  virtual bool take(const Tensor& gradient, const Tensor& leaf, bool alone) = 0;
  /// Waits; the sums in the order in which gradients were taken.
  virtual std::vector<Sum> finish() = 0;
};
void set_gradient_sums(std::unique_ptr<GradientSums> (*make)());
/// Takes what leaves get on this thread while it lives; finish() adds it to `.grad`.
class SummedLater {
 public:
  SummedLater();
  ~SummedLater();
  SummedLater(const SummedLater&) = delete;
  SummedLater& operator=(const SummedLater&) = delete;
  void finish();

 private:
  std::unique_ptr<GradientSums> sums_;
  GradientSums* before_;
};
/// Throws unless a hook's result is like the gradient that it replaces.
void check_hook_result(const Tensor& result, DType dtype, const Dims& shape);

}  // namespace hw
