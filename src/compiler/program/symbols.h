// Sizes that change from call to call. A program is captured once with unlikely numbers in their place; every number in the graph that
// was computed from them can be told and computed anew for other sizes.
#pragma once

#include "compiler/program/program.h"

namespace hw {

/// The number that stands for symbol i while capturing; the most symbols there are.
int64_t symbol_number(size_t i);
constexpr size_t kMostSymbols = 3;

/// factor * (product of the symbols in `set`) + offset. An empty set: the constant `offset`.
struct SizeFormula {
  uint32_t set = 0;
  int64_t factor = 0, offset = 0;
  int64_t at(std::span<const int64_t> sizes) const;
};

/// How a number of the capture was computed, as far as one product and one offset can say.
SizeFormula formula_of(int64_t number, size_t num_symbols);

/// The parts for other sizes: attributes, constants and specs computed anew, by the operators' own rules. Throws Error{Runtime} where
/// the rules do not agree with the numbers: the program depends on its sizes in another way.
ProgramParts instantiate(const ProgramParts& parts, std::span<const int64_t> sizes);

}  // namespace hw
