// Compiled for each device.
#include "operators/channels.h"

namespace dygraph::channels {

Tensor Second(const Tensor& t, bool channels_last) {
  if (!channels_last) return t;
  const Dims& d = t.dims();
  int rank = d.rank();
  Dims dims = {d[0], d[rank - 1]};
  dims.Append(d.begin() + 1, d.end() - 1);
  Tensor out(dims, t.dtype(), t.place());
  kernels::NhwcToNchw(t.raw_data(), d[0], d[rank - 1], Numel(d, 1, rank - 1),
                      out.mutable_raw_data(), SizeOf(t.dtype()));
  return out;
}

}  // namespace dygraph::channels
