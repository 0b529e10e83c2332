#include "op/op_info.h"

#include <cctype>
#include <cstring>

#include "base/enforce.h"
#include "base/nearest.h"

namespace dygraph {

void FailAbsent(const Call& call, bool input, int slot, int i) {
  const SlotInfo& s = (input ? call.op->inputs : call.op->outputs)[slot];
  THROW(PreconditionNotMet, input ? "Input(" : "Output(", s.name, ")",
        i ? " number " + std::to_string(i) : std::string(),
        " must be given for the results that this call makes, got none");
}

namespace {
// X -> x, LearningRate -> learning_rate, Beta1Pow -> beta1_pow, X@GRAD -> x_grad.
std::string PythonName(const std::string& slot) {
  std::string name;
  for (size_t i = 0; i < slot.size(); ++i) {
    char c = slot[i];
    if (c == '@') {
      name += '_';
      continue;
    }
    bool upper = std::isupper(static_cast<unsigned char>(c));
    if (upper && i > 0 && slot[i - 1] != '@' &&
        !std::isupper(static_cast<unsigned char>(slot[i - 1])))
      name += '_';
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

int FindSlot(const std::vector<SlotInfo>& slots, const std::string& name, const char* what) {
  std::vector<std::string> names;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].name == name) return static_cast<int>(i);
    names.push_back(slots[i].name);
  }
  THROW(NotFound, "there must be an ", what, " slot of the given name, got '", name, "'.",
        DidYouMeanOrAll(name, names));
}

void AddSlot(const OpInfo& op, std::vector<SlotInfo>* slots, int index, const char* name,
             const char* help, int flags) {
  ENFORCE(index == static_cast<int>(slots->size()), PreconditionNotMet, "slot ", name,
          " of operator ", op.type, " is declared as number ", index, ", but it is number ",
          slots->size());
  ENFORCE(slots->size() < static_cast<size_t>(kMaxSlots), PreconditionNotMet, "operator ", op.type,
          " has more than ", kMaxSlots, " slots of a kind");
  slots->push_back({name, PythonName(name), help, static_cast<uint16_t>(flags)});
}
}  // namespace

OpInfo::OpInfo() = default;
OpInfo::~OpInfo() = default;

int OpInfo::InputSlot(const std::string& name) const { return FindSlot(inputs, name, "input"); }
int OpInfo::OutputSlot(const std::string& name) const { return FindSlot(outputs, name, "output"); }

std::vector<const Kernel*> OpInfo::Candidates(DeviceKind device, DType dtype) const {
  std::vector<const Kernel*> found;
  for (const Kernel& k : kernels) {
    if (k.key.device == device && k.key.dtype == dtype) found.push_back(&k);
  }
  return found;
}

OpDef& OpDef::SetExample(const char* text) {
  info_.example = text;
  return *this;
}

OpDef& OpDef::SetComment(const char* text) {
  info_.comment = text;
  return *this;
}

OpDef& OpDef::AddInput(int index, const char* name, const char* help, int flags) {
  AddSlot(info_, &info_.inputs, index, name, help, flags);
  return *this;
}

OpDef& OpDef::AddOutput(int index, const char* name, const char* help, int flags) {
  AddSlot(info_, &info_.outputs, index, name, help, flags);
  return *this;
}

OpDef& OpDef::AddAttr(AttrType type, bool is_dtype, bool is_double, uint32_t offset,
                      const char* name, const char* help) {
  info_.attr_table.fields.push_back({name, help, type, is_dtype, is_double, offset, nullptr});
  return *this;
}

OpDef& OpDef::CheckAttr(AttrCheck check) {
  info_.attr_table.fields.back().check = std::move(check);
  return *this;
}

OpDef& OpDef::InPlace(int in, int out) {
  info_.in_place.emplace_back(in, out);
  return *this;
}

OpDef& OpDef::MayShare(int in, int out) {
  info_.may_share.emplace_back(in, out);
  return *this;
}

OpDef& OpDef::AttrsOf(const char* forward_type) {
  info_.attrs_of = forward_type;
  return *this;
}

}  // namespace dygraph
