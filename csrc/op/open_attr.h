// An open attribute: a variable gives its value, which the run decides. Paddle's programs name
// variables in attributes (VAR, VARS), and calls that describe a program are given its Variables
// there. An operator says in its file which of its attributes may be open:
//
//   REGISTER_OPEN_ATTRS(reduce_sum, "dim");
//
// Its gradient operators, which have the same attributes, follow. Kernels never see one: who runs
// the call reads the variables and sets the values. Shape rules, level-of-detail rules and gradient
// makers do, while a program is described: they ask IsOpen where the value matters. An open
// attribute holds numbers that no attribute else may hold, so copies of the struct are open too.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "base/span.h"
#include "op/attribute.h"
#include "tensor/tensor.h"

namespace dygraph {

class OpInfo;

inline bool IsOpen(int32_t v) { return v == std::numeric_limits<int32_t>::min(); }
inline bool IsOpen(int64_t v) { return v == std::numeric_limits<int64_t>::min(); }
bool IsOpen(double v);  // a NaN of its own
template <class T>
bool IsOpen(const std::vector<T>& list) {
  for (T v : list) {
    if (IsOpen(v)) return true;
  }
  return false;
}

// Whether the operator, or the one whose attributes it has, says so of the attribute.
bool MayBeOpen(const OpInfo& op, int field);
bool AnyMayBeOpen(const OpInfo& op);

bool IsOpen(const Attrs& attrs, int field);
// Opens it; `elements`: how long a list is.
void Open(Attrs* attrs, int field, size_t elements);
// The same where variables give it: of one variable a list has the elements, of several one each.
// InvalidArgument where their sizes, of which some may be unknown, do not fit.
void OpenFor(Attrs* attrs, int field, Span<const Tensor* const> variables);
// OutOfRange for a given value that only an open attribute may hold.
void CheckNotOpen(const Attrs& attrs, int field);
// Sets the value that the variables hold.
void SetFrom(Attrs* attrs, int field, Span<const Tensor* const> variables);

class OpenAttrsRegistration {
 public:
  OpenAttrsRegistration(const char* type, std::initializer_list<const char*> attrs);
};

}  // namespace dygraph

#define REGISTER_OPEN_ATTRS(type, ...) \
  static ::dygraph::OpenAttrsRegistration open_attrs_##type(#type, {__VA_ARGS__})
