// In a pruned runtime, in place of kernels/isa.cpp: the instruction set that everything is compiled for.
#include "base/error.h"
#include "infer/pruned/pruned.h"
#include "kernels/isa.h"

namespace hw {

#if defined(__AVX512BW__)
static constexpr Isa kIsa = Isa::AVX512;
#elif defined(__AVX2__)
static constexpr Isa kIsa = Isa::AVX2;
#elif defined(__ARM_NEON)
static constexpr Isa kIsa = Isa::Neon;
#else
static constexpr Isa kIsa = Isa::Scalar;
#endif

Isa isa_found() { return kIsa; }
Isa isa() { return kIsa; }
void set_isa(Isa) {}

std::string_view isa_name(Isa i) {
  return i == Isa::AVX512 ? "avx512" : i == Isa::AVX2 ? "avx2" : i == Isa::Neon ? "neon" : "scalar";
}

bool has_avx512_bf16() { return false; }
bool has_avx512_vnni() { return false; }
bool has_avx_vnni() { return false; }
bool has_amx_bf16() { return false; }

void check_processor() {
#if defined(__AVX2__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  check_runtime(kIsa == Isa::AVX2 ? avx2 : avx512, "this runtime is built for ", isa_name(kIsa),
                ", which the processor does not have");
#endif
}

}  // namespace hw
