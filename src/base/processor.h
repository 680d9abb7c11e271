// The processor this process runs on.
#pragma once

#include <string>

namespace hw {

/// As the system names it, "AMD EPYC 7B13"; empty where it does not say.
const std::string& processor_name();

}  // namespace hw
