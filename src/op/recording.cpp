// Who knows whether ops are recorded.
#include "op/recording.h"

namespace hw {

static bool (*recording_query)() = nullptr;

bool recording() { return recording_query && recording_query(); }
void set_recording_query(bool (*query)()) { recording_query = query; }

}  // namespace hw
