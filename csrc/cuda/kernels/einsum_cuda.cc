// kernels/einsum.h on the device: the same plan over the loops of the device.
#include "kernels/einsum.cc"
