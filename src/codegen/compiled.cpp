// The kernels of this process; see the header.
#include "codegen/compiled.h"

#include <chrono>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "base/thread_team.h"
#include "codegen/disk.h"
#include "codegen/llvm.h"
#include "codegen/object.h"
#include "kernels/isa.h"

namespace hw {

namespace {

constexpr int kVersion = 1;  // of the meaning of the text; counted up when old objects no longer serve

struct Target {
  const char* cpu = nullptr;
  const char* features = "";
  int lanes = 0;
};

Target target() {
#if defined(__x86_64__)
  if (isa() == Isa::AVX2) return {"x86-64-v3", "", 8};
  if (isa() == Isa::AVX512) return {"x86-64-v4", "-prefer-256-bit", 16};
#endif
  return {};
}

/// All kernels stay as long as the process.
struct Kernels {
  std::mutex mutex;
  std::unordered_map<std::string, std::unique_ptr<LoadedCode>> by_key;  // null: could not be made
  CodeStats stats;
};
Kernels& kernels() {
  static Kernels* all = new Kernels;  // never destroyed: programs may outlive static objects
  return *all;
}

std::string key_of(const std::string& code) { return text(kVersion, " ", target().cpu, "\n", code); }

std::unique_ptr<LoadedCode> make(const std::string& key, const std::string& code, std::string& why_not) {
  Kernels& all = kernels();
  if (const auto object = read_kept(key)) {
    if (auto loaded = LoadedCode::load(*object, "k", why_not)) {
      const std::lock_guard lock(all.mutex);
      ++all.stats.from_disk;
      return loaded;
    }
  }
  const auto start = std::chrono::steady_clock::now();
  const std::string object = compile_with_llvm(code, target().cpu, target().features, why_not);
  std::unique_ptr<LoadedCode> loaded = object.empty() ? nullptr : LoadedCode::load(object, "k", why_not);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (loaded) keep(key, object);
  const std::lock_guard lock(all.mutex);
  all.stats.seconds += took.count();
  ++(loaded ? all.stats.compiled : all.stats.failed);
  if (!loaded) all.stats.missing = why_not;
  return loaded;
}

bool is_known(const std::string& key) {
  const std::lock_guard lock(kernels().mutex);
  return kernels().by_key.count(key) > 0;
}

}  // namespace

int code_lanes(std::string& why_not) {
  const int lanes = target().lanes;
  if (!lanes) why_not = text("no code is generated for ", isa_name(isa()));
  return lanes;
}

RowsFunction compiled_rows(const std::string& code, std::string& why_not) {
  Kernels& all = kernels();
  const std::string key = key_of(code);
  {
    const std::lock_guard lock(all.mutex);
    if (const auto it = all.by_key.find(key); it != all.by_key.end()) {
      if (!it->second) why_not = all.stats.missing;
      return it->second ? reinterpret_cast<RowsFunction>(it->second->function()) : nullptr;
    }
  }
  std::unique_ptr<LoadedCode> made = make(key, code, why_not);
  const std::lock_guard lock(all.mutex);
  const auto it = all.by_key.try_emplace(key, std::move(made)).first;  // the first to come stays
  return it->second ? reinterpret_cast<RowsFunction>(it->second->function()) : nullptr;
}

void compile_all(std::span<const std::string> codes) {
  std::vector<const std::string*> fresh;
  std::unordered_map<std::string, bool> seen;
  for (const std::string& c : codes)
    if (seen.try_emplace(c, true).second && !is_known(key_of(c))) fresh.push_back(&c);
  if (fresh.size() < 2) return;
  parallel_for(static_cast<int64_t>(fresh.size()), 1, [&](int64_t begin, int64_t end) {
    std::string why_not;
    for (int64_t i = begin; i < end; ++i) compiled_rows(*fresh[static_cast<size_t>(i)], why_not);
  });
}

CodeStats code_stats() {
  const std::lock_guard lock(kernels().mutex);
  return kernels().stats;
}

}  // namespace hw
