// Names and texts of errors, as the real runtime has them, and its version.
#include <cuda_runtime_api.h>

namespace {

struct ErrorText {
  cudaError_t code;
  const char *name, *text;
};
#define PRETEND_ERROR(code, text) {code, #code, text}
const ErrorText kErrors[] = {
    PRETEND_ERROR(cudaSuccess, "no error"),
    PRETEND_ERROR(cudaErrorInvalidValue, "invalid argument"),
    PRETEND_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    PRETEND_ERROR(cudaErrorInitializationError, "initialization error"),
    PRETEND_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    PRETEND_ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    PRETEND_ERROR(cudaErrorInsufficientDriver,
                  "CUDA driver version is insufficient for CUDA runtime version"),
    PRETEND_ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    PRETEND_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    PRETEND_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    PRETEND_ERROR(cudaErrorNoKernelImageForDevice,
                  "no kernel image is available for execution on the device"),
    PRETEND_ERROR(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered"),
    PRETEND_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    PRETEND_ERROR(cudaErrorNotReady, "device not ready"),
    PRETEND_ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    PRETEND_ERROR(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    PRETEND_ERROR(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    PRETEND_ERROR(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    PRETEND_ERROR(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    PRETEND_ERROR(cudaErrorAssert, "device-side assert triggered"),
    PRETEND_ERROR(cudaErrorHostMemoryAlreadyRegistered,
                  "part or all of the requested memory range is already mapped"),
    PRETEND_ERROR(cudaErrorHostMemoryNotRegistered,
                  "pointer does not correspond to a registered memory region"),
    PRETEND_ERROR(cudaErrorHardwareStackError, "hardware stack error"),
    PRETEND_ERROR(cudaErrorIllegalInstruction, "an illegal instruction was encountered"),
    PRETEND_ERROR(cudaErrorMisalignedAddress, "misaligned address"),
    PRETEND_ERROR(cudaErrorInvalidAddressSpace,
                  "operation not supported on global/shared address space"),
    PRETEND_ERROR(cudaErrorInvalidPc, "invalid program counter"),
    PRETEND_ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    PRETEND_ERROR(cudaErrorNotPermitted, "operation not permitted"),
    PRETEND_ERROR(cudaErrorNotSupported, "operation not supported"),
    PRETEND_ERROR(cudaErrorStreamCaptureUnsupported,
                  "operation not permitted when stream is capturing"),
    PRETEND_ERROR(cudaErrorStreamCaptureInvalidated,
                  "operation failed due to a previous error during capture"),
    PRETEND_ERROR(cudaErrorStreamCaptureMerge,
                  "operation would result in a merge of separate capture sequences"),
    PRETEND_ERROR(cudaErrorStreamCaptureUnmatched,
                  "capture was not ended in the same stream as it began"),
    PRETEND_ERROR(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    PRETEND_ERROR(cudaErrorStreamCaptureIsolation,
                  "dependency created on uncaptured work in another stream"),
    PRETEND_ERROR(cudaErrorStreamCaptureImplicit,
                  "operation would make the legacy stream depend on a capturing blocking stream"),
    PRETEND_ERROR(cudaErrorCapturedEvent,
                  "operation not permitted on an event last recorded in a capturing stream"),
    PRETEND_ERROR(cudaErrorStreamCaptureWrongThread,
                  "attempt to terminate a thread-local capture sequence from another thread"),
    PRETEND_ERROR(cudaErrorUnknown, "unknown error"),
};
#undef PRETEND_ERROR

}  // namespace

extern "C" {

const char* cudaGetErrorName(cudaError_t error) {
  for (const ErrorText& e : kErrors) {
    if (e.code == error) return e.name;
  }
  return "unrecognized error code";
}
const char* cudaGetErrorString(cudaError_t error) {
  for (const ErrorText& e : kErrors) {
    if (e.code == error) return e.text;
  }
  return "unrecognized error code";
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
}
