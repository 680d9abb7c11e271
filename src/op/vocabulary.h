// The names of attributes for graph text, from the registry.
#pragma once

#include "ir/text.h"

namespace hw {

const OpVocabulary& op_vocabulary();

}  // namespace hw
