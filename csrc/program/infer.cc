#include "program/infer.h"

#include <deque>

#include "op/call_checks.h"
#include "op/lod_rule.h"
#include "op/open_attr.h"
#include "program/op_binding.h"
#include "program/open_attrs.h"

namespace dygraph::program {

namespace {

// One element stands for all that the array may hold.
Value ArrayOf(const VarDesc& var) {
  Tensor element;
  if (var.type.tensor_array)
    element.SetMeta(DimsOf(var.type.tensor_array->tensor), ElementType(var));
  return Value(MakeRef<TensorArray>(std::vector<Tensor>{std::move(element)}));
}

// What an element adds to what is known of all: sizes that differ are open.
void DescribeArray(const TensorArray& array, VarType* type) {
  int32_t level = type->tensor_array ? type->tensor_array->lod_level.value_or(0) : 0;
  if (type->type != VarType::Type::LOD_TENSOR_ARRAY) {
    *type = {};
    type->type = VarType::Type::LOD_TENSOR_ARRAY;
  }
  VarType::LoDTensorArrayDesc& desc =
      type->tensor_array ? *type->tensor_array : type->tensor_array.emplace();
  desc.lod_level = level;
  if (array.dtype() == DType::kUnset) {  // the format wants some type
    if (desc.tensor.data_type == VarType::Type::UNSET)
      desc.tensor.data_type = WireType(DType::kFloat32);
    return;
  }
  desc.tensor.data_type = WireType(array.dtype());
  for (const Tensor& element : array.items) {
    if (element.dtype() == DType::kUnset) continue;
    std::vector<int64_t> dims(element.dims().begin(), element.dims().end());
    for (size_t i = 0; i < dims.size() && dims.size() == desc.tensor.dims.size(); ++i) {
      if (dims[i] != desc.tensor.dims[i]) dims[i] = -1;
    }
    desc.tensor.dims = std::move(dims);
  }
}

}  // namespace

Value ValueOf(const VarDesc& var) {
  if (var.type.type == VarType::Type::LOD_TENSOR_ARRAY) return ArrayOf(var);
  if (var.type.type == VarType::Type::LOD_RANK_TABLE)
    return Value(MakeRef<LoDRankTable>(LoDLevels{{0}}, 0));
  if (var.type.type == VarType::Type::STEP_SCOPES)
    return Value(VarKind::kSteps, MakeRef<ValueObject>());
  const VarType::TensorDesc* desc = TensorOf(var);
  if (!desc) return Value();
  Tensor tensor;
  tensor.SetMeta(DimsOf(*desc), ElementType(var));
  if (var.type.type == VarType::Type::LOD_TENSOR) return Value(std::move(tensor));
  // The number of rows is unknown; the first size is the height of the whole.
  Dims dims = tensor.dims();
  if (dims.rank() == 0) return Value();
  int64_t height = dims[0];
  dims[0] = 0;
  tensor.SetMeta(dims, tensor.dtype());
  return Value(MakeRef<SelectedRows>(std::vector<int64_t>(), height, std::move(tensor)));
}

void Describe(const Value& value, VarDesc* var) {
  if (value.empty()) return;
  if (value.kind() == VarKind::kRankTable || value.kind() == VarKind::kSteps) {
    var->type = {};
    var->type.type = value.kind() == VarKind::kSteps ? VarType::Type::STEP_SCOPES
                                                     : VarType::Type::LOD_RANK_TABLE;
    return;
  }
  if (value.is_array()) return DescribeArray(value.array(), &var->type);
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

namespace {

// A list is as long as the variables that give it say.
void MeasureOpenAttr(int field, const std::vector<std::string>& names,
                     const std::function<const VarDesc*(const std::string&)>& find, Attrs* attrs) {
  std::deque<Value> values;  // addresses stay
  std::vector<const Tensor*> tensors;
  for (const std::string& name : names) {
    const VarDesc* var = find(name);
    if (var) values.push_back(ValueOf(*var));
    ENFORCE(var && values.back().is_tensor(), NotFound, "the attribute ",
            attrs->table().fields[field].name,
            " must name a tensor of the block or of one around it, got '", name, "'");
    tensors.push_back(&values.back().tensor());
  }
  OpenFor(attrs, field, {tensors.data(), tensors.size()});
}

}  // namespace

void InferShapes(const OpDesc& desc, const std::function<const VarDesc*(const std::string&)>& find,
                 const std::function<void(const std::string&, const Value&, int levels)>& set) {
  const OpInfo& op = GetOp(desc.type);
  if (op.control != Control::kNone) return;   // their blocks say what becomes of variables
  if (IsFeed(desc) || IsFetch(desc)) return;  // what is fed is as its variable says
  try {
    CheckSlots(op, desc);
    Ref<Attrs> attrs = ReadAttrs(op, desc);
    ForOpenAttrs(op, desc, [&](int field, const OpDesc::Attr& attr, const auto& names) {
      if (attr.type() == AttrType::kVar) MeasureOpenAttr(field, names, find, attrs.get());
    });
    Call call;
    call.op = &op;
    call.attrs = attrs->data();
    std::deque<Value> values;  // addresses stay
    std::vector<const std::string*> names_in;
    std::vector<int> levels;  // of each input
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
              levels.push_back(0);
            }
            continue;
          }
          values.push_back(ValueOf(*var));
          call.in.Push(&values.back());
          names_in.push_back(&name);
          levels.push_back(LevelOf(*var));
        }
      }
      call.in.Close();
    }
    struct Result {
      const std::string* name;
      Value* value;
      int slot;
    };
    std::vector<Result> results;
    for (size_t s = 0; s < op.outputs.size(); ++s) {
      const SlotInfo& slot = op.outputs[s];
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
        results.push_back({&name, &values.back(), static_cast<int>(s)});
      }
      call.out.Close();
    }
    struct Names final : Caller {
      const std::vector<const std::string*>* list;
      const std::string* NameOf(int flat) const override { return (*list)[flat]; }
    } names;
    names.list = &names_in;
    call.caller = &names;
    InferOutputs(call);
    const Value* from = op.lod_from < 0 ? nullptr : call.in.at(op.lod_from);
    for (const Result& r : results) {
      int passed = 0;
      if (from && (from->is_array() || (from->is_tensor() && r.value->is_array()))) {
        passed = levels[call.in.begin_of(op.lod_from)];
      } else if (r.value->is_tensor()) {
        passed = PassedLevels(call, r.slot, r.value->tensor(), levels.data());
      }
      set(*r.name, *r.value, passed);
    }
  } catch (Error& e) {
    e.AddOperator(op.type);
    throw;
  }
}

}  // namespace dygraph::program
