// A plan into a file.
#include <cstdio>
#include <cstring>

#include <plan_generated.h>

#include "base/error.h"
#include "plan/file.h"
#include "plan/layout.h"

namespace hw {

namespace {

namespace fb = flatbuffers;
namespace pf = plan_file;

// A field that is added to the plan must be written, read, compared (same_plan.cpp) and checked (check.cpp) as well.
static_assert(sizeof(PlanBuffer) == 24 && sizeof(PlanTensor) == 152 && sizeof(PlanStep) == 184 &&
              sizeof(PlanTile) == 352 && sizeof(PlanLoop) == 136 && sizeof(PlanSource) == 176 && sizeof(Plan) == 304);

class Writer {
 public:
  std::string run(const Plan& plan) {
    builder_.Finish(write(plan), pf::PlanIdentifier());
    const uint64_t structure = builder_.GetSize(), start = sizeof(PlanFileHeader) + aligned64(structure);
    check(structure < (uint64_t{1} << 31), "the plan ", plan.name, " is too large for a file: ", structure, " bytes");
    std::string file(start + data_bytes_, '\0');
    PlanFileHeader header{{}, static_cast<uint32_t>(plan.version), 0, structure, data_bytes_, {}, {}};
    std::memcpy(header.magic, kPlanMagic, sizeof kPlanMagic);
    std::memcpy(file.data(), &header, sizeof header);
    std::memcpy(file.data() + sizeof header, builder_.GetBufferPointer(), structure);
    for (const Piece& p : data_) std::memcpy(file.data() + start + p.offset, p.data, p.bytes);
    seal_plan(file);
    return file;
  }

 private:
  struct Piece {
    const void* data;
    size_t offset, bytes;
  };

  template <class T, class F>
  auto list(const std::vector<T>& items, F one) {
    std::vector<decltype(one(items[0]))> out;
    out.reserve(items.size());
    for (const T& item : items) out.push_back(one(item));
    return builder_.CreateVector(out);
  }
  fb::Offset<fb::Vector<int64_t>> dims(const Dims& d) { return builder_.CreateVector(d.data(), d.size()); }
  fb::Offset<fb::String> string(const std::string& s) { return builder_.CreateString(s); }

  fb::Offset<pf::Spec> spec(const TensorSpec& s) {
    const auto shape = dims(s.shape), strides = dims(s.strides);
    return pf::CreateSpec(builder_, static_cast<uint8_t>(s.dtype), s.wrapped, static_cast<uint8_t>(s.device.type),
                          s.device.index, shape, strides);
  }

  fb::Offset<pf::Attr> attr(const AttrValue& a) {
    using K = AttrValue::Kind;
    const auto text = a.kind() == K::Text ? string(a.text()) : 0;
    const auto ints = a.kind() == K::Ints ? dims(a.ints()) : 0;
    const auto floats = a.kind() == K::Floats ? builder_.CreateVector(a.floats()) : 0;
    const Scalar& n = a.scalar();
    const std::complex<double> c = n.c128();
    return pf::CreateAttr(builder_, static_cast<uint8_t>(a.kind()), static_cast<uint8_t>(n.kind()),
                          static_cast<uint8_t>(a.dtype()), n.i64(), c.real(), c.imag(), text, ints, floats);
  }

  fb::Offset<pf::Step> step(const PlanStep& s) {
    const auto op = string(s.op);
    const auto inputs = builder_.CreateVector(s.inputs), outputs = builder_.CreateVector(s.outputs);
    const auto attrs = list(s.attrs, [&](const AttrValue& a) { return attr(a); });
    std::vector<pf::Binding> bound;
    for (const AttrBinding& b : s.bindings) bound.emplace_back(b.attr, static_cast<uint8_t>(b.kind), b.index);
    const auto bindings = builder_.CreateVectorOfStructs(bound);
    const auto bodies = builder_.CreateVector(s.bodies);
    return pf::CreateStep(builder_, op, inputs, outputs, attrs, bindings, static_cast<uint8_t>(s.compute), s.origin,
                          s.loop, bodies, s.scratch_offset, s.scratch_bytes);
  }

