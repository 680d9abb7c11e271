// Whether ops that run now enter the tape. Rules ask when they have a fast form that cannot be differentiated again.
#pragma once

namespace hw {

bool recording();                           // false while nobody answers
void set_recording_query(bool (*query)());  // once, at load time, by the room that keeps the tape

}  // namespace hw
