// Conversions as instructions; see the header.
#include "codegen/convert.h"

#include <limits>

namespace hw {

std::string_view stored_as(DType dtype) {
  switch (dtype) {
    case DType::Bool: return "i8";
    case DType::F16: return "half";
    case DType::BF16: return "i16";
    default: return held_as(dtype);
  }
}

namespace {

std::string cast(Writer& w, std::string_view how, const std::string& value, std::string_view from,
                 std::string_view to) {
  return w.put(text(how, " ", w.vector(from), " ", value, " to ", w.vector(to)), {value});
}

/// To the nearest bf16, even for ties, NaN as it is; in f32.
std::string rounded_bf16(Writer& w, const std::string& value) {
  const std::string ints = w.vector("i32"), floats = w.vector("float");
  const std::string u = cast(w, "bitcast", value, "float", "i32");
  const std::string high = w.put(text("lshr ", ints, " ", u, ", ", splat_int("i32", 16)), {u});
  const std::string odd = w.put(text("and ", ints, " ", high, ", ", splat_int("i32", 1)), {high});
  const std::string up = w.put(text("add ", ints, " ", odd, ", ", splat_int("i32", 0x7fff)), {odd});
  const std::string number = w.put(text("fcmp ord ", floats, " ", value, ", ", value), {value});
  const std::string by = w.put(
      text("select ", w.vector("i1"), " ", number, ", ", ints, " ", up, ", ", ints, " zeroinitializer"), {number, up});
  const std::string sum = w.put(text("add ", ints, " ", u, ", ", by), {u, by});
  const std::string cut = w.put(text("and ", ints, " ", sum, ", ", splat_int("i32", -65536)), {sum});
  return cast(w, "bitcast", cut, "i32", "float");
}

std::string rounded_f16(Writer& w, const std::string& value) {
  return cast(w, "fpext", cast(w, "fptrunc", value, "float", "half"), "half", "float");
}

/// Toward zero; beyond the range the nearest end, the lower one for NaN. `to` is i32 or i64.
std::string truncated(Writer& w, const std::string& value, DType from, DType to) {
  const std::string floats = w.vector(held_as(from)), mask = w.vector("i1"), ints = w.vector(held_as(to));
  const bool wide = to == DType::I64;
  const double low = wide ? -9223372036854775808.0 : -2147483648.0, end = -low;
  // The largest number of `from` below the end.
  const int digits = from == DType::F64 ? 53 : 24;
  const double high = digits >= (wide ? 63 : 31) ? end - 1 : end - end / static_cast<double>(uint64_t{1} << digits);
  auto limited = [&](std::string_view order, const std::string& x, double bound) {
    const std::string b = splat(from, bound);
    const std::string keeps = w.put(text("fcmp ", order, " ", floats, " ", x, ", ", b), {x});
    return w.put(text("select ", mask, " ", keeps, ", ", floats, " ", x, ", ", floats, " ", b), {keeps, x});
  };
  const std::string clamped = limited("olt", limited("ogt", value, low), high);
  const std::string whole = cast(w, "fptosi", clamped, held_as(from), held_as(to));
  const std::string beyond = w.put(text("fcmp oge ", floats, " ", value, ", ", splat(from, end)), {value});
  const int64_t most = wide ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int32_t>::max();
  return w.put(
      text("select ", mask, " ", beyond, ", ", ints, " ", splat_int(held_as(to), most), ", ", ints, " ", whole),
      {beyond, whole});
}

DType held(DType d) { return is_reduced(d) ? DType::F32 : d; }

std::string float_to_int(Writer& w, const std::string& value, DType from, DType to) {
  if (to == DType::I64 || to == DType::I32) return truncated(w, value, from, to);
  return cast(w, "trunc", truncated(w, value, from, DType::I32), "i32", held_as(to));
}

}  // namespace

std::string write_convert(Writer& w, const std::string& value, DType from, DType to) {
  if (from == to) return value;
  if (is_reduced(to)) {
    const std::string f = write_convert(w, value, from, DType::F32);
    return to == DType::BF16 ? rounded_bf16(w, f) : rounded_f16(w, f);
  }
  from = held(from);
  if (from == to) return value;
  const std::string_view source = held_as(from), target = held_as(to);
  if (to == DType::Bool) {
    if (is_floating(from)) return w.put(text("fcmp une ", w.vector(source), " ", value, ", zeroinitializer"), {value});
    return w.put(text("icmp ne ", w.vector(source), " ", value, ", zeroinitializer"), {value});
  }
  const bool is_unsigned = from == DType::Bool || from == DType::U8;
  if (is_floating(from)) {
    if (!is_floating(to)) return float_to_int(w, value, from, to);
    return cast(w, to == DType::F64 ? "fpext" : "fptrunc", value, source, target);
  }
  if (is_floating(to)) return cast(w, is_unsigned ? "uitofp" : "sitofp", value, source, target);
  if (source == target) return value;
  if (from != DType::Bool && dtype_size(to) < dtype_size(from)) return cast(w, "trunc", value, source, target);
  return cast(w, is_unsigned ? "zext" : "sext", value, source, target);
}

std::string write_load(Writer& w, const std::string& address, DType dtype, bool varies) {
  const std::string_view memory = stored_as(dtype);
  const int64_t align = dtype_size(dtype);
  std::string raw;
  if (varies) {
    raw = w.put_varying(text("load ", w.vector(memory), ", ptr ", address, ", align ", align));
  } else {
    const std::string one = w.put_in_row(text("load ", memory, ", ptr ", address, ", align ", align));
    const std::string first =
        w.put_in_row(text("insertelement ", w.vector(memory), " poison, ", memory, " ", one, ", i64 0"));
    raw = w.put_in_row(text("shufflevector ", w.vector(memory), " ", first, ", ", w.vector(memory), " poison, ",
                            w.vector("i32"), " zeroinitializer"));
  }
  if (dtype == DType::Bool) return w.put(text("icmp ne ", w.vector("i8"), " ", raw, ", zeroinitializer"), {raw});
  if (dtype == DType::F16) return cast(w, "fpext", raw, "half", "float");
  if (dtype != DType::BF16) return raw;
  const std::string wide = cast(w, "zext", raw, "i16", "i32");
  const std::string up = w.put(text("shl ", w.vector("i32"), " ", wide, ", ", splat_int("i32", 16)), {wide});
  return cast(w, "bitcast", up, "i32", "float");
}

void write_store(Writer& w, const std::string& value, const std::string& address, DType dtype, bool streaming) {
  std::string raw = value;
  if (dtype == DType::Bool) {
    raw = cast(w, "zext", value, "i1", "i8");
  } else if (dtype == DType::F16) {
    raw = cast(w, "fptrunc", value, "float", "half");
  } else if (dtype == DType::BF16) {
    const std::string u = cast(w, "bitcast", value, "float", "i32");
    const std::string high = w.put(text("lshr ", w.vector("i32"), " ", u, ", ", splat_int("i32", 16)), {u});
    raw = cast(w, "trunc", high, "i32", "i16");
  }
  const int64_t size = dtype_size(dtype), align = streaming ? size * w.lanes() : size;
  w.put_last(text("store ", w.vector(stored_as(dtype)), " ", raw, ", ptr ", address, ", align ", align,
                  streaming ? ", !nontemporal !0" : ""));
}

}  // namespace hw
