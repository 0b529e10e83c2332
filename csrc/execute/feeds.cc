// What a run is given: types and sizes as the variables say, and sizes of one name that agree.
#include "execute/executor.h"
#include "program/describe.h"
#include "program/op_binding.h"

namespace dygraph::program {

void PreparedProgram::CheckFeed(size_t i, const Value& value) const {
  const VarDesc& var = *feed_vars_[i];
  const VarType::TensorDesc* want = TensorOf(var);
  if (!want) return;
  ENFORCE(!value.empty(), InvalidArgument, "the feed '", var.name,
          "' must hold a value, got an empty one");
  DType dtype = ElementType(var);
  ENFORCE(dtype == DType::kUnset || dtype == value.dtype(), Type, "the feed '", var.name,
          "' must be ", dtype, ", got ", value.dtype(), ". Convert with astype('", Name(dtype),
          "')");
  const Dims& dims = value.dims();
  bool fits = want->dims.size() == dims.size();
  for (size_t d = 0; fits && d < dims.size(); ++d)
    fits = want->dims[d] < 0 || want->dims[d] == dims[d];
  ENFORCE(fits, InvalidArgument, "the feed '", var.name, "' must have the shape ",
          Dims(Span<const int64_t>(want->dims.data(), want->dims.size())), " (-1: any size), got ",
          dims);
  if (!value.is_tensor() || !var.type.lod_tensor) return;
  int levels = var.type.lod_tensor->lod_level.value_or(0);
  ENFORCE(levels <= 0 || static_cast<int>(value.tensor().lod_levels().size()) == levels,
          InvalidArgument, "the feed '", var.name, "' must have ", levels,
          " levels of detail, got ", value.tensor().lod_levels().size(),
          ". Give a variable made with to_variable(array, lod=...)");
}

void PreparedProgram::NoteEqualSizes() {
  std::map<std::string, FeedAxis> first;
  for (size_t i = 0; i < feed_vars_.size(); ++i) {
    const VarType::TensorDesc* tensor = TensorOf(*feed_vars_[i]);
    for (const auto& [axis, name] : SizeNames(*feed_vars_[i])) {
      if (!tensor || static_cast<size_t>(axis) >= tensor->dims.size()) continue;
      const auto& levels = feed_vars_[i]->type.lod_tensor;
      const bool sequences = axis == 0 && levels && levels->lod_level.value_or(0) > 0;
      const FeedAxis here{i, axis, sequences};
      auto [at, is_first] = first.emplace(name, here);
      if (!is_first) equal_sizes_.push_back({at->second, here});
    }
  }
}

int64_t PreparedProgram::FeedAxis::SizeIn(const std::vector<Value>& feeds) const {
  const Value& value = feeds[feed];
  if (!sequences || !value.is_tensor()) return value.dims()[axis];
  return static_cast<int64_t>(value.tensor().lod_levels().front().size()) - 1;
}

void PreparedProgram::CheckEqualSizes(const std::vector<Value>& feeds) const {
  for (const auto& [one, other] : equal_sizes_) {
    // The second half of a program gets other feeds.
    if (one.feed >= feeds.size() || other.feed >= feeds.size()) continue;
    const int64_t size = one.SizeIn(feeds), got = other.SizeIn(feeds);
    if (__builtin_expect(size == got, 1)) continue;
    const VarDesc& var = *feed_vars_[other.feed];
    auto text = [&](const FeedAxis& at, int64_t n) {
      return "axis " + std::to_string(at.axis) + " of '" + feed_vars_[at.feed]->name + "' has " +
             std::to_string(n) + (at.sequences ? " sequences" : "");
    };
    THROW(InvalidArgument, "what is fed must agree in the size '", SizeNames(var)[other.axis],
          "', but ", text(one, size), " and ", text(other, got),
          ". Feed equal sizes, or, where they may differ, give each a name of its own by dims= "
          "when the function is captured");
  }
}

}  // namespace dygraph::program
