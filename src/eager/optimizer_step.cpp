// One optimiser step over many parameters: the op is run on each, its outputs being its own inputs.
#include "eager/optimizer_step.h"

#include "autograd/mode.h"
#include "autograd/record.h"
#include "base/error.h"
#include "op/call.h"

namespace hw {

static void check_lists(const OpDef& op, std::span<const Tensors> lists) {
  check_type(lists.size() == op.inputs().size(), op.name(), " takes ", op.inputs().size(), " lists, got ",
             lists.size());
  for (size_t k = 0; k < lists.size(); ++k) {
    const InputDef& def = op.inputs()[k];
    if (def.optional && lists[k].empty()) continue;
    check(lists[k].size() == lists[0].size(), op.name(), ": there are ", lists[0].size(), " parameters, but ",
          lists[k].size(), " of ", def.name);
    for (const Tensor& t : lists[k])
      check_type(t.defined(), op.name(), ": ", def.name, " has an entry that is no tensor");
  }
}

/// A gradient that lies differently in memory (transposed, expanded) is brought into the parameter's layout.
static Tensor laid_out_as(const Tensor& param, const Tensor& grad) {
  if (param->global) return grad;  // the step brings it to where the parameter lies
  if (grad.strides() == param.strides() || !(grad.shape() == param.shape())) return grad;
  if (!is_non_overlapping(param.shape(), param.strides())) return grad;
  static const Op copy{"copy_"}, empty_strided{"empty_strided"};
  Tensor moved = empty_strided({}, {param.shape(), param.strides(), grad.dtype()});
  return copy.inplace({moved, grad.alias()});
}

void optimizer_step(const OpDef& op, std::span<const Tensors> lists, const Attrs& attrs) {
  check_lists(op, lists);
  GradModeGuard untracked(false);
  Tensors in(lists.size()), out;
  for (size_t i = 0; i < lists[0].size(); ++i) {
    out.clear();
    for (size_t k = 0; k < lists.size(); ++k) {
      in[k] = lists[k].empty() ? Tensor() : lists[k][i];
      if (!in[k].defined() || k == 1) continue;
      check_inplace(op.name(), in[k], false);
      out.push_back(in[k]);
    }
    in[1] = laid_out_as(in[0], in[1]);
    interpreter().run(op, in, attrs, out);
    for (Tensor& t : out) t->storage->bump_version();
  }
}

}  // namespace hw
