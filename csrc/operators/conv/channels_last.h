// Kernels for images with their channels last, where the loops of a device take them so. The host
// has its own, of oneDNN (conv2d_op_onednn.cc).
#pragma once

#define REGISTER_CHANNELS_LAST(type, kernel, ...) static_assert(true)
