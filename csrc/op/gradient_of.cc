#include "op/gradient_of.h"

#include "op/contexts.h"
#include "op/op_info.h"

namespace dygraph {

namespace {

int FindInput(const OpInfo& op, const std::string& name) {
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

const std::string& AttrsOwner(const OpInfo& op) {
  return op.attrs_of.empty() ? op.type : op.attrs_of;
}

const Dims* DimsAt(const Call& call, int slot, int i) {
  const Value* v = slot < 0 ? nullptr : call.in.at(slot, i);
  return v && !v->empty() ? &v->dims() : nullptr;
}

void Compare(const Call& call, int slot, int i, const Dims& must, const std::string& of) {
  const Dims* given = DimsAt(call, slot, i);
  ENFORCE(!given || *given == must, InvalidArgument, "Input(", call.op->inputs[slot].name,
          ") must have the shape of ", of, ", ", must, ", got ", *given);
}

// An X@GRAD@GRAD has the shape of X.
void CheckSecondOrder(const Call& call) {
  const OpInfo& op = *call.op;
  for (size_t s = 0; s < op.inputs.size(); ++s) {
    int second = FindInput(op, op.inputs[s].name + "@GRAD@GRAD");
    for (int i = 0; i < (second < 0 ? 0 : call.in.count(second)); ++i) {
      if (const Dims* dims = DimsAt(call, static_cast<int>(s), i)) {
        Compare(call, second, i, *dims, op.inputs[s].name);
      }
    }
  }
}

// The forward call these inputs tell of, asked for the shapes of its outputs.
void CheckAgainstRule(const Call& call, const GradientOf& link) {
  const OpInfo& forward = *link.forward;
  Call asked;
  asked.op = &forward;
  asked.attrs =
      AttrsOwner(*call.op) == AttrsOwner(forward) ? call.attrs : forward.default_attrs->data();
  DType dtype = DType::kUnset;
  for (int from : link.inputs) {
    for (int i = 0; i < (from < 0 ? 0 : call.in.count(from)); ++i) {
      const Value* v = call.in.at(from, i);
      asked.in.Push(v);
      if (v && dtype == DType::kUnset) dtype = v->dtype();
    }
    asked.in.Close();
  }
  if (forward.gradient_of) CheckGradientCall(asked);
  size_t count = 0;
  std::vector<int> counts;
  for (size_t s = 0; s < forward.outputs.size(); ++s) {
    int n = 1;
    for (int from : {link.outputs[s], link.grads[s]})
      n = from < 0 ? n : std::max(n, call.in.count(from));
    counts.push_back(n);
    count += static_cast<size_t>(n);
  }
  std::vector<Value> results(count);
  size_t flat = 0;
  for (int n : counts) {
    for (int i = 0; i < n; ++i) asked.out.Push(&results[flat++]);
    asked.out.Close();
  }
  InferContext infer(asked, true, dtype);
  forward.shape_rule(infer);
  for (size_t s = 0; s < counts.size(); ++s) {
    for (int i = 0; i < counts[s]; ++i) {
      const Value* result = asked.out.at(static_cast<int>(s), i);
      if (!result->is_tensor()) continue;  // the rule says nothing of it
      for (int from : {link.outputs[s], link.grads[s]}) {
        if (from >= 0) Compare(call, from, i, result->dims(), forward.outputs[s].name);
      }
    }
  }
}

}  // namespace

GradientOf LinkGradient(const OpInfo& op, const OpInfo& forward) {
  GradientOf link;
  link.forward = &forward;
  link.shape_follows =
      forward.shape_rule && (!forward.attr_table.size || AttrsOwner(op) == AttrsOwner(forward));
  for (const SlotInfo& s : forward.inputs) {
    link.inputs.push_back(FindInput(op, s.name));
    // A slot that may be absent and that we never see may have decided the shape.
    if (link.inputs.back() < 0) link.shape_follows = false;
  }
  for (const SlotInfo& s : forward.outputs) {
    link.outputs.push_back(FindInput(op, s.name));
    link.grads.push_back(FindInput(op, s.name + "@GRAD"));
  }
  return link;
}

void CheckGradientCall(const Call& call) {
  const GradientOf& link = *call.op->gradient_of;
  for (size_t s = 0; s < link.outputs.size(); ++s) {
    if (link.outputs[s] < 0 || link.grads[s] < 0) continue;
    for (int i = 0; i < call.in.count(link.grads[s]); ++i) {
      if (const Dims* out = DimsAt(call, link.outputs[s], i)) {
        Compare(call, link.grads[s], i, *out, link.forward->outputs[s].name);
      }
    }
  }
  CheckSecondOrder(call);
  if (!link.shape_follows) return;
  for (size_t s = 0; s < link.inputs.size(); ++s) {
    if (!link.forward->inputs[s].dispensable() && !DimsAt(call, link.inputs[s], 0)) return;
  }
  CheckAgainstRule(call, link);
}

}  // namespace dygraph
