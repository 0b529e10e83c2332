#include "program/describe.h"

#include <algorithm>

#include "op/lod_rule.h"
#include "program/backward.h"
#include "program/infer.h"
#include "program/op_binding.h"

namespace dygraph::program {

namespace {

constexpr const char* kScopeAttr = "op_namescope";

// A level of 0 is not written down for them: Fluid writes it where the attributes keep the rows.
bool AttrsDecideLevels(const std::string& type) {
  static const std::unordered_set<std::string> types = {
      "arg_max",     "arg_min",         "concat",       "crop",
      "crop_tensor", "cross",           "expand",       "expand_as",
      "expand_v2",   "flatten",         "flatten2",     "flatten_contiguous_range",
      "flip",        "frobenius_norm",  "index_select", "logsumexp",
      "p_norm",      "reduce_all",      "reduce_any",   "reduce_max",
      "reduce_mean", "reduce_min",      "reduce_prod",  "reduce_sum",
      "reshape",     "reshape2",        "reverse",      "roll",
      "slice",       "split",           "squeeze",      "squeeze2",
      "stack",       "take_along_axis", "tile",         "transpose",
      "transpose2",  "unbind",          "unsqueeze",    "unsqueeze2",
      "unstack"};
  return types.count(type) > 0;
}

// Gradients that keep the level of detail of what they are gradients of.
bool KeepsLevels(const std::string& type) {
  static const std::unordered_set<std::string> types = {"elementwise_add_grad",
                                                        "elementwise_sub_grad",
                                                        "elementwise_mul_grad",
                                                        "elementwise_div_grad",
                                                        "mean_grad",
                                                        "reduce_mean_grad",
                                                        "reduce_sum_grad",
                                                        "square_grad"};
  return types.count(type) > 0;
}

// Steps of a batch have a level of detail less than the batch.
int StepLevels(const std::string& type, int levels_of_x) {
  if (type == "lod_tensor_to_array") return std::max(0, levels_of_x - 1);
  return type == "array_to_lod_tensor" ? levels_of_x + 1 : 0;
}

// Levels of detail of what an operator makes with a LoD of its own; 0: it makes none.
int MadeLevels(const Block& block, const OpDesc& op) {
  auto levels = [&](const char* slot) {
    const auto* names = op.Input(slot);
    const Var* var = names && !names->empty() ? block.FindRecursive(names->front()) : nullptr;
    return var ? static_cast<int>(LevelOf(var->desc())) : 0;
  };
  auto given = [&](const char* slot) { return op.Input(slot) && !op.Input(slot)->empty(); };
  static const std::unordered_set<std::string> keeping = {"sequence_concat", "sequence_erase",
                                                          "sequence_reshape", "sequence_reverse",
                                                          "sequence_slice"};
  const std::string& type = op.type;
  if (keeping.count(type)) return std::max(1, levels("X"));
  if (type == "sequence_expand") return levels("X");
  if (type == "sequence_expand_as") return std::max(1, levels("Y"));
  if (type == "sequence_pool") return std::max(0, levels("X") - 1);
  if (type == "lod_reset") {
    const bool* append = op.FindAttr<bool>("append");
    return std::max(1, levels("Y")) + (append && *append ? levels("X") : 0);
  }
  if (type == "ctc_align") return given("InputLength") ? 0 : 1;
  return type == "im2sequence" || type == "sequence_unpad" ? 1 : 0;
}

void SetLevel(Var* var, int32_t level) {
  var->Edit([&](VarDesc& desc) {
    if (!desc.type.lod_tensor) desc.type.lod_tensor.emplace();
    desc.type.lod_tensor->lod_level = level;
  });
}

// Operators that go over ragged steps: these results have the rows of Input.
void PassSteps(Block& block, const OpDesc& op) {
  static const std::unordered_map<std::string, std::vector<std::string>> types = {
      {"gru", {"Hidden"}},
      {"lstm", {"Hidden", "Cell"}},
      {"lstmp", {"Projection", "Cell"}},
      {"rnn", {"Out"}}};
  auto found = types.find(op.type);
  if (found == types.end()) return;
  const auto* from = op.Input("Input");
  const Var* input = from && !from->empty() ? block.FindRecursive(from->front()) : nullptr;
  const int levels = input ? LevelOf(input->desc()) : 0;
  const bool padded = op.type == "rnn" && input && TensorOf(input->desc()) &&
                      TensorOf(input->desc())->dims.size() == 3;
  for (const std::string& slot : found->second) {
    const auto* names = op.Output(slot);
    Var* out = names && !names->empty() ? block.FindRecursive(names->front()) : nullptr;
    if (out && levels > 0 && !padded) SetLevel(out, levels);
  }
}

VarDesc TensorNamed(std::string name) {
  VarDesc var;
  var.name = std::move(name);
  var.type.type = VarType::Type::LOD_TENSOR;
  return var;
}

void PassLevels(Block& block, const OpDesc& op) {
  constexpr size_t kSuffix = 5;  // @GRAD
  for (const OpDesc::Var& slot : op.outputs) {
    if (slot.arguments.empty() || slot.parameter.size() <= kSuffix) continue;
    const auto* of = op.Input(slot.parameter.substr(0, slot.parameter.size() - kSuffix));
    Var* gradient = block.FindRecursive(slot.arguments[0]);
    Var* value = of && !of->empty() ? block.FindRecursive(of->front()) : nullptr;
    if (!gradient || !value || gradient->desc().type.type != VarType::Type::LOD_TENSOR) continue;
    SetLevel(gradient, LevelOf(value->desc()));
  }
}

// A gradient has the shape of its variable, where its operator's rule knows none: elements of
// arrays.
void ShapeAsForward(Block& block, Var* gradient) {
  const std::string& name = gradient->desc().name;
  const size_t end = name.find("@GRAD");
  const Var* of = end == std::string::npos ? nullptr : block.FindRecursive(name.substr(0, end));
  if (!of) return;
  const VarType::TensorDesc *made = TensorOf(gradient->desc()), *like = TensorOf(of->desc());
  if (!made || !like || !made->dims.empty() || like->dims.empty() ||
      gradient->desc().type.type != of->desc().type.type)
    return;
  const std::vector<int64_t> dims = like->dims;
  gradient->Edit([&](VarDesc& desc) {
    if (desc.type.lod_tensor) desc.type.lod_tensor->tensor.dims = dims;
  });
}

// A variable of the shape and type of another one.
void DeclareLike(Block& block, const std::string& name, const std::string& like, const Block& there,
                 const std::string& line) {
  Var* var = block.Find(name);
  if (!var) var = &block.Declare(MakeRef<Var>(TensorNamed(name)));
  if (const Var* of = there.FindRecursive(like)) {
    var->Edit([&](VarDesc& desc) {
      desc.type = of->desc().type;
      desc.persistable = false;
    });
  }
  var->made_at = line;
  var->set_stop_gradient(false);
}

// The block of a gradient operator, written into the program behind all others.
void AppendBlock(Block& around, const OpRef& made, const std::string& line) {
  const std::shared_ptr<GradientBlock> body = std::exchange(made->brings, nullptr);
  Program& program = *around.program();
  const OpDesc& op = made->desc();
  for (const OpDesc::Var& slot : op.outputs) {
    const char* named = slot.parameter == "Restored"    ? "restored"
                        : slot.parameter == "Last@GRAD" ? "last"
                                                        : nullptr;
    const auto* of = named ? op.FindAttr<std::vector<std::string>>(named)
                           : op.Input(slot.parameter.substr(0, slot.parameter.size() - 5));
    for (size_t i = 0; of && i < slot.arguments.size(); ++i) {
      const Var* known = around.FindRecursive(slot.arguments[i]);
      const bool typed =
          known && (known->desc().type.lod_tensor || known->desc().type.tensor_array);
      if (slot.arguments[i] != kEmptyName && !typed)
        DeclareLike(around, slot.arguments[i], of->at(i), around, line);
    }
  }
  Block& block = program.CreateBlock(around.idx(), body->forward_block);
  const Block& forward = *program.blocks()[body->forward_block];
  for (const auto& [name, like] : body->given) DeclareLike(block, name, like, forward, line);
  for (GradientBlock::Made& each : body->ops) {
    OpRef inner = MakeRef<Op>(std::move(each.op));
    inner->brings = std::move(each.block);
    ForNames(inner->desc().outputs, [&](const std::string& name) {
      if (!body->outside.count(name) && !block.Find(name))
        block.Declare(MakeRef<Var>(TensorNamed(name))).made_at = line;
    });
    const Op* source = each.forward < 0 ? nullptr : forward.ops().at(each.forward).get();
    AppendGradient(block, inner, source, line);
  }
  made->Edit().SetAttr("sub_block", BlockIndex{block.idx()});
}

}  // namespace

Hints& TheHints() {
  static Hints hints;
  return hints;
}

void Mark(const Program& program, std::vector<std::string> lines, const OpDesc* like, OpDesc* op) {
  const Marks& marks = program.marks;
  const std::string* scope = &marks.name_scope;
  if (like) {
    if (const auto* found = like->FindAttr<std::string>(kScopeAttr)) scope = found;
    if (const auto* stack = like->FindAttr<std::vector<std::string>>(kCallstackAttr))
      lines = *stack;
  }
  op->SetAttr("op_role", marks.role);
  op->SetAttr("op_role_var", marks.role_var);
  op->SetAttr(kScopeAttr, *scope);
  op->SetAttr("op_device", marks.device);
  op->SetAttr(kCallstackAttr, std::move(lines));
  auto hints = TheHints().find(op->type);
  if (hints == TheHints().end()) return;
  for (const OpDesc::Attr& hint : hints->second) {
    if (!op->FindAttr(hint.name)) op->attrs.push_back(hint);
  }
}

void InferInto(Block& block, const OpDesc& op) {
  const auto* x = op.Input("X");
  Var* first = x && !x->empty() ? block.FindRecursive(x->front()) : nullptr;
  const int levels_of_x = first ? LevelOf(first->desc()) : 0;
  InferShapes(
      op,
      [&](const std::string& name) -> const VarDesc* {
        Var* var = block.FindRecursive(name);
        return var ? &var->desc() : nullptr;
      },
      [&](const std::string& name, const Value& value, int levels) {
        Var* var = block.FindRecursive(name);
        if (!var) return;
        levels += StepLevels(op.type, levels_of_x);
        var->Edit([&](VarDesc& desc) {
          Describe(value, &desc);
          if (levels > 0 && desc.type.tensor_array) desc.type.tensor_array->lod_level = levels;
          if (levels > 0 && desc.type.lod_tensor) desc.type.lod_tensor->lod_level = levels;
        });
      });
}

VarRef DeclareResult(Block& block, const Value& value, std::string name) {
  VarDesc desc = TensorNamed(std::move(name));
  Describe(value, &desc);
  desc.persistable = false;
  VarRef var = MakeRef<Var>(std::move(desc));
  block.Declare(var);
  return var;
}

void InferLevels(Block& block, const OpInfo& info, const OpDesc& op,
                 const std::vector<VarRef>& made) {
  PassSteps(block, op);
  const int own = MadeLevels(block, op);
  if (own > 0 && !made.empty()) return SetLevel(made.front().get(), own);
  if (info.lod_from < 0) return;
  bool ragged = false;
  for (int slot : LoDSlots(info)) {
    const auto* from = op.Input(info.inputs[slot].name);
    for (size_t i = 0; from && i < from->size(); ++i) {
      Var* source = block.FindRecursive((*from)[i]);
      ragged |= source && LevelOf(source->desc()) > 0;
    }
  }
  const auto* first = op.Input(info.inputs[info.lod_from].name);
  if (!first || first->empty()) return;
  if (!AttrsDecideLevels(op.type)) {
    for (const VarRef& var : made) {
      if (var->desc().type.type == VarType::Type::LOD_TENSOR) SetLevel(var.get(), 0);
    }
  }
  if (ragged) InferInto(block, op);
}

void CompleteGradient(Block& block, const OpRef& made, const Op* source, const std::string& line) {
  if (made->brings) AppendBlock(block, made, line);
  const OpDesc& op = made->desc();
  std::vector<Var*> written;
  ForNames(op.outputs, [&](const std::string& name) {
    Var* var = block.FindRecursive(name);
    if (!var) {
      var = &block.Declare(MakeRef<Var>(TensorNamed(name)));
      var->made_at = line;
    }
    written.push_back(var);
  });
  try {
    InferInto(block, op);
  } catch (Error& e) {
    if (source) {
      const auto* lines = source->desc().FindAttr<std::vector<std::string>>(kCallstackAttr);
      e.Append("\nin the backward pass of " + source->desc().type + ", made at " +
               (lines && !lines->empty() ? lines->back() : "an unknown line"));
    }
    throw;
  }
  if (KeepsLevels(op.type)) PassLevels(block, op);
  for (Var* var : written) ShapeAsForward(block, var);
  for (Var* var : written) var->set_stop_gradient(false);
  Mark(*block.program(), {line}, source ? &source->desc() : nullptr, &made->Edit());
}

void KeepSteps(Op& op, const std::string& steps) {
  VarDesc var;
  var.name = steps;
  var.type.type = VarType::Type::STEP_SCOPES;
  if (!op.block()->Find(steps)) op.block()->Declare(MakeRef<Var>(std::move(var)));
  OpDesc& desc = op.Edit();
  if (!desc.Output("GradSteps")) desc.outputs.push_back({"GradSteps", {}, {}});
  *desc.Output("GradSteps") = {steps};
}

void AppendGradient(Block& block, const OpRef& made, const Op* source, const std::string& line) {
  CompleteGradient(block, made, source, line);
  block.Insert(block.ops().size(), made);
}

}  // namespace dygraph::program
