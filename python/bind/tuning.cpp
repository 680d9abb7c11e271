// How a choice among ways is made: off, by formula, measured.
#include "kernels/tuning/tuning.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace hw::bind {

void bind_tuning(nb::module_& m) {
  m.def("tuning_mode", [] { return tuning_name(tuning()); });
  m.def("set_tuning_mode", [](const std::string& name) { set_tuning(parse_tuning(name)); });
  m.def("tuning_folder", &tuning_folder);
  m.def("clear_tuning", &clear_tuning);
  m.def("tuning_choices", [] {
    nb::list list;
    for (const TuningChoice& c : tuning_choices()) {
      nb::dict d;
      d["problem"] = c.ways;
      d["ways"] = c.names;
      d["seconds"] = c.seconds;
      d["chosen"] = c.names[c.chosen];
      d["from_disk"] = c.from_disk;
      list.append(d);
    }
    return list;
  });
}

}  // namespace hw::bind
