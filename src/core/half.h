// 16-bit floating types as storage: conversion to and from float, round to nearest even.
#pragma once

#include <bit>
#include <cstdint>

namespace hw {

struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float f) {
    uint32_t u = std::bit_cast<uint32_t>(f);
    if ((u & 0x7fffffffu) > 0x7f800000u)
      bits = static_cast<uint16_t>((u >> 16) | 0x40u);  // quiet NaN, payload kept in part
    else
      bits = static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  }
  operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

struct Half {
  uint16_t bits = 0;
  Half() = default;
  explicit Half(float f) {
    uint32_t u = std::bit_cast<uint32_t>(f);
    uint32_t sign = (u >> 16) & 0x8000u, mag = u & 0x7fffffffu;
    if (mag > 0x7f800000u) {
      bits = static_cast<uint16_t>(sign | 0x7e00u);
    } else if (mag >= 0x477ff000u) {  // rounds to 65536 or more
      bits = static_cast<uint16_t>(sign | 0x7c00u);
    } else if (mag < 0x38800000u) {  // subnormal half: let the float adder round
      float shifted = std::bit_cast<float>(mag) + 0.5f;
      bits = static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
    } else {
      bits = static_cast<uint16_t>(sign | ((mag + 0xfffu + ((mag >> 13) & 1u) - 0x38000000u) >> 13));
    }
  }
  operator float() const {
    uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16, mag = bits & 0x7fffu;
    uint32_t u;
    if (mag >= 0x7c00u)
      u = 0x7f800000u | ((mag & 0x3ffu) << 13);
    else if (mag >= 0x400u)
      u = (mag << 13) + 0x38000000u;
    else
      return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(static_cast<float>(mag) * 5.9604644775390625e-8f));
    return std::bit_cast<float>(sign | u);
  }
};

}  // namespace hw
