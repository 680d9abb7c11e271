// Where a tensor lives.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hw {

enum class DeviceType : uint8_t { CPU, CUDA, Null };

struct Device {
  DeviceType type = DeviceType::CPU;
  int8_t index = 0;
  bool operator==(const Device&) const = default;
};

std::string_view device_type_name(DeviceType type);
/// "cpu", "cpu:0", "cuda:1"; throws Error{Runtime} for a device that this build or machine does not have.
Device parse_device(std::string_view text);
void append_text(std::string& out, Device d);

}  // namespace hw
