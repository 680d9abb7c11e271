// What an op does on a mesh where none of its SBP signatures leaves its inputs where they are: other ways to the same result.
#pragma once

#include "op/op_def.h"
#include "sbp/placement.h"

namespace hw {

/// The op expressed with ops that have such signatures: a mean as a sum and a quotient. Used instead of moving inputs. `places`: where
/// the inputs lie, null for ordinary ones. An empty list: not for these inputs.
using SplitForm = Tensors (*)(std::span<const Tensor> in, const Attrs& attrs, std::span<const Placement* const> places);
/// Whether a placement (null: of an ordinary tensor) splits an axis.
inline bool splits(const Placement* place, int64_t axis) {
  if (place)
    for (const Sbp& s : place->sbp)
      if (s == split(axis)) return true;
  return false;
}

/// Whether a tensor is global and one of its axes from `first` up to `last` is split; set by the room that makes these.
using SplitWithin = bool (*)(const Tensor& t, int64_t first, int64_t last);
void set_split_within(SplitWithin f);
bool split_within(const Tensor& t, int64_t first, int64_t last);

/// A random op with one input whose draws do not depend on the input's values: from the part of the input that a rank holds, and the
/// parts of the outputs that were drawn for a whole input of ones, to the parts of the outputs. Written with ops.
using SplitDraw = Tensors (*)(const Tensor& input, std::span<const Tensor> drawn, const Attrs& attrs);

/// An op whose ranks hold rows (axis 0) of some inputs and need a few numbers of all rows. Both functions run on each rank's parts.
struct RowsForm {
  /// The input whose rows decide; others with several axes lie like it, those with one are whole on each rank.
  size_t like = 0;
  /// Results of the rank's rows alone; the last one is the row of numbers that all ranks get to see.
  Tensors (*before)(std::span<const Tensor> in, const Attrs& attrs) = nullptr;
  /// From these, the rows of all ranks [ranks, numbers] and how many rows each of them has, to the outputs: those with several axes lie
  /// like the input, those with one are whole.
  Tensors (*after)(std::span<const Tensor> in, std::span<const Tensor> own, const Tensor& all,
                   std::span<const int64_t> counts, int64_t rank, const Attrs& attrs) = nullptr;
};

/// Attributes that differ from rank to rank, as the first row that a rank holds: sets them, given which part of each input and output
/// it holds (empty for inputs that are not given). Attributes are Int.
using RankAttrs = void (*)(std::span<const Box> in, std::span<const Box> out, Attrs& attrs);

/// `static const RegisterSplitForm form{"mean", ...};` beside the op's declaration.
struct RegisterSplitForm {
  RegisterSplitForm(const char* op, SplitForm form);
  RegisterSplitForm(const char* op, SplitDraw draw);
  RegisterSplitForm(const char* op, RankAttrs attrs);
  RegisterSplitForm(const char* op, const RowsForm& form);
};
SplitForm split_form_of(const OpDef& op);  // null: it has none
SplitDraw split_draw_of(const OpDef& op);
RankAttrs rank_attrs_of(const OpDef& op);
const RowsForm* rows_form_of(const OpDef& op);

}  // namespace hw
