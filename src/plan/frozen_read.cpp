// A frozen model out of a file: the header, the structure by FlatBuffers' verifier, the plans by their reader, then all that ties
// them together by frozen_problem().
#include <cstring>

#include <frozen_generated.h>

#include "base/error.h"
#include "plan/check.h"
#include "plan/file.h"
#include "plan/frozen.h"
#include "plan/frozen_layout.h"
#include "plan/layout.h"

namespace hw {

namespace {

namespace fb = flatbuffers;
namespace ff = frozen_file;

/// One piece may be named many times: `left_` bounds what is made of the structure, `plans_left_` what is made of plans.
class FrozenReader {
 public:
  FrozenReader(const Ref<Storage>& file, const FrozenHeader& h)
      : file_(file),
        data_start_(static_cast<int64_t>(sizeof h + aligned64(h.structure_bytes))),
        data_bytes_(static_cast<int64_t>(h.data_bytes)),
        left_(static_cast<int64_t>(h.structure_bytes)),
        plans_left_(data_bytes_) {}

  FrozenModel model(const ff::Model& m) {
    FrozenModel out;
    out.name = text_of(m.name());
    out.producer = text_of(m.producer());
    each(m.inputs(), [&](const fb::String* s) { out.inputs.push_back(text_of(s)); });
    each(m.outputs(), [&](const fb::String* s) { out.outputs.push_back(text_of(s)); });
    each(m.weights(), [&](const ff::Blob* b) {
      out.weight_names.push_back(text_of(b->name()));
      out.weights.push_back(blob(*b));
    });
    each(m.forms(), [&](const ff::Form* f) { out.forms.push_back(form(*f)); });
    each(m.notes(), [&](const ff::Note* n) { out.notes.emplace_back(text_of(n->key()), text_of(n->value())); });
    return out;
  }

 private:
  static void spend(int64_t& left, int64_t bytes) {
    left -= bytes;
    check(bytes >= 0 && left >= 0, "the model file names some of its pieces more than once");
  }
  template <class V, class F>
  void each(const V* items, F one) {
    if (!items) return;
    spend(left_, int64_t{4} * items->size());
    for (auto item : *items) one(item);
  }
  template <class V>
  static void aligned(const V* items, size_t to) {
    check(!items || items->size() == 0 || reinterpret_cast<uintptr_t>(items->Data()) % to == 0,
          "the model file is damaged: a list of numbers is not aligned");
  }
  std::string text_of(const fb::String* s) {
    if (!s) return {};
    spend(left_, s->size());
    return s->str();
  }
  std::vector<int32_t> numbers(const fb::Vector<int32_t>* v) {
    if (!v) return {};
    aligned(v, sizeof(int32_t));
    spend(left_, int64_t{4} * v->size());
    return {v->begin(), v->end()};
  }
  Dims dims(const fb::Vector<int64_t>* v) {
    if (!v) return {};
    aligned(v, sizeof(int64_t));
    spend(left_, int64_t{8} * v->size());
    Dims out(v->size());
    for (size_t i = 0; i < out.size(); ++i) out[i] = v->Get(static_cast<fb::uoffset_t>(i));
    return out;
  }
  TensorSpec spec(const plan_file::Spec& s) {
    TensorSpec out{static_cast<DType>(s.dtype()), s.wrapped(),
                   Device{static_cast<DeviceType>(s.device_type()), s.device_index()}, dims(s.shape()),
                   dims(s.strides())};
    if (std::string problem = spec_problem(out); !problem.empty()) fail(ErrorKind::Value, "the model file: ", problem);
    return out;
  }
  bool inside(int64_t offset, int64_t bytes) const {
    return offset >= 0 && offset % 64 == 0 && bytes >= 0 && offset <= data_bytes_ && bytes <= data_bytes_ - offset;
  }
  Tensor blob(const ff::Blob& b) {
    TensorSpec s = spec(*b.spec());
    check(inside(b.offset(), extent_of(s)), "the model file has a tensor ", s, " at byte ", b.offset(), " of ",
          data_bytes_, " bytes of data");
    return Tensor::make(file_, s.dtype, s.shape, s.strides, (data_start_ + b.offset()) / dtype_size(s.dtype));
  }
  Plan plan(int64_t offset, int64_t bytes) {
    check(inside(offset, bytes), "the model file has a plan of ", bytes, " bytes at byte ", offset, " of ",
          data_bytes_);
    spend(plans_left_, bytes);
    return read_plan(file_, static_cast<size_t>(data_start_ + offset), static_cast<size_t>(bytes));
  }

