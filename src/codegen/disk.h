// Object files on disk, found by what they were made from.
#pragma once

#include <optional>
#include <string>

namespace hw {

/// The object kept for `key`, if there is one and it is whole.
std::optional<std::string> read_kept(const std::string& key);
/// Keeps it. Whole or not at all, also with several processes; what goes wrong is passed over.
void keep(const std::string& key, const std::string& object);

}  // namespace hw
