// All operators and kernels of the process. Files register themselves while the library loads, in
// any order; the registry freezes at first use: names become numbers, kernels join their operators,
// mistakes are reported with both places.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "op/op_info.h"
#include "op/small.h"

namespace dygraph {

// NotFound with near spellings.
const OpInfo& GetOp(const std::string& type);
const OpInfo* FindOp(const std::string& type);  // nullptr when there is none
std::vector<const OpInfo*> AllOps();            // by name
std::vector<std::string> OpNames();

// Adds the registrations since the last call (plug-ins register later). Invalid ones are left out
// and thrown, each with its places in the source; the rest stays usable.
void FreezeRegistry();

class OpRegistration {
 public:
  OpRegistration(const char* type, void (*define)(OpDef&), const char* file, int line);
};

struct TypedKernel {
  DType dtype;
  KernelFn run;
};
struct KernelList {
  const TypedKernel* kernels;
  size_t count;
};

class KernelRegistration {
 public:
  // `device` is the name of a kind of device, which may be registered later.
  KernelRegistration(const char* type, const char* device, KernelLayout layout, Library library,
                     KernelList kernels, bool (*accepts)(const Call&), const char* file, int line);
  KernelRegistration(const char* type, DeviceKind device, KernelLayout layout, Library library,
                     KernelList kernels, bool (*accepts)(const Call&), const char* file, int line);
};

// Element types that a list of kernels may name in one word.
template <class... Ts>
struct Types {};
using RealTypes =
    Types<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, float16, bfloat16, float, double>;
using AllTypes = Types<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, float16, bfloat16, float,
                       double, complex64, complex128>;

// static: GCC names this function by K's bare name, so that templates of equal names in namespaces
// without a name of different files would share one of them.
template <template <class> class K, class... Ts>
static KernelList KernelsOf(Types<Ts...>) {
  static constexpr TypedKernel kKernels[] = {{DTypeOf<Ts>::value, &K<Ts>::Compute}...};
  return {kKernels, sizeof...(Ts)};
}
template <bool in_build, template <class> class K, class T, class... Ts>
static KernelList KernelsFor() {
  if constexpr (!in_build) {
    return {nullptr, 0};
  } else if constexpr (std::is_same_v<T, RealTypes> || std::is_same_v<T, AllTypes>) {
    static_assert(sizeof...(Ts) == 0, "one word for a list stands alone");
    return KernelsOf<K>(T());
  } else {
    return KernelsOf<K>(Types<T, Ts...>());
  }
}

}  // namespace dygraph

// REGISTER_OPERATOR(relu, DefineRelu);
#define REGISTER_OPERATOR(type, define)                                                           \
  [[maybe_unused]] static ::dygraph::RegistrationIf<                                              \
      ::dygraph::InBuild(#type), ::dygraph::OpRegistration> op_registration_##type(#type, define, \
                                                                                   __FILE__,      \
                                                                                   __LINE__)

// REGISTER_CPU_KERNEL(relu, ReluKernel, float, double): ReluKernel<T>::Compute(KernelContext&) for
// each T, or AllTypes. The kernel reads plain order, or either when the operator KeepsLayout().
#define REGISTER_CPU_KERNEL(type, kernel, ...)                                              \
  [[maybe_unused]] static ::dygraph::RegistrationIf<::dygraph::InBuild(#type),              \
                                                    ::dygraph::KernelRegistration>          \
      kernel_registration_##type(                                                           \
          #type, ::dygraph::DeviceKind::kCPU, ::dygraph::KernelLayout::kPlain,              \
          ::dygraph::Library::kPlain,                                                       \
          ::dygraph::KernelsFor<::dygraph::InBuild(#type), kernel, __VA_ARGS__>(), nullptr, \
          __FILE__, __LINE__)

// The same for every device of which the build has a backend: a file with this word is compiled once
// for each (csrc/cuda/pass.h).
#define REGISTER_KERNELS(type, kernel, ...) REGISTER_CPU_KERNEL(type, kernel, __VA_ARGS__)

// Element types that devices have beside those of REGISTER_KERNELS: REGISTER_DEVICE_TYPES(relu,
// ReluKernel, float16, bfloat16).
#define REGISTER_DEVICE_TYPES(type, kernel, ...) static_assert(true)

// The same for another device, layout or library, with a function that may decline a call.
#define REGISTER_KERNEL(type, device, layout, library, accepts, kernel, ...)                \
  [[maybe_unused]] static ::dygraph::RegistrationIf<::dygraph::InBuild(#type),              \
                                                    ::dygraph::KernelRegistration>          \
      kernel_registration_##type##_##library(                                               \
          #type, ::dygraph::DeviceKind::device, ::dygraph::KernelLayout::layout,            \
          ::dygraph::Library::library,                                                      \
          ::dygraph::KernelsFor<::dygraph::InBuild(#type), kernel, __VA_ARGS__>(), accepts, \
          __FILE__, __LINE__)

// REGISTER_DEVICE_KERNEL(relu, NpuPlace, ReluKernel, float): for a device registered from outside
// under that name.
#define REGISTER_DEVICE_KERNEL(type, device, kernel, ...)                                   \
  [[maybe_unused]] static ::dygraph::RegistrationIf<::dygraph::InBuild(#type),              \
                                                    ::dygraph::KernelRegistration>          \
      kernel_registration_##type##_##device(                                                \
          #type, #device, ::dygraph::KernelLayout::kPlain, ::dygraph::Library::kPlain,      \
          ::dygraph::KernelsFor<::dygraph::InBuild(#type), kernel, __VA_ARGS__>(), nullptr, \
          __FILE__, __LINE__)
