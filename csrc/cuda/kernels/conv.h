// kernels/conv.h on the device: cuDNN.
#pragma once

#include "kernels/patch_shape.h"

namespace dygraph::kernels {

constexpr bool kConvTakesChannelsLast = true;

template <class T>
void ConvForward(const T* x, const T* filter, const T* bias, const T* residual, const ConvShape& p,
                 T* y);
template <class T>
void ConvBackwardInput(const T* dy, const T* filter, const T* bias, const ConvShape& p, T* dx);
template <class T>
void ConvBackwardFilter(const T* x, const T* dy, const ConvShape& p, T* dw);
template <class T>
void ConvBackwardBias(const T* dy, const ConvShape& p, bool of_input, T* db);

}  // namespace dygraph::kernels
