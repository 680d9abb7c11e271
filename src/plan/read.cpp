// A plan out of a file: the header, the structure by FlatBuffers' verifier, then every number of it by plan_problem().
#include <cstdio>
#include <cstring>

#include <plan_generated.h>

#include "base/error.h"
#include "plan/check.h"
#include "plan/file.h"
#include "plan/layout.h"

namespace hw {

namespace {

namespace fb = flatbuffers;
namespace pf = plan_file;

/// Copies out of a structure that FlatBuffers' verifier accepted. That still lets one piece be named many times, so that a small
/// file could ask for any amount of memory; `left_` ends this.
class Reader {
 public:
  Reader(const Ref<Storage>& file, size_t data_start, const PlanFileHeader& header)
      : file_(file),
        data_start_(data_start),
        data_bytes_(static_cast<int64_t>(header.data_bytes)),
        left_(static_cast<int64_t>(header.structure_bytes)) {}

  Plan plan(const pf::Plan& p) {
    Plan out;
    spend(sizeof(fb::soffset_t));
    out.name = text_of(p.name());
    aligned(p.buffers(), alignof(pf::Buffer));
    each(p.buffers(), sizeof(pf::Buffer), [&](const pf::Buffer* b) {
      out.buffers.push_back({static_cast<PlanBuffer::Kind>(b->kind()), b->index(), b->offset(), b->bytes()});
    });
    each(p.tensors(), 8, [&](const pf::Tensor* t) {
      out.tensors.push_back({t->buffer(), t->offset(), spec(*t->spec())});
    });
    each(p.steps(), 8, [&](const pf::Step* s) { out.steps.push_back(step(*s)); });
    each(p.loops(), 8, [&](const pf::Loop* l) { out.loops.push_back(loop(*l)); });
    each(p.bodies(), 8, [&](const pf::Plan* b) { out.bodies.push_back(plan(*b)); });
    each(p.sources(), 8, [&](const pf::Source* s) {
      out.sources.push_back({text_of(s->name()), spec(*s->spec()), s->state(), s->written()});
    });
    out.outputs = numbers(p.outputs());
    out.results = numbers(p.results());
    each(p.constants(), 8, [&](const pf::Constant* c) { out.constants.push_back(constant(*c)); });
    each(p.origins(), 4, [&](const fb::String* s) { out.origins.push_back(text_of(s)); });
    out.arena_bytes = p.arena_bytes();
    out.arena_lower_bound = p.arena_lower_bound();
    out.num_draws = p.num_draws();
    out.num_host = p.num_host();
    return out;
  }

 private:
  void spend(size_t bytes) {
    left_ -= static_cast<int64_t>(bytes);
    check(left_ >= 0, "the plan file names some of its pieces more than once");
  }

  /// FlatBuffers' verifier looks at the alignment of a vector's length only.
  template <class V>
  static void aligned(const V* items, size_t to) {
    check(!items || items->size() == 0 || reinterpret_cast<uintptr_t>(items->Data()) % to == 0,
          "the plan file is damaged: a list of numbers is not aligned");
  }

  template <class V, class F>
  void each(const V* items, size_t bytes, F one) {
    if (!items) return;
    spend(items->size() * bytes);
    for (auto item : *items) one(item);
  }
  template <class T>
  std::vector<T> numbers(const fb::Vector<T>* v) {
    if (!v) return {};
    spend(v->size() * sizeof(T));
    aligned(v, sizeof(T));
    return {v->begin(), v->end()};
  }
  Dims dims(const fb::Vector<int64_t>* v) {
    if (!v) return {};
    spend(v->size() * sizeof(int64_t));
    aligned(v, sizeof(int64_t));
    Dims out(v->size());
    for (size_t i = 0; i < out.size(); ++i) out[i] = v->Get(static_cast<fb::uoffset_t>(i));
    return out;
  }
  std::string text_of(const fb::String* s) {
    if (!s) return {};
    spend(s->size() + 1);
    return s->str();
  }

  TensorSpec spec(const pf::Spec& s) {
    spend(sizeof(fb::soffset_t));
    return {static_cast<DType>(s.dtype()), s.wrapped(),
            Device{static_cast<DeviceType>(s.device_type()), s.device_index()}, dims(s.shape()), dims(s.strides())};
  }

  static Scalar number(const pf::Attr& a) {
    switch (static_cast<Scalar::Kind>(a.number_kind())) {
      case Scalar::Kind::Bool: return a.integer() != 0;
      case Scalar::Kind::Int: return a.integer();
      case Scalar::Kind::Float: return a.real();
      case Scalar::Kind::Complex: return std::complex<double>(a.real(), a.imaginary());
    }
    fail(ErrorKind::Value, "the plan file has a number of an unknown kind, ", int{a.number_kind()});
  }

  AttrValue attr(const pf::Attr& a) {
    spend(sizeof(fb::soffset_t));
    using K = AttrValue::Kind;
    switch (static_cast<K>(a.kind())) {
      case K::None: return {};
      case K::Bool: return a.integer() != 0;
      case K::Int: return a.integer();
      case K::Float: return a.real();
      case K::Scalar: return number(a);
      case K::Text: return text_of(a.text());
      case K::Ints: return dims(a.integers());
      case K::Floats: return numbers(a.reals());
      case K::DType:
        check(a.dtype() < kNumDTypes || a.dtype() == 255, "the plan file has an unknown dtype, ", int{a.dtype()});
        return static_cast<DType>(a.dtype());
    }
    fail(ErrorKind::Value, "the plan file has an attribute of an unknown kind, ", int{a.kind()});
  }

