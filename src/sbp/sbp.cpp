// Text of SBP values.
#include "sbp/sbp.h"

#include "base/text.h"

namespace hw {

void append_text(std::string& out, const Sbp& sbp) {
  switch (sbp.kind) {
    case Sbp::Kind::Split: return out.append(text("S(", sbp.axis, ")")), void();
    case Sbp::Kind::Broadcast: return out.append("B"), void();
    case Sbp::Kind::PartialSum: return out.append("P(sum)"), void();
    case Sbp::Kind::PartialMax: return out.append("P(max)"), void();
    case Sbp::Kind::PartialMin: return out.append("P(min)"), void();
  }
}

static void append_list(std::string& out, const std::vector<Sbp>& list) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (i) out.append(", ");
    append_text(out, list[i]);
  }
}

void append_text(std::string& out, const SbpSignature& s) {
  append_list(out, s.inputs);
  out.append(" -> ");
  append_list(out, s.outputs);
}

}  // namespace hw