  fb::Offset<pf::Tile> tile(const PlanTile& t) {
    const auto one = spec(t.spec), last = spec(t.last_spec);
    return pf::CreateTile(builder_, t.operand, t.offset, one, last, dims(t.steps));
  }

  fb::Offset<pf::Loop> loop(const PlanLoop& l) {
    const auto counts = dims(l.counts);
    const auto tiles = list(l.tiles, [&](const PlanTile& t) { return tile(t); });
    const auto body = list(l.body, [&](const PlanStep& s) { return step(s); });
    return pf::CreateLoop(builder_, counts, l.has_last, static_cast<uint32_t>(l.num_inputs), l.scratch_bytes, tiles,
                          body);
  }

  fb::Offset<pf::Constant> constant(const Tensor& t) {
    const auto bytes = static_cast<size_t>(extent_of(t.spec()));
    const size_t offset = data_bytes_;
    data_.push_back({t.data(), offset, bytes});
    data_bytes_ = aligned64(offset + bytes);
    return pf::CreateConstant(builder_, spec(t.spec()), static_cast<int64_t>(offset), static_cast<int64_t>(bytes));
  }

  fb::Offset<pf::Plan> write(const Plan& p) {
    const auto name = string(p.name);
    std::vector<pf::Buffer> places;
    for (const PlanBuffer& b : p.buffers) places.emplace_back(static_cast<uint8_t>(b.kind), b.index, b.offset, b.bytes);
    const auto buffers = builder_.CreateVectorOfStructs(places);
    const auto tensors = list(
        p.tensors, [&](const PlanTensor& t) { return pf::CreateTensor(builder_, t.buffer, t.offset, spec(t.spec)); });
    const auto steps = list(p.steps, [&](const PlanStep& s) { return step(s); });
    const auto loops = list(p.loops, [&](const PlanLoop& l) { return loop(l); });
    const auto bodies = list(p.bodies, [&](const Plan& b) { return write(b); });
    const auto sources = list(p.sources, [&](const PlanSource& s) {
      const auto source_name = string(s.name);
      return pf::CreateSource(builder_, source_name, spec(s.spec), s.state, s.written);
    });
    const auto outputs = builder_.CreateVector(p.outputs);
    const auto results = builder_.CreateVector(p.results);
    const auto constants = list(p.constants, [&](const Tensor& t) { return constant(t); });
    const auto origins = list(p.origins, [&](const std::string& s) { return string(s); });
    return pf::CreatePlan(builder_, name, buffers, tensors, steps, loops, bodies, sources, outputs, results, constants,
                          origins, p.arena_bytes, p.arena_lower_bound, p.num_draws, p.num_host);
  }

  fb::FlatBufferBuilder builder_{1 << 16};
  std::vector<Piece> data_;
  uint64_t data_bytes_ = 0;
};

}  // namespace

void seal_plan(std::string& file) {
  const Hash128 hash = hash128(file.data() + sizeof(PlanFileHeader), file.size() - sizeof(PlanFileHeader));
  std::memcpy(file.data() + offsetof(PlanFileHeader, hash), &hash, sizeof hash);
}

std::string write_plan(const Plan& plan) { return Writer().run(plan); }

void save_plan(const Plan& plan, const std::string& path) {
  const std::string file = write_plan(plan);
  std::FILE* out = std::fopen(path.c_str(), "wb");
  check_runtime(out, "cannot write the plan to ", path, ": ", std::strerror(errno));
  const bool whole = std::fwrite(file.data(), 1, file.size(), out) == file.size();
  const bool closed = std::fclose(out) == 0;
  check_runtime(whole && closed, "cannot write the plan to ", path, ": ", std::strerror(errno));
}

}  // namespace hw