  FrozenForm form(const ff::Form& f) {
    FrozenForm out;
    each(f.inputs(), [&](const plan_file::Spec* s) { out.inputs.push_back(spec(*s)); });
    each(f.outputs(), [&](const plan_file::Spec* s) { out.outputs.push_back(spec(*s)); });
    out.plan = plan(f.plan_offset(), f.plan_bytes());
    if (f.once_bytes()) out.once = plan(f.once_offset(), f.once_bytes());
    aligned(f.sources(), alignof(ff::Tie));
    each(f.sources(), [&](const ff::Tie* t) {
      out.sources.push_back({static_cast<FrozenTie::Kind>(t->kind()), t->index()});
    });
    out.once_sources = numbers(f.once_sources());
    out.results = numbers(f.results());
    each(f.test_inputs(), [&](const ff::Blob* b) { out.test_inputs.push_back(blob(*b)); });
    each(f.test_outputs(), [&](const ff::Blob* b) { out.test_outputs.push_back(blob(*b)); });
    return out;
  }

  const Ref<Storage>& file_;
  int64_t data_start_, data_bytes_, left_, plans_left_;
};

FrozenHeader header_of(const Storage& file) {
  FrozenHeader h;
  check(file.bytes() >= sizeof h && std::memcmp(file.data(), kFrozenMagic, sizeof kFrozenMagic) == 0,
        "this is no frozen model");
  std::memcpy(&h, file.data(), sizeof h);
  check(h.version >= 1 && h.version <= static_cast<uint32_t>(kFrozenVersion), "the model file has version ", h.version,
        ", this Headwater reads versions 1 to ", kFrozenVersion, ". Freeze it with this version, or use a newer one");
  const uint64_t rest = file.bytes() - sizeof h;
  check(h.structure_bytes <= rest && h.structure_bytes < (uint64_t{1} << 31) && h.data_bytes <= rest &&
            aligned64(h.structure_bytes) + h.data_bytes == rest,
        "the model file is cut off or longer than it says: ", file.bytes(), " bytes");
  return h;
}

}  // namespace

FrozenModel read_frozen(const Ref<Storage>& file) {
  if (reinterpret_cast<uintptr_t>(file->data()) % kPlanAlignment) bug("a model file must lie at a multiple of 64");
  const FrozenHeader h = header_of(*file);
  const auto* structure = static_cast<const uint8_t*>(file->data()) + sizeof h;
  check(hash128(structure, h.structure_bytes) == h.hash,
        "the model file is damaged: its structure does not have the hash it says");
  fb::Verifier verifier(structure, h.structure_bytes, 64, static_cast<fb::uoffset_t>(h.structure_bytes / 4));
  check(ff::VerifyModelBuffer(verifier), "the model file is damaged: its structure is not that of a model");
  FrozenModel model = FrozenReader(file, h).model(*ff::GetModel(structure));
  model.version = static_cast<int32_t>(h.version);
  if (std::string problem = frozen_problem(model); !problem.empty())
    fail(ErrorKind::Value, "the model file is wrong: ", problem);
  return model;
}

void check_frozen_data(const Storage& file) {
  const FrozenHeader h = header_of(file);
  const char* data = static_cast<const char*>(file.data()) + sizeof h + aligned64(h.structure_bytes);
  check(hash128(data, h.data_bytes) == h.data_hash,
        "the model file is damaged: its weights do not have the hash it says");
}

}  // namespace hw
