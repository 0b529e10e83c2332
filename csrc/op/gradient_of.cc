#include "op/gradient_of.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "op/contexts.h"
#include "op/gradient_shapes.h"
#include "op/op_info.h"

namespace dygraph {

int FindSlot(const std::vector<SlotInfo>& slots, std::string_view name) {
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

const std::string& AttrsOwner(const OpInfo& op) {
  return op.attrs_of.empty() ? op.type : op.attrs_of;
}

namespace {

constexpr std::string_view kGrad = "@GRAD";

// X@GRAD@GRAD -> X: the gradients of a value, of every order, have its shape.
std::string_view BaseOf(std::string_view name) {
  while (name.size() > kGrad.size() && name.substr(name.size() - kGrad.size()) == kGrad)
    name.remove_suffix(kGrad.size());
  return name;
}

const OpInfo& RootOf(const OpInfo& op) {
  const OpInfo* root = &op;
  while (root->gradient_of) root = root->gradient_of->forward;
  return *root;
}

// Whose shape a slot has: input i of the root as i, output o behind the inputs, -1: neither.
int OwnerOf(const OpInfo& root, const std::string& slot) {
  std::string_view base = BaseOf(slot);
  int owner = FindSlot(root.inputs, base);
  if (owner >= 0) return owner;
  owner = FindSlot(root.outputs, base);
  return owner < 0 ? -1 : static_cast<int>(root.inputs.size()) + owner;
}

const std::string& NameOf(const OpInfo& root, int owner) {
  int inputs = static_cast<int>(root.inputs.size());
  return owner < inputs ? root.inputs[owner].name : root.outputs[owner - inputs].name;
}

using TwinTable = std::map<std::string, std::vector<ShapeTwin>>;
TwinTable& Twins() {
  static auto* table = new TwinTable;
  return *table;
}

// The forward call that a gradient call belongs to. What is not given is stood for by something of
// the same shape.
class ForwardCall {
 public:
  explicit ForwardCall(const Call& call)
      : call_(call), link_(*call.op->gradient_of), root_(RootOf(*call.op)) {
    known_ = link_.shape_follows && FillInputs();
    if (!known_) return;
    try {
      AskRule();
    } catch (Error& e) {
      e.Append(". This is a rule of " + root_.type + ", the forward call" + StandIns());
      throw;
    }
  }

  // The values that determine the shape of `owner`, as far as known.
  int CountOf(int owner) const {
    int inputs = static_cast<int>(root_.inputs.size());
    if (known_) return owner < inputs ? asked_.in.count(owner) : asked_.out.count(owner - inputs);
    int slot = Reference(owner);
    return slot < 0 ? -1 : call_.in.count(slot);
  }
  const Value* Like(int owner, int i) const {
    int inputs = static_cast<int>(root_.inputs.size());
    const Value* v = nullptr;
    if (known_) {
      v = owner < inputs ? asked_.in.at(owner, i) : asked_.out.at(owner - inputs, i);
      if (v && !v->empty()) return v;  // else the rule says nothing of it
    }
    int slot = Reference(owner);
    return slot < 0 ? nullptr : call_.in.at(slot, i);
  }
  const OpInfo& root() const { return root_; }

 private:
  // Our slot with the value itself, or else the first with a gradient of it; -1: none is given.
  int Reference(int owner) const {
    int inputs = static_cast<int>(root_.inputs.size());
    int slot = owner < inputs ? link_.inputs[owner] : link_.outputs[owner - inputs];
    if (slot >= 0 && call_.in.count(slot) > 0) return slot;
    for (size_t k = 0; k < link_.grads.size(); ++k) {
      if (link_.grads[k] == owner && call_.in.count(static_cast<int>(k)) > 0)
        return static_cast<int>(k);
    }
    return -1;
  }

  // XShape is [0] and then X's sizes.
  bool FillFromXShape(size_t s) {
    int out = FindSlot(root_.outputs, "XShape");
    if (root_.inputs[s].name != "X" || out < 0) return false;
    int slot = link_.outputs[out];
    const Value* shape = slot < 0 ? nullptr : call_.in.at(slot);
    if (!shape || !shape->is_tensor() || shape->dims().rank() < 1) return false;
    Tensor x;
    x.SetMeta(Dims(shape->dims().begin() + 1, shape->dims().end()), shape->dtype());
    x_ = Value(std::move(x));
    asked_.in.Push(&x_);
    return true;
  }

  std::string StandIns() const {
    std::string text;
    for (size_t s = 0; s < from_.size(); ++s) {
      if (from_[s] < 0) continue;
      const std::string &name = root_.inputs[s].name, &given = call_.op->inputs[from_[s]].name;
      if (name != given) text += "; " + name + " is like " + given + " here";
    }
    return text;
  }

  bool FillInputs() {
    for (size_t s = 0; s < root_.inputs.size(); ++s) {
      const SlotInfo& slot = root_.inputs[s];
      int from = Reference(static_cast<int>(s));
      if (from >= 0) {
        for (int i = 0; i < call_.in.count(from); ++i) asked_.in.Push(call_.in.at(from, i));
      } else if (!FillFromXShape(s) && !slot.dispensable()) {
        return false;
      }
      from_.push_back(from);
      asked_.in.Close();
    }
    return true;
  }

  void AskRule() {
    asked_.op = &root_;
    asked_.attrs =
        AttrsOwner(*call_.op) == AttrsOwner(root_) ? call_.attrs : root_.default_attrs->data();
    DType dtype = DType::kUnset;
    if (root_.kernel_dtype) {
      dtype = root_.kernel_dtype(asked_);
    } else {
      for (const Value* v : asked_.in.flat()) {
        if (v && dtype == DType::kUnset) dtype = v->dtype();
      }
    }
    SmallVector<int, 4> counts;
    size_t total = 0;
    for (size_t o = 0; o < root_.outputs.size(); ++o) {
      int n = 1;
      if (root_.outputs[o].duplicable()) {
        int given = Reference(static_cast<int>(root_.inputs.size() + o));
        bool follows = root_.output_count && !FindShapeTwin(root_, root_.outputs[o].name);
        n = follows     ? root_.output_count(static_cast<int>(o), asked_)
            : given < 0 ? 0
                        : call_.in.count(given);
      }
      counts.push_back(n);
      total += static_cast<size_t>(n);
    }
    results_.resize(total);
    size_t flat = 0;
    for (int n : counts) {
      for (int i = 0; i < n; ++i) asked_.out.Push(&results_[flat++]);
      asked_.out.Close();
    }
    InferContext infer(asked_, true, dtype);
    root_.shape_rule(infer);
  }

  const Call& call_;
  const GradientOf& link_;
  const OpInfo& root_;
  Call asked_;
  bool known_ = false;
  Value x_;
  SmallVector<int, 8> from_;  // by the root's input: our slot with its shape, or -1
  std::vector<Value> results_;
};

void CheckLike(const Call& call, int slot, int i, const Value& like, const std::string& of) {
  const Value* v = call.in.at(slot, i);
  if (!v || v->empty() || &like == v || like.empty()) return;
  const Dims &given = v->dims(), &must = like.dims();
  bool fits = given.size() == must.size();
  for (size_t d = 0; fits && d < must.size(); ++d) fits = must[d] == given[d] || must[d] < 0;
  bool same_type = like.dtype() == v->dtype() || like.dtype() == DType::kUnset;
  if (__builtin_expect(fits && same_type, 1)) return;
  const std::string& name = call.op->inputs[slot].name;
  std::string owner = name == of ? "that the forward call gives it, " : "of " + of + ", ";
  ENFORCE(fits, InvalidArgument, "Input(", name, ") must have the shape ", owner, must, ", got ",
          given);
  THROW(Type, "Input(", name, ") must have the element type ", owner, like.dtype(), ", got ",
        v->dtype(), ". Convert with astype()");
}

}  // namespace

ShapeTwinRegistration::ShapeTwinRegistration(const char* type, std::vector<ShapeTwin> twins) {
  Twins()[type] = std::move(twins);
}

const ShapeTwin* FindShapeTwin(const OpInfo& op, const std::string& input) {
  static const ShapeTwin kFirst{"X", "Out"};
  if (input == kFirst.missing && !op.outputs.empty() && op.outputs[0].name == kFirst.like &&
      CopiesFirstShape(op))
    return &kFirst;
  auto at = Twins().find(op.type);
  if (at == Twins().end()) return nullptr;
  for (const ShapeTwin& twin : at->second) {
    if (twin.missing == input) return &twin;
  }
  return nullptr;
}

GradientOf LinkGradient(const OpInfo& op, const OpInfo& forward) {
  const OpInfo& root = RootOf(forward);
  GradientOf link;
  link.forward = &forward;
  for (const SlotInfo& s : op.inputs) link.grads.push_back(OwnerOf(root, s.name));
  for (const SlotInfo& s : root.inputs) {
    int slot = FindSlot(op.inputs, s.name);
    const ShapeTwin* twin = slot < 0 ? FindShapeTwin(root, s.name) : nullptr;
    if (twin && !twin->like.empty()) {
      slot = FindSlot(op.inputs, twin->like);
      auto at = std::find(link.grads.begin(), link.grads.end(), OwnerOf(root, twin->like));
      if (slot < 0 && at != link.grads.end()) slot = static_cast<int>(at - link.grads.begin());
    }
    link.inputs.push_back(slot);
  }
  for (const SlotInfo& s : root.outputs) link.outputs.push_back(FindSlot(op.inputs, s.name));
  link.shape_follows =
      root.shape_rule && (!root.attr_table.size || AttrsOwner(op) == AttrsOwner(root));
  for (size_t i = 0; i < root.inputs.size(); ++i) {
    bool seen = std::find(link.grads.begin(), link.grads.end(), static_cast<int>(i)) !=
                link.grads.end();
    // A slot that may be absent and that we never see may have decided the shape.
    if (!seen && root.inputs[i].dispensable() && !FindShapeTwin(root, root.inputs[i].name))
      link.shape_follows = false;
  }
  return link;
}

void CheckGradientCall(const Call& call) {
  const OpInfo& op = *call.op;
  const GradientOf& link = *op.gradient_of;
  ForwardCall forward(call);
  auto check_count = [&](const char* side, const SlotInfo& slot, int owner, int count) {
    int must = owner < 0 ? -1 : forward.CountOf(owner);
    ENFORCE(must < 0 || count == must, InvalidArgument, side, slot.name, ") must be one for each ",
            NameOf(forward.root(), owner), " of the forward call, ", must, ", got ", count);
  };
  for (size_t k = 0; k < link.grads.size(); ++k) {
    int slot = static_cast<int>(k), owner = link.grads[k], count = call.in.count(slot);
    if (owner < 0 || count == 0) continue;
    check_count("Input(", op.inputs[k], owner, count);
    for (int i = 0; i < count; ++i) {
      if (const Value* like = forward.Like(owner, i))
        CheckLike(call, slot, i, *like, NameOf(forward.root(), owner));
    }
  }
  for (size_t k = 0; k < op.outputs.size(); ++k) {
    int count = call.out.count(static_cast<int>(k));
    if (!op.outputs[k].duplicable() || count == 0) continue;
    check_count("Output(", op.outputs[k], OwnerOf(forward.root(), op.outputs[k].name), count);
  }
}

}  // namespace dygraph
