// An operator's description, for programs, eager calls, the tape and Python.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "op/attribute.h"
#include "op/grad_builder.h"
#include "op/gradient_of.h"
#include "op/kernel.h"
#include "op/small.h"

namespace dygraph {

enum SlotFlags : uint16_t {
  kSingle = 0,
  kDuplicable = 1,    // takes a list
  kDispensable = 2,   // may be absent
  kIntermediate = 4,  // an output for the gradient only; Python does not return it
  kExtra = 8,         // an output made only on request by name
  kWeight = 16,       // stays in plain order whatever the kernel's layout
  kTakesRows = 32,    // may hold selected rows
  kShapeOnly = 64,    // in a gradient operator: the sizes and the type of an input, never its data
  kTakesArray = 128,  // may hold an array
  kTakesTable = 256,  // may hold a rank table
  kTakesSteps = 512,  // may hold the kept values of a loop's steps
  kUpdated = 1024,    // an output that a call changes: its earlier value is read
  kMayBeUnwritten = 2048,  // an input that may be empty: a block that did not run makes it
  kOnHost = 4096,          // read by the host: sizes, axes; brought there, wherever the others lie
  kWide = 8192,            // float32 where the kernel's type has 16 bits: parameters, statistics
};

struct SlotInfo {
  std::string name;
  std::string python_name;  // X -> x, LearningRate -> learning_rate
  std::string help;
  uint16_t flags = 0;
  bool duplicable() const { return flags & kDuplicable; }
  bool dispensable() const { return flags & kDispensable; }
  bool intermediate() const { return flags & kIntermediate; }
  bool extra() const { return flags & kExtra; }
  bool weight() const { return flags & kWeight; }
  bool takes_rows() const { return flags & kTakesRows; }
  bool updated() const { return flags & kUpdated; }
  bool on_host() const { return flags & kOnHost; }
  bool wide() const { return flags & kWide; }
  bool may_be_unwritten() const { return flags & kMayBeUnwritten; }
  bool Takes(VarKind kind) const {
    switch (kind) {
      case VarKind::kSelectedRows: return flags & kTakesRows;
      case VarKind::kArray: return flags & kTakesArray;
      case VarKind::kRankTable: return flags & kTakesTable;
      case VarKind::kSteps: return flags & kTakesSteps;
      default: return true;
    }
  }
};

constexpr int kMostOperators = 4096;  // with those of plug-ins
using ShapeRule = void (*)(InferContext&);
using VarTypeRule = void (*)(InferContext&);  // may turn outputs into selected rows
using KernelDTypeRule = DType (*)(const Call&);
using OutputCountRule = int (*)(int slot, const Call&);

// Operators that run the blocks of a program; they have no kernels.
enum class Control : uint8_t {
  kNone,
  kWhile,
  kCondition,
  kRecurrent,
  kWhileGrad,
  kConditionGrad,
  kRecurrentGrad,
  kSecondGrad  // of any of these three
};

class OpInfo {
 public:
  OpInfo();
  ~OpInfo();
  std::string type;
  std::string comment;       // the formula, what it does
  const char* example = "";  // a doctest
  std::vector<SlotInfo> inputs, outputs;
  AttrTable attr_table;
  Ref<Attrs> default_attrs;
  ShapeRule shape_rule = nullptr;
  VarTypeRule var_type_rule = nullptr;
  KernelDTypeRule kernel_dtype = nullptr;  // nullptr: the first input that is present
  OutputCountRule output_count = nullptr;  // length of a duplicable output
  GradMaker grad_maker = nullptr;
  Control control = Control::kNone;
  bool has_no_grad = false;  // declared: backward through it raises or stops
  // kernels take NCHW or NHWC (all 4-D and 5-D inputs alike) and give what they got
  bool keeps_layout = false;
  // also when those inputs differ in shape (pooling gradients)
  bool keeps_layout_of_any_shape = false;
  bool random = false;        // draws numbers
  bool mixed_dtypes = false;  // inputs may differ in type (label and logits, ids and table)
  bool allocates = true;      // dense outputs are allocated before the kernel; false: by the kernel
  bool one_output = false;    // a single one that every call makes; set when the registry freezes
  int lod_from = -1;          // input slot whose LoD the outputs take; -1: none
  std::vector<std::pair<int, int>> in_place;  // (input slot, output slot) that may be one variable
  // (input slot, output slot) whose storage may be shared
  std::vector<std::pair<int, int>> may_share;
  std::vector<Kernel> kernels;
  std::string attrs_of;                     // a gradient operator with its forward's attributes
  std::unique_ptr<GradientOf> gradient_of;  // set when the registry freezes; T_grad of T
  const char* file = "";
  int line = 0;
  int id = -1;  // below kMostOperators; given when the operator becomes usable, and kept

