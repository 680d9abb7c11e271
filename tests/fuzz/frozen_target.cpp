// libFuzzer's entry to the reader of frozen models. A hash would stop nearly every changed byte at the door, so the hashes are written anew
// and what lies behind them is judged: FlatBuffers' verifier, the readers, the checks. Each input is read as it is, too.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "base/error.h"
#include "plan/file.h"
#include "plan/frozen.h"
#include "plan/frozen_layout.h"
#include "plan/layout.h"

namespace {

using namespace hw;

/// The hash of each plan in the file, as far as the plan's header fits the file.
void seal_plans(std::string& file) {
  const std::string_view magic(kPlanMagic, sizeof kPlanMagic);
  for (size_t at = file.find(magic); at != std::string::npos; at = file.find(magic, at + magic.size())) {
    const size_t most = file.size() - at;
    PlanFileHeader h;
    if (most < sizeof h) return;
    std::memcpy(&h, file.data() + at, sizeof h);
    if (h.structure_bytes > most || h.data_bytes > most) continue;
    const size_t bytes = sizeof h + aligned64(h.structure_bytes) + h.data_bytes;
    if (bytes > most) continue;
    std::string plan = file.substr(at, bytes);
    seal_plan(plan);
    file.replace(at, bytes, plan);
  }
}

void read(const std::string& file) {
  // Memory of just this size from the sanitizer's allocator, not from ours: a read behind the end is seen.
  void* bytes = nullptr;
  if (posix_memalign(&bytes, 64, std::max<size_t>(file.size(), 1)) != 0) return;
  std::memcpy(bytes, file.data(), file.size());
  const auto memory = make_ref<Storage>(
      bytes, file.size(), [](void* p) { std::free(p); }, bytes, false);
  try {
    read_frozen(memory);
    check_frozen_data(*memory);
  } catch (const Error& error) {
    if (error.message().starts_with("internal error")) __builtin_trap();  // bug(): ours, not the file's
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data,
                                      size_t size) {  // NOLINT(readability-identifier-naming): libFuzzer's
  std::string file(reinterpret_cast<const char*>(data), size);
  read(file);
  if (size < sizeof(FrozenHeader)) return 0;
  seal_plans(file);
  seal_frozen(file);
  read(file);
  return 0;
}
