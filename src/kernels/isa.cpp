// Detection of instruction sets, and the level that kernels may use. Highway's dispatch follows the same level.
#include "kernels/isa.h"

#include "base/flags.h"
#include "kernels/simd/targets.h"
// After targets.h.
#include "hwy/highway.h"
#if HWY_ARCH_X86
#include <cpuid.h>
#endif

namespace hw {

static Isa detect() {
  const int64_t found = hwy::SupportedTargets();
#if HWY_ARCH_X86
  if (found & HWY_AVX3) return Isa::AVX512;
  if (found & HWY_AVX2) return Isa::AVX2;
#elif HWY_ARCH_ARM
  if (found & HWY_NEON) return Isa::Neon;
#endif
  return Isa::Scalar;
}

Isa isa_found() {
  static const Isa found = detect();
  return found;
}

/// What Highway may choose from at this level. The scalar target is always there.
static int64_t targets_of(Isa level) {
  int64_t targets = HWY_SCALAR | HWY_EMU128;
#if HWY_ARCH_X86
  if (level == Isa::AVX2) targets |= HWY_AVX2;
  if (level == Isa::AVX512) targets |= HWY_AVX2 | HWY_AVX3;
#elif HWY_ARCH_ARM
  if (level == Isa::Neon) targets |= HWY_NEON;
#endif
  return targets;
}

static void tell_highway(Isa level) {
  hwy::SetSupportedTargetsForTest(targets_of(level));
  hwy::GetChosenTarget().Update(targets_of(level));
}

/// The lower of what is asked for and what there is; a set of another family means scalar.
static Isa lowered(Isa wanted) {
  const Isa found = isa_found();
  if (wanted == found) return found;
  const bool same_family = (wanted == Isa::Neon) == (found == Isa::Neon);
  return same_family && wanted < found ? wanted : wanted == Isa::Scalar || !same_family ? Isa::Scalar : found;
}

/// The level that HEADWATER_ISA names; what there is when it is not set or not a level.
static Isa level_at_start() {
  const std::string name = flag_text("HEADWATER_ISA", "");
  for (Isa i : {Isa::Scalar, Isa::AVX2, Isa::AVX512, Isa::Neon})
    if (isa_name(i) == name) return lowered(i);
  return isa_found();
}

static Isa& current() {
  static Isa level = [] {
    const Isa start = level_at_start();
    tell_highway(start);
    return start;
  }();
  return level;
}

// So that code which asks Highway and never isa() respects HEADWATER_ISA too.
[[maybe_unused]] static const Isa at_load = current();

Isa isa() { return current(); }

void set_isa(Isa wanted) {
  current() = lowered(wanted);
  tell_highway(current());
}

std::string_view isa_name(Isa i) {
  switch (i) {
    case Isa::Scalar: return "scalar";
    case Isa::AVX2: return "avx2";
    case Isa::AVX512: return "avx512";
    case Isa::Neon: return "neon";
  }
  return "unknown";
}

namespace {
struct Features {
  bool avx512_bf16 = false, avx512_vnni = false, avx_vnni = false, amx_bf16 = false;
};
}  // namespace

#if HWY_ARCH_X86
/// Whether the operating system saves the tile registers (XCR0 bits 17 and 18).
static bool os_saves_tiles() {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1u << 27))) return false;  // OSXSAVE
  unsigned low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & 0x60000u) == 0x60000u;
}

static Features detect_features() {
  Features f;
  unsigned a, b, c, d;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return f;
  const unsigned leaves = a;
  const bool vnni = flag_int("HEADWATER_VNNI", 1) != 0;
  f.avx512_vnni = vnni && (c & (1u << 11));
  f.amx_bf16 = (d & (1u << 22)) && (d & (1u << 24)) && os_saves_tiles();
  if (leaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) {
    f.avx512_bf16 = a & (1u << 5);
    f.avx_vnni = vnni && (a & (1u << 4));
  }
  return f;
}
#else
static Features detect_features() { return {}; }
#endif

static const Features& features() {
  static const Features found = detect_features();
  return found;
}

bool has_avx512_bf16() { return isa() == Isa::AVX512 && features().avx512_bf16; }
bool has_avx512_vnni() { return isa() == Isa::AVX512 && features().avx512_vnni; }
bool has_avx_vnni() { return isa() == Isa::AVX2 && features().avx_vnni; }
bool has_amx_bf16() { return isa() == Isa::AVX512 && features().amx_bf16; }

}  // namespace hw