  int InputSlot(const std::string& name) const;  // NotFound with the nearest name
  int OutputSlot(const std::string& name) const;

  // Kernels of one (device, dtype), preferred first; empty when there is none.
  std::vector<const Kernel*> Candidates(DeviceKind device, DType dtype) const;

  struct RecipeCache;
  mutable std::shared_ptr<RecipeCache> recipes;
  // The one kernel for (device, dtype) if there is exactly one and it takes all calls; the usual
  // case.
  const Kernel* sole_kernel[kMaxDeviceKinds][kNumDTypes] = {};
};

// Filled in by REGISTER_OPERATOR's function.
class OpDef {
 public:
  explicit OpDef(OpInfo* info) : info_(*info) {}
  OpDef& Comment(const char* text) { return kSmall ? *this : SetComment(text); }
  // A doctest that help() shows and tests/docs/test_operator_examples.py runs. It finds `F`
  // (dygraph.functional), `to_variable`, `np` and `dygraph`.
  OpDef& Example(const char* text) { return kSmall ? *this : SetExample(text); }
  // `index` is the slot's constant in the file (kX): it must be the next one, so that constants and
  // slots agree.
  OpDef& Input(int index, const char* name, const char* help, int flags = kSingle) {
    return AddInput(index, name, kSmall ? "" : help, flags);
  }
  OpDef& Output(int index, const char* name, const char* help, int flags = kSingle) {
    return AddOutput(index, name, kSmall ? "" : help, flags);
  }
  template <class A, class M>
  OpDef& Attr(M A::* member, const char* name, const char* help) {
    BindAttrStruct<A>(&info_.attr_table);
    return AddAttr(AttrTypeOf<M>(), std::is_same_v<M, DType>, std::is_same_v<M, double>,
                   OffsetOf(member), name, kSmall ? "" : help);
  }
  template <class A, class M>
  OpDef& Attr(M A::* member, const char* name, const char* help, AttrCheck check) {
    Attr(member, name, help);
    return CheckAttr(std::move(check));
  }
  // A gradient operator has the attributes of its forward operator, whatever order the files
  // register in.
  OpDef& AttrsOf(const char* forward_type);
  // clang-format off
  OpDef& Shape(ShapeRule rule) { info_.shape_rule = rule; return *this; }
  OpDef& SameShape(int in, int out);  // Out has X's shape and type
  OpDef& VarType(VarTypeRule rule) { info_.var_type_rule = rule; return *this; }
  OpDef& KernelDType(KernelDTypeRule rule) { info_.kernel_dtype = rule; return *this; }
  OpDef& KernelDTypeOf(int in);       // the type of this slot chooses the kernel
  OpDef& OutputCount(OutputCountRule rule) { info_.output_count = rule; return *this; }
  OpDef& Grad(GradMaker maker) {
    if (!kSmall) info_.grad_maker = maker;
    return *this;
  }
  OpDef& NoGrad() { info_.has_no_grad = true; return *this; }
  OpDef& KeepsLayout(bool of_any_shape = false) {
    info_.keeps_layout = true;
    info_.keeps_layout_of_any_shape = of_any_shape;
    return *this;
  }
  OpDef& Random() { info_.random = true; return *this; }
  OpDef& MixedDTypes() { info_.mixed_dtypes = true; return *this; }
  OpDef& KernelAllocates() { info_.allocates = false; return *this; }
  OpDef& RunsBlock(Control control) {
    info_.control = control;
    info_.allocates = false;
    return *this;
  }
  OpDef& ShareLoD(int in) { info_.lod_from = in; return *this; }
  // clang-format on
  OpDef& InPlace(int in, int out);
  OpDef& MayShare(int in, int out);

 private:
  OpDef& SetComment(const char* text);
  OpDef& SetExample(const char* text);
  OpDef& AddInput(int index, const char* name, const char* help, int flags);
  OpDef& AddOutput(int index, const char* name, const char* help, int flags);
  OpDef& AddAttr(AttrType type, bool is_dtype, bool is_double, uint32_t offset, const char* name,
                 const char* help);
  OpDef& CheckAttr(AttrCheck check);  // of the attribute added last
  OpInfo& info_;
};

std::shared_ptr<OpInfo::RecipeCache> MakeRecipeCache();

// An attribute by name, for kernels outside the operator's file, which do not see its attribute
// struct:
//   bool trans_x = AttrOf<bool>(ctx.call(), "trans_x");
// A FLOAT may be asked for as a float or as a double.
template <class T>
T AttrOf(const Call& call, const char* name) {
  const AttrTable& table = call.op->attr_table;
  const AttrValue value = table.Get(call.attrs, table.Require(name));
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(NumberOf(value));
  } else {
    return std::get<T>(value);
  }
}

}  // namespace dygraph
