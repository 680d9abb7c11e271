// Pieces of random numbers for the instruction set in use.
#pragma once

#include <cstdint>

#include "kernels/random/draws.h"

namespace hw {

constexpr int64_t kRandomChunk = 1024;  // elements that a call makes at most; a multiple of four

/// Elements begin, ..., end - 1 of a draw; begin is a multiple of four and end - begin at most kRandomChunk.
using UniformChunk = void (*)(Draw draw, int64_t begin, int64_t end, float low, float width, float* out);
using NormalChunk = void (*)(Draw draw, int64_t begin, int64_t end, float mean, float std, float* out);
/// mask[i] = word >= threshold, y[i] = mask[i] ? x[i] * factor : 0; pointers are to element `begin`.
using DropoutChunk = void (*)(Draw draw, int64_t begin, int64_t end, uint64_t threshold, float factor, const void* x,
                              void* y, bool* mask);

/// The words of `blocks` blocks of four, from block `first` on.
using WordsChunk = void (*)(Draw draw, uint64_t first, int64_t blocks, uint32_t* out);

WordsChunk find_words_chunk();
UniformChunk find_uniform_chunk();
NormalChunk find_normal_chunk();
DropoutChunk find_dropout_chunk(int64_t kind);  // 0: f32, 1: f16, 2: bf16

}  // namespace hw
