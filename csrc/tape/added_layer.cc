#include "tape/added_layer.h"

#include <utility>

namespace dygraph {

namespace {

bool SameShapes(const SlotList<Variable>& a, const SlotList<Variable>& b) {
  Span<Variable* const> left = a.flat(), right = b.flat();
  if (left.size() != right.size()) return false;
  for (size_t i = 0; i < left.size(); ++i) {
    if (!left[i] || !right[i]) {
      if (left[i] || right[i]) return false;
      continue;
    }
    const Value &x = left[i]->value(), &y = right[i]->value();
    if (x.is_tensor() != y.is_tensor() || x.dims() != y.dims() || x.dtype() != y.dtype())
      return false;
  }
  return true;
}

}  // namespace

void AddedLayer::Below(EagerCall& call) { CurrentThread().added_layers->RunBelow(call); }

void AddedLayer::Below(EagerCall& call, const SlotList<Variable>& in) {
  OpOptions options = call.options;
  options.targets = nullptr;  // the door writes them, at the end of `call`
  options.spent = 0;
  options.queue = nullptr;
  options.from_tape = options.from_tape && SameShapes(in, call.in);
  Outputs out;
  RunOp(call.op, call.attrs, in, &out, options);
  call.SetResults(std::move(out));
}

void AddLayer(std::shared_ptr<AddedLayer> layer) {
  ENFORCE(layer, InvalidArgument, "AddLayer must be given a layer, got null");
  CurrentThread().added_layers->Add(std::move(layer));
}

void RemoveLayer(const AddedLayer* layer) {
  ENFORCE(CurrentThread().added_layers->Remove(layer), PreconditionNotMet,
          "RemoveLayer must be given a layer of this thread, got one that was not added or is "
          "removed. A layer is removed by the thread that added it");
}

LayerScope::~LayerScope() { CurrentThread().added_layers->Remove(layer_.get()); }

}  // namespace dygraph
