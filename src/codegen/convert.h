// Conversions between dtypes, and between memory and vectors, as instructions.
#pragma once

#include "codegen/writer.h"

namespace hw {

/// A vector of `from` as one of `to`, rounded to it where it is narrower (the 16-bit floats stay in f32). As kernels/loops/convert_value.h.
std::string write_convert(Writer& w, const std::string& value, DType from, DType to);

/// The elements at `address` (of memory) as a vector; `varies`: lanes in a row, else one for all.
std::string write_load(Writer& w, const std::string& address, DType dtype, bool varies);
void write_store(Writer& w, const std::string& value, const std::string& address, DType dtype, bool streaming);

/// "half" for f16, "i16" for bf16, "i8" for bool.
std::string_view stored_as(DType dtype);

}  // namespace hw
