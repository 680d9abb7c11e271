// A frozen model into a file.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <frozen_generated.h>

#include "base/error.h"
#include "base/function_ref.h"
#include "plan/file.h"
#include "plan/frozen.h"
#include "plan/frozen_layout.h"
#include "plan/layout.h"

namespace hw {

namespace {

namespace fb = flatbuffers;
namespace ff = frozen_file;

using Put = FunctionRef<void(const void* data, size_t bytes)>;

class FrozenWriter {
 public:
  explicit FrozenWriter(const FrozenModel& model) { builder_.Finish(write(model), ff::ModelIdentifier()); }

  void run(int32_t version, Put put) {
    const uint64_t structure = builder_.GetSize();
    check(structure < (uint64_t{1} << 31), "the model is too large for a file: its structure takes ", structure,
          " bytes");
    FrozenHeader header{{}, static_cast<uint32_t>(version), 0, structure, data_bytes_, {}, {}, {}};
    std::memcpy(header.magic, kFrozenMagic, sizeof kFrozenMagic);
    header.hash = hash128(builder_.GetBufferPointer(), structure);
    Hasher hasher;
    each_piece([&](const void* data, size_t bytes) { hasher.add(data, bytes); });
    header.data_hash = hasher.result();
    put(&header, sizeof header);
    put(builder_.GetBufferPointer(), structure);
    pad(structure, put);
    each_piece(put);
  }

 private:
  struct Piece {
    const void* data;
    size_t bytes;
  };

  static void pad(size_t bytes, Put put) {
    static constexpr char kZeros[64] = {};
    if (const size_t more = aligned64(bytes) - bytes) put(kZeros, more);
  }
  void each_piece(Put put) const {
    for (const Piece& p : pieces_) {
      if (p.bytes) put(p.data, p.bytes);
      pad(p.bytes, put);
    }
  }
  int64_t add(const void* data, size_t bytes) {
    const uint64_t at = data_bytes_;
    pieces_.push_back({data, bytes});
    data_bytes_ += aligned64(bytes);
    return static_cast<int64_t>(at);
  }
  std::pair<int64_t, int64_t> add_plan(const Plan& plan) {
    const std::string& kept = *plans_.emplace_back(std::make_unique<std::string>(write_plan(plan)));
    return {add(kept.data(), kept.size()), static_cast<int64_t>(kept.size())};
  }

  template <class T, class F>
  auto list(const std::vector<T>& items, F one) {
    std::vector<decltype(one(items[0]))> out;
    for (const T& item : items) out.push_back(one(item));
    return builder_.CreateVector(out);
  }
  fb::Offset<plan_file::Spec> spec(const TensorSpec& s) {
    const auto shape = builder_.CreateVector(s.shape.data(), s.shape.size()),
               strides = builder_.CreateVector(s.strides.data(), s.strides.size());
    return plan_file::CreateSpec(builder_, static_cast<uint8_t>(s.dtype), s.wrapped,
                                 static_cast<uint8_t>(s.device.type), s.device.index, shape, strides);
  }
  fb::Offset<ff::Blob> blob(const Tensor& t, const std::string& name) {
    const auto text = builder_.CreateString(name);
    const auto spec_offset = spec(t.spec());
    return ff::CreateBlob(builder_, text, spec_offset, add(t.data(), static_cast<size_t>(extent_of(t.spec()))));
  }

  fb::Offset<ff::Form> form(const FrozenForm& f) {
    const auto inputs = list(f.inputs, [&](const TensorSpec& s) { return spec(s); });
    const auto outputs = list(f.outputs, [&](const TensorSpec& s) { return spec(s); });
    const auto [plan_offset, plan_bytes] = add_plan(f.plan);
    const auto [once_offset, once_bytes] = f.once ? add_plan(*f.once) : std::pair<int64_t, int64_t>();
    std::vector<ff::Tie> ties;
    for (const FrozenTie& t : f.sources) ties.emplace_back(static_cast<uint8_t>(t.kind), t.index);
    const auto sources = builder_.CreateVectorOfStructs(ties);
    const auto once_sources = builder_.CreateVector(f.once_sources), results = builder_.CreateVector(f.results);
    const auto test_inputs = list(f.test_inputs, [&](const Tensor& t) { return blob(t, {}); });
    const auto test_outputs = list(f.test_outputs, [&](const Tensor& t) { return blob(t, {}); });
    return ff::CreateForm(builder_, inputs, outputs, plan_offset, plan_bytes, once_offset, once_bytes, sources,
                          once_sources, results, test_inputs, test_outputs);
  }

  fb::Offset<ff::Model> write(const FrozenModel& m) {
    const auto name = builder_.CreateString(m.name), producer = builder_.CreateString(m.producer);
    const auto text = [&](const std::string& s) { return builder_.CreateString(s); };
    const auto inputs = list(m.inputs, text), outputs = list(m.outputs, text);
    const auto forms = list(m.forms, [&](const FrozenForm& f) { return form(f); });
    std::vector<fb::Offset<ff::Blob>> blobs;
    for (size_t i = 0; i < m.weights.size(); ++i) blobs.push_back(blob(m.weights[i], m.weight_names[i]));
    const auto weights = builder_.CreateVector(blobs);
    const auto notes = list(m.notes, [&](const auto& note) {
      const auto key = builder_.CreateString(note.first), value = builder_.CreateString(note.second);
      return ff::CreateNote(builder_, key, value);
    });
    return ff::CreateModel(builder_, name, producer, inputs, outputs, weights, forms, notes);
  }

  fb::FlatBufferBuilder builder_{1 << 14};
  std::vector<std::unique_ptr<std::string>> plans_;
  std::vector<Piece> pieces_;
  uint64_t data_bytes_ = 0;
};

}  // namespace

void seal_frozen(std::string& file) {
  FrozenHeader h;
  std::memcpy(&h, file.data(), sizeof h);
  h.hash = hash128(file.data() + sizeof h, std::min<size_t>(h.structure_bytes, file.size() - sizeof h));
  std::memcpy(file.data(), &h, sizeof h);
}

std::string write_frozen(const FrozenModel& model) {
  std::string file;
  FrozenWriter(model).run(model.version,
                          [&](const void* data, size_t bytes) { file.append(static_cast<const char*>(data), bytes); });
  return file;
}

void save_frozen(const FrozenModel& model, const std::string& path) {
  const std::string beside = text(path, ".", getpid(), ".part");
  std::FILE* out = std::fopen(beside.c_str(), "wb");
  check_runtime(out, "cannot write the model to ", path, ": ", std::strerror(errno));
  bool whole = true;
  FrozenWriter(model).run(model.version, [&](const void* data, size_t bytes) {
    whole = whole && std::fwrite(data, 1, bytes, out) == bytes;
  });
  whole = std::fclose(out) == 0 && whole;
  whole = whole && std::rename(beside.c_str(), path.c_str()) == 0;
  if (whole) return;
  const int why = errno;
  std::remove(beside.c_str());
  fail(ErrorKind::Runtime, "cannot write the model to ", path, ": ", std::strerror(why));
}

}  // namespace hw
