// The instruction sets for which SIMD code is generated. Include before any Highway header, in every file alike.
#pragma once

// One level per generation of machines keeps build time and package small: baseline, AVX2, AVX-512 (AVX3), NEON.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_WASM_EMU256)
