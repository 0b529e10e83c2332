// Counted references as pybind11 holds them.
#pragma once

#include <pybind11/pybind11.h>

#include "base/ref.h"
#include "python/caster.h"  // of Ref<Variable>, which is no holder

PYBIND11_DECLARE_HOLDER_TYPE(T, dygraph::Ref<T>, true)
