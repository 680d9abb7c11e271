// Text of devices, specs and attributes.
#include "core/spec.h"

#include <functional>

#include "base/error.h"
#include "core/attr.h"

namespace hw {

std::string_view device_type_name(DeviceType type) {
  switch (type) {
    case DeviceType::CPU: return "cpu";
    case DeviceType::CUDA: return "cuda";
    case DeviceType::Null: return "null";
  }
  return "?";
}

Device parse_device(std::string_view name) {
  if (name == "cpu" || name == "cpu:0") return Device{};
  fail(ErrorKind::Runtime, "device '", name, "' is not available: this build has the device 'cpu' only");
}

void append_text(std::string& out, Device d) { out.append(device_type_name(d.type)); }

void append_text(std::string& out, const TensorSpec& spec) {
  if (!spec.given()) return out.append("None"), void();
  append_text(out, spec.dtype);
  append_text(out, spec.shape);
}

AttrValue::AttrValue(const char* v) : kind_(Kind::Text), text_(v) {}
AttrValue::AttrValue(const AttrValue&) = default;
AttrValue& AttrValue::operator=(const AttrValue&) = default;

size_t AttrValue::hash() const {
  size_t h = static_cast<size_t>(kind_) * 0x9e3779b97f4a7c15ull;
  auto mix = [&h](size_t v) { h = (h ^ v) * 0x9e3779b97f4a7c15ull, h ^= h >> 29; };
  switch (kind_) {
    case Kind::None: break;
    case Kind::Bool:
    case Kind::Int: mix(static_cast<size_t>(scalar_.i64())); break;
    case Kind::Float:
    case Kind::Scalar:
      mix(static_cast<size_t>(scalar_.kind()));
      mix(std::hash<double>{}(scalar_.f64()));
      mix(std::hash<double>{}(scalar_.c128().imag()));
      break;
    case Kind::Text: mix(std::hash<std::string>{}(text_)); break;
    case Kind::Ints:
      for (int64_t v : ints_) mix(static_cast<size_t>(v));
      break;
    case Kind::Floats:
      for (double v : floats_) mix(std::hash<double>{}(v));
      break;
    case Kind::DType: mix(static_cast<size_t>(dtype_)); break;
  }
  return h;
}

void append_text(std::string& out, const AttrValue& value) {
  switch (value.kind()) {
    case AttrValue::Kind::None: return out.append("None"), void();
    case AttrValue::Kind::Bool: return append_text(out, value.truth());
    case AttrValue::Kind::Int: return append_text(out, value.i64());
    case AttrValue::Kind::Float: return append_text(out, value.f64());
    case AttrValue::Kind::Scalar: return append_text(out, value.scalar());
    case AttrValue::Kind::Text: return out.append("'" + value.text() + "'"), void();
    case AttrValue::Kind::Ints: return append_text(out, value.ints());
    case AttrValue::Kind::DType: return append_text(out, value.dtype());
    case AttrValue::Kind::Floats: break;
  }
  out.push_back('[');
  for (size_t i = 0; i < value.floats().size(); ++i) {
    if (i) out.append(", ");
    append_double(out, value.floats()[i]);
  }
  out.push_back(']');
}

}  // namespace hw
