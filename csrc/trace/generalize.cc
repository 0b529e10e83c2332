#include <cstring>

#include "program/op_binding.h"
#include "trace/recorder.h"

namespace dygraph::program {

namespace {

bool SameArguments(const std::vector<OpDesc::Var>& a, const std::vector<OpDesc::Var>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].parameter != b[i].parameter || a[i].arguments != b[i].arguments) return false;
  }
  return true;
}

using Sizes = std::vector<int64_t>;

bool Read(const OpDesc& op, Sizes* sizes) {
  if (const auto* list = op.FindAttr<std::vector<int32_t>>("shape")) {
    sizes->assign(list->begin(), list->end());
    return true;
  }
  if (const auto* list = op.FindAttr<Sizes>("shape")) {
    *sizes = *list;
    return true;
  }
  return false;
}

// Lists of sizes that differ between two recordings, written so that they follow the batch. Only in
// a backward pass, which takes over the attributes of forward calls: those were written so when
// they were recorded, or refused (`dygraph/sizes.py`).
class Opener {
 public:
  Opener(const Recording& first, const Recording& second)
      : a_(first.program.blocks[0]),
        b_(second.program.blocks[0]),
        places_a_(a_.VarPositions()),
        places_b_(b_.VarPositions()) {}

  // True where `op`, in the first recording, now makes the right shape at any batch size.
  bool Open(OpDesc* op, const OpDesc& other) const {
    Sizes one, two;
    if (!Read(*op, &one) || !Read(other, &two) || one.size() != two.size()) return false;
    const auto* role = op->FindAttr<int32_t>("op_role");
    if (!role || !(*role & 1)) return false;
    bool reshapes = op->type == "reshape2" || op->type == "reshape";
    if (reshapes || op->type == "reshape2_grad" || op->type == "reshape_grad") {
      if (!Reshape(*op, reshapes, &one, two)) return false;
    } else if (op->type == "expand_v2" || op->type == "expand_v2_grad") {
      if (!Expand(*op, &one, two)) return false;
    } else {
      return false;
    }
    if (op->FindAttr<Sizes>("shape")) {
      op->SetAttr("shape", one);
    } else {
      op->SetAttr("shape", std::vector<int32_t>(one.begin(), one.end()));
    }
    return true;
  }

 private:
  bool DimsOf(const std::string& name, Sizes* one, Sizes* two) const {
    auto a = places_a_.find(name), b = places_b_.find(name);
    if (a == places_a_.end() || b == places_b_.end()) return false;
    const auto *first = TensorOf(a_.vars[a->second]), *second = TensorOf(b_.vars[b->second]);
    if (!first || !second || first->dims.size() != second->dims.size()) return false;
    *one = first->dims;
    *two = second->dims;
    return true;
  }

  static const std::string* Sole(const std::vector<std::string>* names) {
    return names && names->size() == 1 ? &(*names)[0] : nullptr;
  }

  // 0 copies the size of X at this place, -1 is what is left over.
  bool Reshape(const OpDesc& op, bool forward, Sizes* one, const Sizes& two) const {
    Sizes in_one, in_two, out_one, out_two;
    const std::string* x = Sole(op.Input("X"));
    if (!x) x = Sole(op.Input("XShape"));
    const std::string* out = Sole(forward ? op.Output("Out") : op.Input("Out@GRAD"));
    bool known = x && DimsOf(*x, &in_one, &in_two);
    int left = -1;
    for (size_t i = 0; i < two.size(); ++i) {
      if ((*one)[i] == two[i]) continue;
      if (known && i < in_one.size() && in_one[i] == (*one)[i] && in_two[i] == two[i]) {
        (*one)[i] = 0;
      } else if (left >= 0) {
        return false;
      } else {
        left = static_cast<int>(i);
      }
    }
    if (left < 0) return true;
    for (size_t i = 0; i < two.size(); ++i) {
      if ((*one)[i] != -1) continue;
      if (!out || !DimsOf(*out, &out_one, &out_two) || i >= out_one.size()) return false;
      if (out_one[i] != out_two[i]) return false;
      (*one)[i] = out_one[i];
    }
    (*one)[left] = -1;
    return true;
  }

