// Places and global tensors.
#include "eager/global/global_tensor.h"

#include <map>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "core/read_guard.h"
#include "eager/global/rehearsal.h"
#include "eager/global/world.h"
#include "eager/global_hook.h"
#include "op/call.h"

namespace hw {

const Place* place_of(Placement placement) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Place>> places;
  std::string key = text(placement);
  std::lock_guard lock(mutex);
  std::unique_ptr<Place>& entry = places[key];
  if (!entry) {
    Ints here = hosted_positions(placement.mesh);
    entry = std::make_unique<Place>(Place{std::move(placement), std::move(here)});
  }
  return entry.get();
}

void copy_into(const Tensor& to, const Tensor& from) {
  static const Op copy_op{"copy_"};
  Tensor out = to;
  const Tensor in[2] = {to, from};
  execute_here(copy_op.def(), in, copy_op.def().default_attrs(), {&out, 1});
}

Tensor dense_copy(const Tensor& t) {
  Tensor out = Tensor::empty(t.shape(), t.dtype());
  copy_into(out, t);
  return out;
}

Tensor make_global(const TensorSpec& spec, const Place* place, Tensors parts) {
  Tensor t = abstract_tensor(spec);
  auto meta = make_ref<GlobalTensor>();
  meta->place = place;
  meta->parts = std::move(parts);
  meta->captured = t_local_recorder != nullptr;
  meta->memory = counted_memory(spec, place);
  t->global = meta;
  return t;
}

Dims local_dims(const Place* place, const Dims& shape, int64_t position) {
  Dims out;
  for (int64_t n : local_shape(place->value, {shape.data(), shape.size()}, position)) out.push_back(n);
  return out;
}

void check_parts(const Dims& shape, const Place* place, const Tensors& parts) {
  check(parts.size() == place->here.size(), "this process hosts ", place->here.size(), " ranks of ", place->value.mesh,
        ", but ", parts.size(), " parts are given");
  for (size_t i = 0; i < parts.size(); ++i) {
    const Dims want = local_dims(place, shape, place->here[i]);
    check(parts[i].shape() == want, "rank ", place->value.mesh.ranks[static_cast<size_t>(place->here[i])], " of ",
          place->value, " holds ", want, " of a tensor of shape ", shape, ", but its part is ", parts[i]);
    check(parts[i].dtype() == parts[0].dtype(), "the parts have different dtypes: ", parts[0], " and ", parts[i]);
  }
}

}  // namespace hw
