// Calling a layer: hooks, eval mode without recording, the layers that are running.
#pragma once

#include <pybind11/pybind11.h>

namespace dygraph::python {

bool IsRecordingForced();  // inside enable_grad(), which overrides eval mode
void BindLayerCall(pybind11::module_& m);

}  // namespace dygraph::python
