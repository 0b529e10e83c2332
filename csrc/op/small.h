// What a small library leaves out (cmake -DDYGRAPH_SMALL=ON): gradients and texts of help, which no
// saved model needs.
#pragma once

#include <string_view>
#include <type_traits>

namespace dygraph {

#ifdef DYGRAPH_SMALL
constexpr bool kSmall = true;
#else
constexpr bool kSmall = false;
#endif

// relu_grad, relu_grad_grad, warpctc_grad_sum; not adagrad.
constexpr bool IsGradient(std::string_view type) {
  return type.find("_grad") != std::string_view::npos;
}

// The registration of an operator that is left out is nothing, so that nothing refers to what only
// that operator runs, and the compiler drops it.
constexpr bool InBuild(std::string_view type) { return !kSmall || !IsGradient(type); }
struct NoRegistration {
  template <class... Ts>
  constexpr NoRegistration(const Ts&...) {}
};
template <bool in_build, class Registration>
using RegistrationIf = std::conditional_t<in_build, Registration, NoRegistration>;

}  // namespace dygraph
