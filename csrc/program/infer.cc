#include "program/infer.h"

#include <deque>

#include "imperative/door.h"
#include "op/call_names.h"
#include "program/op_binding.h"

namespace dygraph::program {

Value ValueOf(const VarDesc& var) {
  const VarType::TensorDesc* desc = TensorOf(var);
  if (!desc) return Value();
  Tensor tensor;
  tensor.SetMeta(Dims(Span<const int64_t>(desc->dims.data(), desc->dims.size())), ElementType(var));
  if (var.type.type == VarType::Type::LOD_TENSOR) return Value(std::move(tensor));
  // Nobody knows how many rows; the first size is the height of the whole.
  Dims dims = tensor.dims();
  if (dims.rank() == 0) return Value();
  int64_t height = dims[0];
  dims[0] = 0;
  tensor.SetMeta(dims, tensor.dtype());
  return Value(MakeRef<SelectedRows>(std::vector<int64_t>(), height, std::move(tensor)));
}

void Describe(const Value& value, VarDesc* var) {
  if (value.empty()) return;
  VarType::TensorDesc tensor;
  tensor.data_type = WireType(value.dtype());
  tensor.dims.assign(value.dims().begin(), value.dims().end());
  VarType& type = var->type;
  if (value.is_rows()) {
    type.type = VarType::Type::SELECTED_ROWS;
    type.lod_tensor.reset();
    type.selected_rows.emplace() = std::move(tensor);
  } else {
    type.type = VarType::Type::LOD_TENSOR;
    type.selected_rows.reset();
    if (!type.lod_tensor) type.lod_tensor.emplace();
    type.lod_tensor->tensor = std::move(tensor);
  }
}

void InferShapes(const OpDesc& desc, const std::function<const VarDesc*(const std::string&)>& find,
                 const std::function<void(const std::string&, const Value&)>& set) {
  const OpInfo& op = GetOp(desc.type);
  try {
    CheckSlots(op, desc);
    Ref<Attrs> attrs = ReadAttrs(op, desc);
    Call call;
    call.op = &op;
    call.attrs = attrs->data();
    std::deque<Value> values;  // addresses stay
    std::vector<const std::string*> names_in;
    for (const SlotInfo& slot : op.inputs) {
      if (const auto* names = desc.Input(slot.name)) {
        for (const std::string& name : *names) {
          const VarDesc* var = name == kEmptyName ? nullptr : find(name);
          ENFORCE(var || name == kEmptyName, NotFound, "Input(", slot.name,
                  ") must be a variable of the block or of one around it, got '", name, "'");
          if (!var) {
            if (slot.duplicable()) {
              call.in.Push(nullptr);
              names_in.push_back(nullptr);
            }
            continue;
          }
          values.push_back(ValueOf(*var));
          call.in.Push(&values.back());
          names_in.push_back(&name);
        }
      }
      call.in.Close();
    }
    std::vector<std::pair<const std::string*, Value*>> results;
    for (const SlotInfo& slot : op.outputs) {
      const auto* names = desc.Output(slot.name);
      if (!names && !slot.extra() && !slot.duplicable()) call.out.Push(nullptr);
      for (size_t i = 0; names && i < names->size(); ++i) {
        const std::string& name = (*names)[i];
        if (name == kEmptyName) {
          call.out.Push(nullptr);
          continue;
        }
        values.emplace_back();
        call.out.Push(&values.back());
        results.emplace_back(&name, &values.back());
      }
      call.out.Close();
    }
    CallNames told({names_in.data(), names_in.size()});
    InferOutputs(call);
    for (auto [name, value] : results) set(*name, *value);
  } catch (Error& e) {
    e.AddOperator(op.type);
    throw;
  }
}

}  // namespace dygraph::program