  // -1 keeps the size of X; axes count from the last one.
  bool Expand(const OpDesc& op, Sizes* one, const Sizes& two) const {
    Sizes in_one, in_two;
    const std::string* x = Sole(op.Input("X"));
    if (!x || !DimsOf(*x, &in_one, &in_two) || in_one.size() > two.size()) return false;
    size_t offset = two.size() - in_one.size();
    for (size_t i = 0; i < two.size(); ++i) {
      if ((*one)[i] == two[i]) continue;
      if (i < offset || in_one[i - offset] != (*one)[i] || in_two[i - offset] != two[i])
        return false;
      (*one)[i] = -1;
    }
    return true;
  }

  const BlockDesc &a_, &b_;
  std::unordered_map<std::string_view, size_t> places_a_, places_b_;
};

void CompareAttrs(OpDesc& a, const OpDesc& b, size_t index, const Opener& opener) {
  const AttrValue *one = a.FindAttr("shape"), *two = b.FindAttr("shape");
  bool opened = one && two && ToString(*one) != ToString(*two) && opener.Open(&a, b);
  for (const OpDesc::Attr& attr : a.attrs) {
    if (attr.name == kCallstackAttr || (opened && attr.name == "shape")) continue;
    const AttrValue* other = b.FindAttr(attr.name);
    if (!other && a.type != b.type) continue;  // of the operator that took its place
    std::string first = ToString(attr.value), second = other ? ToString(*other) : "nothing";
    ENFORCE(first == second, InvalidArgument, a.type, ": the attribute ", attr.name,
            " must not depend on the batch size, got ", first, " at the first size and ", second,
            " at the second", PositionText(a, index, 0),
            ". Write -1 or use an operator that reads the shape when it runs");
  }
}

void CompareOps(BlockDesc& a, const BlockDesc& b, const Opener& opener) {
  size_t count = std::min(a.ops.size(), b.ops.size());
  for (size_t i = 0; i < count; ++i) {
    bool ends = IsFetch(a.ops[i]) != IsFetch(b.ops[i]);
    const OpDesc& more = IsFetch(a.ops[i]) ? b.ops[i] : a.ops[i];
    ENFORCE(!ends, InvalidArgument, more.type,
            ": the number of operators must not depend on the batch size, got ", a.ops.size(),
            " and ", b.ops.size(), ", and this is the first one too many",
            PositionText(more, i, 0));
    ENFORCE(a.ops[i].type == b.ops[i].type, InvalidArgument, a.ops[i].type,
            ": the operators must not depend on the batch size, got ", b.ops[i].type,
            " at the second size", PositionText(a.ops[i], i, 0));
    ENFORCE(SameArguments(a.ops[i].inputs, b.ops[i].inputs) &&
                SameArguments(a.ops[i].outputs, b.ops[i].outputs),
            InvalidArgument, a.ops[i].type,
            ": what an operator reads must not depend on the batch size",
            PositionText(a.ops[i], i, 0));
    CompareAttrs(a.ops[i], b.ops[i], i, opener);
  }
  ENFORCE(a.ops.size() == b.ops.size(), InvalidArgument,
          "the number of outputs must not depend on the batch size");
}

bool SameValue(const Value& a, const Value& b) {
  if (a.kind() != b.kind() || a.dtype() != b.dtype() || a.dims() != b.dims()) return false;
  Tensor x = CopyTo(a.ToDense(), CPUPlace()).Plain(), y = CopyTo(b.ToDense(), CPUPlace()).Plain();
  return x.bytes() == 0 || x.raw_data() == y.raw_data() ||
         std::memcmp(x.raw_data(), y.raw_data(), x.bytes()) == 0;
}

