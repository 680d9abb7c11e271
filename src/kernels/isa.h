// Which instruction sets this machine has, and which of them kernels may use.
#pragma once

#include <string>
#include <string_view>

namespace hw {

enum class Isa : int { Scalar = 0, AVX2 = 1, AVX512 = 2, Neon = 10 };

/// Detected once, lowered by HEADWATER_ISA=scalar|avx2|avx512 or set_isa. Feature questions come on top: avx512_bf16, vnni, amx.
Isa isa();
Isa isa_found();
void set_isa(Isa isa);  // for tests: takes effect for kernels prepared from now on
std::string_view isa_name(Isa isa);
bool has_avx512_bf16();
/// HEADWATER_VNNI=0: as if the processor had neither form of it.
bool has_avx512_vnni();
bool has_avx_vnni();  // on vectors of 256 bits, at AVX2
bool has_amx_bf16();

}  // namespace hw