  PlanStep step(const pf::Step& s) {
    PlanStep out;
    out.op = text_of(s.op());
    out.inputs = numbers(s.inputs());
    out.outputs = numbers(s.outputs());
    each(s.attrs(), 4, [&](const pf::Attr* a) { out.attrs.push_back(attr(*a)); });
    each(s.bindings(), sizeof(pf::Binding), [&](const pf::Binding* b) {
      out.bindings.push_back({b->attr(), static_cast<AttrBinding::Kind>(b->kind()), b->index()});
    });
    out.compute = static_cast<DType>(s.compute());
    out.origin = s.origin();
    out.loop = s.loop();
    out.bodies = numbers(s.bodies());
    out.scratch_offset = s.scratch_offset();
    out.scratch_bytes = s.scratch_bytes();
    return out;
  }

  PlanLoop loop(const pf::Loop& l) {
    PlanLoop out;
    out.counts = dims(l.counts());
    out.has_last = l.has_last();
    out.num_inputs = l.num_inputs();
    out.scratch_bytes = l.scratch_bytes();
    each(l.tiles(), 8, [&](const pf::Tile* t) {
      out.tiles.push_back({t->operand(), t->offset(), spec(*t->spec()), spec(*t->last_spec()), dims(t->steps())});
    });
    each(l.body(), 8, [&](const pf::Step* s) { out.body.push_back(step(*s)); });
    return out;
  }

  /// A view of the file's data.
  Tensor constant(const pf::Constant& c) {
    const TensorSpec s = spec(*c.spec());
    if (std::string problem = spec_problem(s); !problem.empty()) fail(ErrorKind::Value, "a constant: ", problem);
    const int64_t have = data_bytes_;
    check(c.offset() >= 0 && c.offset() % 64 == 0 && c.bytes() == extent_of(s) && c.offset() <= have &&
              c.bytes() <= have - c.offset(),
          "the plan file has a constant ", s, " at byte ", c.offset(), " of ", have, " bytes of data");
    const int64_t at = (static_cast<int64_t>(data_start_) + c.offset()) / dtype_size(s.dtype);
    Tensor t = Tensor::make(file_, s.dtype, s.shape, s.strides, at);
    t->wrapped = s.wrapped;
    return t;
  }

  const Ref<Storage>& file_;
  size_t data_start_;
  int64_t data_bytes_, left_;
};

/// The header, and that it fits the file.
PlanFileHeader header_of(const char* data, size_t bytes) {
  PlanFileHeader h;
  check(bytes >= sizeof h && std::memcmp(data, kPlanMagic, sizeof kPlanMagic) == 0, "this is no plan file");
  std::memcpy(&h, data, sizeof h);
  check(h.version <= static_cast<uint32_t>(kPlanVersion), "the plan file has version ", h.version,
        ", this Headwater reads versions up to ", kPlanVersion,
        ". Write it again with this version, or use a newer one");
  check(h.version >= 1, "the plan file has version 0");
  const uint64_t rest = bytes - sizeof h;
  check(h.structure_bytes <= rest && h.structure_bytes < (uint64_t{1} << 31) && h.data_bytes <= rest &&
            aligned64(h.structure_bytes) + h.data_bytes == rest,
        "the plan file is cut off or longer than it says: ", bytes, " bytes");
  check(hash128(data + sizeof h, rest) == h.hash,
        "the plan file is damaged: its content does not have the hash it says");
  return h;
}

}  // namespace

Plan read_plan(const Ref<Storage>& file) { return read_plan(file, 0, file->bytes()); }

Plan read_plan(const Ref<Storage>& file, size_t offset, size_t bytes) {
  check(offset <= file->bytes() && bytes <= file->bytes() - offset, "the plan file is cut off");
  const auto* data = static_cast<const char*>(file->data()) + offset;
  if (reinterpret_cast<uintptr_t>(data) % kPlanAlignment) bug("a plan file must lie at a multiple of 64");
  const PlanFileHeader h = header_of(data, bytes);
  const auto* structure = reinterpret_cast<const uint8_t*>(data) + sizeof h;
  // A table takes at least four bytes; more of them than fit are one piece named again and again.
  fb::Verifier verifier(structure, h.structure_bytes, 64, static_cast<fb::uoffset_t>(h.structure_bytes / 4));
  check(pf::VerifyPlanBuffer(verifier), "the plan file is damaged: its structure is not that of a plan");
  Reader reader(file, offset + sizeof h + aligned64(h.structure_bytes), h);
  Plan plan = reader.plan(*pf::GetPlan(structure));
  plan.version = static_cast<int32_t>(h.version);
  if (std::string problem = plan_problem(plan); !problem.empty())
    fail(ErrorKind::Value, "the plan file is wrong: ", problem);
  return plan;
}

Plan read_plan(std::string_view file) {
  auto storage = make_ref<Storage>(file.size());
  if (!file.empty()) std::memcpy(storage->data(), file.data(), file.size());
  return read_plan(storage);
}

Plan load_plan(const std::string& path) {
  std::FILE* in = std::fopen(path.c_str(), "rb");
  check_runtime(in, "cannot read the plan ", path, ": ", std::strerror(errno));
  std::fseek(in, 0, SEEK_END);
  const long bytes = std::ftell(in);
  std::rewind(in);
  auto storage = make_ref<Storage>(static_cast<size_t>(std::max(bytes, 0L)));
  const bool whole = bytes >= 0 && std::fread(storage->data(), 1, storage->bytes(), in) == storage->bytes();
  std::fclose(in);
  check_runtime(whole, "cannot read the plan ", path);
  try {
    return read_plan(storage);
  } catch (const Error& e) {
    throw Error(e.kind(), text(path, ": ", e.message()));
  }
}

}  // namespace hw