// The first operator that does that to the name, for messages.
std::string FirstThat(bool (*does)(const OpDesc&, const std::string&), const BlockDesc& block,
                      const std::string& name) {
  for (size_t i = 0; i < block.ops.size(); ++i) {
    const OpDesc& op = block.ops[i];
    if (does(op, name)) return op.type + PositionText(op, i, block.idx);
  }
  return "no operator";
}

std::string ReaderOf(const BlockDesc& block, const std::string& name) {
  return FirstThat(&Reads, block, name);
}

std::string MakerOf(const BlockDesc& block, const std::string& name) {
  return FirstThat(&Writes, block, name);
}

void MergeVar(VarDesc* a, const VarDesc& b, const BlockDesc& block) {
  ENFORCE(a->type.type == b.type.type && ElementType(*a) == ElementType(b), InvalidArgument,
          "the type of '", a->name, "' must not depend on the batch size. It is made by ",
          MakerOf(block, a->name));
  auto* tensor = const_cast<VarType::TensorDesc*>(TensorOf(*a));
  if (!tensor) return;
  const std::vector<int64_t>& other = TensorOf(b)->dims;
  ENFORCE(tensor->dims.size() == other.size(), InvalidArgument, "the rank of '", a->name,
          "' must not depend on the batch size, got ", tensor->dims.size(), " and ", other.size(),
          ". It is made by ", MakerOf(block, a->name));
  for (size_t i = 0; i < other.size(); ++i) {
    if (tensor->dims[i] != other[i]) tensor->dims[i] = -1;
  }
}

}  // namespace

void FillLike(OpDesc* op, const std::string& source, int axis, int at) {
  const OpInfo& info = GetOp("fill_constant_batch_size_like");
  Ref<Attrs> attrs = Attrs::Make(info.attr_table), given = ReadAttrs(GetOp(op->type), *op);
  for (const AttrField& field : given->table().fields) {
    if (info.attr_table.Find(field.name) >= 0)
      attrs->Set(field.name, given->Get(given->table().Find(field.name)));
  }
  Sizes shape;
  const bool has_shape = Read(*op, &shape);
  ENFORCE(has_shape && at >= 0 && at < static_cast<int>(shape.size()), InvalidArgument,
          "fill_constant: the axis must be one of its shape, got ", at);
  shape[at] = -1;
  attrs->Set("shape", shape);
  attrs->Set("input_dim_idx", static_cast<int32_t>(axis));
  attrs->Set("output_dim_idx", static_cast<int32_t>(at));
  std::vector<OpDesc::Attr> bookkeeping;
  for (const OpDesc::Attr& attr : op->attrs) {
    if (given->table().Find(attr.name) < 0) bookkeeping.push_back(attr);
  }
  op->type = info.type;
  op->inputs = {{"Input", {source}, {}}};
  op->attrs.clear();
  WriteAttrs(*attrs, op);
  std::move(bookkeeping.begin(), bookkeeping.end(), std::back_inserter(op->attrs));
}

void Generalize(Recording* first, const Recording& second) {
  BlockDesc& a = first->program.blocks[0];
  const BlockDesc& b = second.program.blocks[0];
  CompareOps(a, b, Opener(*first, second));
  for (const std::string& name : first->constants) {
    auto other = second.weights.find(name);
    ENFORCE(other != second.weights.end() && SameValue(first->weights.at(name), other->second),
            InvalidArgument,
            "a value that no operator made becomes a constant of the program, and this one differs "
            "between two batch "
            "sizes, or from one call to the next. Compute it from the inputs, or pass it as an "
            "input. It is read by ",
            ReaderOf(a, name));
  }
  auto positions = b.VarPositions();
  for (VarDesc& var : a.vars) {
    auto at = positions.find(var.name);
    if (at == positions.end() || var.persistable.value_or(false)) continue;
    MergeVar(&var, b.vars[at->second], a);
  }
}

}  // namespace dygraph::program
