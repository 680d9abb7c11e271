// Loading a model: mapping its file, packing what it holds unpacked.
#include "infer/loaded_model.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "chain/chain.h"
#include "infer/encrypted.h"
#include "op/check_plan.h"
#include "plan/file.h"

namespace hw::infer {

namespace {

Ref<Storage> mapped(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  check_runtime(file >= 0, "cannot read the model ", path, ": ", std::strerror(errno));
  struct stat info {};
  const bool known = fstat(file, &info) == 0 && S_ISREG(info.st_mode);
  const auto bytes = known ? static_cast<size_t>(info.st_size) : 0;
  void* data = bytes ? mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
  const int why = errno;
  close(file);
  check_runtime(known, "cannot read the model ", path, ": it is no file");
  check(bytes > 0, "this is no frozen model");
  check_runtime(data != MAP_FAILED, "cannot map the model ", path, ": ", std::strerror(why));
  struct Mapping {
    void* data;
    size_t bytes;
  };
  return make_ref<Storage>(
      data, bytes,
      [](void* context) {
        const std::unique_ptr<Mapping> m(static_cast<Mapping*>(context));
        munmap(m->data, m->bytes);
      },
      std::make_unique<Mapping>(Mapping{data, bytes}).release(), false);
}

}  // namespace

/// body() with the path in front of what it says is wrong with the file.
template <class Body>
static Ref<LoadedModel> of_file(const std::string& path, Body&& body) {
  try {
    return body(mapped(path));
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::Runtime) throw;
    throw Error(e.kind(), text(path, ": ", e.message()));
  }
}

Ref<LoadedModel> LoadedModel::load(const std::string& path) {
  return of_file(path, [](Ref<Storage> file) { return make_ref<LoadedModel>(std::move(file)); });
}

Ref<LoadedModel> LoadedModel::load(const std::string& path, std::string_view key) {
  return of_file(path, [&](const Ref<Storage>& file) { return from_memory(file->data(), file->bytes(), key); });
}

Ref<LoadedModel> LoadedModel::from_memory(const void* data, size_t bytes, std::string_view key) {
  check(data || !bytes, "the model's memory is null");
  return make_ref<LoadedModel>(decrypt(data, bytes, key));
}

Ref<LoadedModel> LoadedModel::from_memory(const void* data, size_t bytes) {
  check(data || !bytes, "the model's memory is null");
  if (reinterpret_cast<uintptr_t>(data) % kPlanAlignment == 0 && bytes)
    return make_ref<LoadedModel>(make_ref<Storage>(
        const_cast<void*>(data), bytes, [](void*) {}, nullptr, false));
  auto copy = make_ref<Storage>(std::max<size_t>(bytes, 64));
  std::memset(copy->data(), 0, 64);
  if (bytes) std::memcpy(copy->data(), data, bytes);
  return make_ref<LoadedModel>(std::move(copy));
}

/// What the file's reader cannot know: that calls are such as kernels take.
static void check_calls(const FrozenModel& model) {
  const auto check_plan = [](const Plan& plan) {
    if (std::string problem = calls_problem(plan); !problem.empty())
      fail(ErrorKind::Value, "the model file is wrong: ", problem);
  };
  for (const FrozenForm& f : model.forms) {
    check_plan(f.plan);
    if (f.once) check_plan(*f.once);
  }
}

static Ref<Storage> plain(Ref<Storage> file) {
  check(!is_encrypted(file->data(), file->bytes()), "the model is encrypted: load it with its key");
  return file;
}

LoadedModel::LoadedModel(Ref<Storage> file) : file_(plain(std::move(file))), model_(read_frozen(file_)) {
  check_calls(model_);
  pack_all();
}
LoadedModel::LoadedModel(FrozenModel model) : model_(std::move(model)) { pack_all(); }

void LoadedModel::pack_all() {
  for (const FrozenForm& f : model_.forms) packed_.push_back(f.once ? pack(f) : Packed{});
}

LoadedModel::Packed LoadedModel::pack(const FrozenForm& form) const {
  Packed made;
  Chain chain(*form.once);
  std::vector<const void*> from;
  for (int32_t w : form.once_sources) from.push_back(model_.weights[static_cast<size_t>(w)].data());
  std::vector<void*> to;
  for (int64_t bytes : form.once->outputs)
    to.push_back(made.memory.emplace_back(make_ref<Storage>(static_cast<size_t>(bytes)))->data());
  const Storage work(std::max<size_t>(chain.memory_bytes(), 64));
  chain.run({from, to, {}, 0, 0}, work.data());
  for (int32_t r : form.once->results) {
    const PlanTensor& t = form.once->tensors[static_cast<size_t>(r)];
    const auto buffer = static_cast<size_t>(form.once->buffers[static_cast<size_t>(t.buffer)].index);
    made.results.push_back(static_cast<char*>(to[buffer]) + t.offset);
  }
  return made;
}

std::vector<const void*> LoadedModel::sources(size_t form) const {
  std::vector<const void*> out;
  for (const FrozenTie& t : model_.forms[form].sources) {
    const auto i = static_cast<size_t>(t.index);
    out.push_back(t.kind == FrozenTie::Kind::Weight ? model_.weights[i].data()
                  : t.kind == FrozenTie::Kind::Once ? packed_[form].results[i]
                                                    : nullptr);
  }
  return out;
}

size_t LoadedModel::form_for(std::span<const TensorSpec> inputs) const {
  const auto same = [](const TensorSpec& a, const TensorSpec& b) { return a.dtype == b.dtype && a.shape == b.shape; };
  for (size_t i = 0; i < model_.forms.size(); ++i)
    if (std::equal(inputs.begin(), inputs.end(), model_.forms[i].inputs.begin(), model_.forms[i].inputs.end(), same))
      return i;
  const auto list = [&](std::span<const TensorSpec> specs) {
    std::string out;
    for (size_t i = 0; i < specs.size(); ++i) out += text(i ? ", " : "", model_.inputs[i], " ", specs[i]);
    return out;
  };
  std::string there;
  for (const FrozenForm& f : model_.forms) there += text(there.empty() ? "" : "; or ", list(f.inputs));
  fail(ErrorKind::Value, "the model ", model_.name, " has no plan for ", list(inputs), ". It has plans for ", there,
       ". Freeze it with these shapes too");
}

static int32_t number_of(const std::vector<std::string>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? -1 : static_cast<int32_t>(found - names.begin());
}
int32_t LoadedModel::input_number(std::string_view name) const { return number_of(model_.inputs, name); }
int32_t LoadedModel::output_number(std::string_view name) const { return number_of(model_.outputs, name); }

}  // namespace hw::infer
