// Selected rows whose numbers are ascending and distinct.
#pragma once

#include "tensor/selected_rows.h"

namespace dygraph::selected_rows {

template <class T>
Ref<SelectedRows> Merge(const SelectedRows& x) {
  return x.Merged();
}

}  // namespace dygraph::selected_rows
