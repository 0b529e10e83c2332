#include "imperative/door.h"

#include "base/standard_errors.h"
#include "imperative/tape.h"
#include "imperative/thread_state.h"
#include "imperative/transform.h"
#include "imperative/watch.h"
#include "op/call_names.h"
#include "op/lod_rule.h"
#include "op/rows_flag.h"
#include "platform/interrupt.h"
#include "platform/onednn.h"

namespace dygraph {

// The variables of a call, which other threads may drop while it runs without Python's lock. They
// are held from the moment it is released to the end of the call: the tape reads them last.
class CallInputs {
 public:
  CallInputs(ThreadState* thread, const SlotList<Variable>& in)
      : thread_(thread), outer_(thread->inputs), in_(in) {
    thread->inputs = this;
  }
  ~CallInputs() { thread_->inputs = outer_; }
  CallInputs(const CallInputs&) = delete;
  CallInputs& operator=(const CallInputs&) = delete;
  void Hold() {
    if (!held_.empty()) return;
    held_.reserve(in_.flat().size());
    for (Variable* v : in_.flat()) held_.emplace_back(v);
  }

 private:
  ThreadState* thread_;
  CallInputs* outer_;
  const SlotList<Variable>& in_;
  SmallVector<Ref<Variable>, 6> held_;
};

void AddListener(Listener* listener) { CurrentThread().listeners.push_back(listener); }

void RemoveListener(Listener* listener) {
  auto& list = CurrentThread().listeners;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i] == listener) {
      list.erase(list.begin() + i);
      return;
    }
  }
}

namespace {

// The exception in flight, with the operator's name in front. Call inside catch (...).
[[noreturn]] void RethrowFor(const OpInfo& op) {
  try {
    RethrowTyped();
  } catch (Error& e) {
    e.AddOperator(op.type);
    throw;
  }
}

void RequireSlot(const SlotInfo& slot) {
  ENFORCE(slot.dispensable(), InvalidArgument, "Input(", slot.name, ") must be given, got nothing");
}

// `runtime`: false where a program is described.
[[noreturn]] void FailKind(const Call& call, size_t slot, int i, const Value& v, bool runtime) {
  const SlotInfo& s = call.op->inputs[slot];
  if (v.empty()) {
    const std::string* name = NameOfInput(call, static_cast<int>(slot), i);
    std::string variable = name ? "the variable '" + *name + "'" : "it";
    ENFORCE(runtime, InvalidArgument, "Input(", s.name, ") must have a shape and a type, but ",
            variable, " declares none. Give create_var both");
    THROW(PreconditionNotMet, "Input(", s.name,
          ") must hold a value, but nothing has been written to ", variable,
          ". In a program, run the startup program first: exe.run(startup_program), after "
          "optimizer.minimize");
  }
  THROW(Type, "Input(", s.name, ") must be a tensor, got selected rows of shape ", v.dims(),
        ". Convert with to_dense(), or make no sparse gradient (is_sparse=False)");
}

// Required slots are filled, and variables hold something.
void CheckPresent(const Call& call, bool runtime) {
  const OpInfo& op = *call.op;
  for (size_t s = 0; s < op.inputs.size(); ++s) {
    int count = call.in.count(static_cast<int>(s));
    if (__builtin_expect(count == 0, 0)) RequireSlot(op.inputs[s]);
    for (int i = 0; i < count; ++i) {
      const Value* v = call.in.at(static_cast<int>(s), i);
      if (__builtin_expect(v && v->empty(), 0)) FailKind(call, s, i, *v, runtime);
    }
  }
}

// Of a call whose inputs are present.
DType KernelDType(const Call& call) {
  const OpInfo& op = *call.op;
  if (op.kernel_dtype) return op.kernel_dtype(call);
  for (const Value* v : call.in.flat()) {
    if (v) return v->dtype();
  }
  THROW(PreconditionNotMet,
        "the element type of a call without inputs must follow from its attributes");
}

// Variables hold something the slot takes, types agree.
void CheckInputs(const Call& call, DType dtype) {
  const OpInfo& op = *call.op;
  for (size_t s = 0; s < op.inputs.size(); ++s) {
    for (int i = 0; i < call.in.count(static_cast<int>(s)); ++i) {
      const Value* v = call.in.at(static_cast<int>(s), i);
      if (!v) continue;
      if (__builtin_expect(!v->is_tensor(), 0) && !(v->is_rows() && TakesRows(op.inputs[s])))
        FailKind(call, s, i, *v, true);
      if (__builtin_expect(v->dtype() != dtype && !op.mixed_dtypes, 0)) {
        THROW(Type, "the inputs must have one element type, ", dtype, " here, got ", v->dtype(),
              " for Input(", op.inputs[s].name, "). Convert with astype()");
      }
    }
  }
}

// One look at each input of the usual call: every slot holds one plain tensor, all of the kernel's
// type and on one place, so that nothing is to be refused or brought into another form. What this
// does not know it leaves to the functions that do.
bool IsUsual(const Call& call, DType* dtype, Place* place) {
  const OpInfo& op = *call.op;
  Span<const Value* const> flat = call.in.flat();
  Span<const uint32_t> ends = call.in.ends();
  size_t n = flat.size();
  if (n == 0 || ends.size() != n || op.inputs.size() != n) return false;
  for (size_t i = 0; i < n; ++i) {
    if (ends[i] != i + 1 || !flat[i] || !flat[i]->is_tensor()) return false;
  }
  *place = flat[0]->tensor().place();
  *dtype = op.kernel_dtype ? op.kernel_dtype(call) : flat[0]->tensor().dtype();
  for (const Value* v : flat) {
    const Tensor& t = v->tensor();
    if (t.dtype() != *dtype || t.layout() != Layout::kPlain || t.place() != *place) return false;
  }
  return true;
}

std::string RefusalOf(const Kernel& k, const Call& call, const std::string& forced) {
  if (!forced.empty() && forced != Name(k.key.library)) return "another library was asked for";
  if (k.accepts && !k.accepts(call)) return "declined by its own check of shapes and attributes";
  return "";
}

std::string KnownTypes(const OpInfo& op, DeviceKind device) {
  std::string known;
  for (const Kernel& k : op.kernels) {
    std::string name = Name(k.key.dtype);
    if (k.key.device == device && (", " + known + ",").find(" " + name + ",") == std::string::npos)
      known += (known.empty() ? "" : ", ") + name;
  }
  return known.empty() ? "no type there" : known + " only";
}

// A program may run on any device: it is refused where no kernel has the type.
void CheckKernelExists(const OpInfo& op, DType dtype) {
  if (dtype == DType::kUnset || op.kernels.empty()) return;
  for (const Kernel& k : op.kernels) {
    if (k.key.dtype == dtype) return;
  }
  THROW(Unimplemented, "there must be a kernel for ", dtype, ", got kernels for ",
        KnownTypes(op, op.kernels[0].key.device), ". Convert the inputs with layers.cast()");
}

__attribute__((noinline)) const Kernel* Choose(const Call& call, Place place, DType dtype) {
  auto candidates = call.op->Candidates(place.kind, dtype);
  const std::string& forced = FLAGS_kernel_library;
  for (const Kernel* k : candidates) {
    if (RefusalOf(*k, call, forced).empty()) return k;
  }
  for (const Kernel* k : candidates) {  // the library asked for has none: any that fits
    if (!k->accepts || k->accepts(call)) return k;
  }
  THROW(Unimplemented, "there must be a kernel for ", dtype, " on ", place, ", got kernels for ",
        KnownTypes(*call.op, place.kind), ". Convert the inputs with astype() or move them");
}

// Runs the kernel without the interpreter's lock where that pays. It reads copies of its inputs'
// values, which share their storage: what other threads write to the variables meanwhile changes
// nothing.
class Unlocked {
 public:
  explicit Unlocked(Call* call) {
    if (!Interpreter().release_lock || !WorthIt(*call)) return;
    if (CallInputs* inputs = CurrentThread().inputs) inputs->Hold();
    Span<const Value* const> flat = call->in.flat();
    values_.reserve(flat.size());
    for (size_t i = 0; i < flat.size(); ++i) {
      if (flat[i]) call->in.flat_at(static_cast<int>(i)) = &values_.emplace_back(*flat[i]);
    }
    interrupt::Postpone();
    token_ = Interpreter().release_lock();
  }
  ~Unlocked() {
    if (token_) Interpreter().acquire_lock(token_);
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  static bool WorthIt(const Call& call) {
    // about 10 us of work; handing the lock over costs 0.1 us
    constexpr int64_t kElements = 1 << 15;
    int64_t n = 0;
    for (const Value* v : call.in.flat()) n += v && v->is_tensor() ? v->tensor().numel() : 0;
    for (const Value* v : call.out.flat()) n += v && v->is_tensor() ? v->tensor().numel() : 0;
    return n >= kElements;
  }
  void* token_ = nullptr;
  SmallVector<Value, 6> values_;
};

Place PlaceOf(const Call& call, Place fallback) {
  for (const Value* v : call.in.flat()) {
    if (v && !v->empty()) return v->place();
  }
  return fallback;
}

void AllocateOutputs(Call& call, Place place, Layout layout) {
  const OpInfo& op = *call.op;
  Span<Value* const> out = call.out.flat();
  int slot = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    while (call.out.begin_of(slot) + call.out.count(slot) <= static_cast<int>(i)) ++slot;
    if (!out[i] || !out[i]->is_tensor()) continue;
    Tensor& t = out[i]->MutableTensor();
    if (t.has_data() || t.dtype() == DType::kUnset) continue;
    Layout order =
        (t.rank() == 4 || t.rank() == 5) && !op.outputs[slot].weight() ? layout : Layout::kPlain;
    t.AllocateData(place, order);
  }
}

bool IsRagged(const Call& call) {
  const Value* from = call.in.at(call.op->lod_from);
  return from && from->is_tensor() && from->tensor().lod();
}

// An optimizer step writes into the parameter it read, unless somebody else shares the storage.
void ReuseStorage(Call& call) {
  for (size_t i = 0; i < call.op->in_place.size(); ++i) {
    if (!(call.reuse >> i & 1)) continue;
    auto [in_slot, out_slot] = call.op->in_place[i];
    const Value* in = call.in.at(in_slot);
    Value* out = call.out.at(out_slot);
    if (!in || !out || !in->is_tensor() || !out->is_tensor()) continue;
    const Tensor& from = in->tensor();
    Tensor& to = out->MutableTensor();
    if (!from.OwnsStorage() || from.dims() != to.dims() || from.dtype() != to.dtype()) continue;
    from.storage()->set_plain_twin(nullptr);
    to.ShareData(from);
  }
}

DeviceContext& ContextOf(Place place) {
  static DeviceContext& cpu = GetDeviceContext(CPUPlace());
  return place == CPUPlace() ? cpu : GetDeviceContext(place);
}

void RunChosen(Call& call, Place fallback) {
  const OpInfo& op = *call.op;
  DType dtype;
  Place place;
  bool usual = IsUsual(call, &dtype, &place);
  if (!usual) {
    CheckPresent(call, true);
    dtype = KernelDType(call);
    CheckInputs(call, dtype);
    place = PlaceOf(call, fallback);
  }
  const Kernel* kernel =
      dtype == DType::kUnset
          ? nullptr
          : op.sole_kernel[static_cast<int>(place.kind)][static_cast<int>(dtype)];
  if (__builtin_expect(kernel == nullptr, 0)) kernel = Choose(call, place, dtype);
  TransformedInputs transformed;
  bool fits = usual && kernel->key.layout != KernelLayout::kNHWC;
  Layout layout = fits ? Layout::kPlain : transformed.Apply(call, *kernel, place);
  if (__builtin_expect(op.gradient_of && !call.from_tape, 0)) CheckGradientCall(call);
  InferContext infer(call, true, dtype);
  if (op.var_type_rule) op.var_type_rule(infer);
  if (op.shape_rule) op.shape_rule(infer);
  if (call.reuse) ReuseStorage(call);
  if (op.lod_from >= 0 && __builtin_expect(IsRagged(call), 0)) PassLoD(call);
  if (op.allocates) AllocateOutputs(call, place, layout);
  KernelContext ctx(call, ContextOf(place));
  if (op.random && !call.random_given) {
    call.random_seed = GeneratorSeed();
    call.random_stream = NextRandomCall();
  }
  Unlocked unlocked(&call);
  if (__builtin_expect(call.reuse == 0 || call.from_tape, 1)) return kernel->run(ctx);
  interrupt::Off written_in_place;
  kernel->run(ctx);
}

}  // namespace

void InferOutputs(Call& call) {
  const OpInfo& op = *call.op;
  try {
    CheckPresent(call, false);
    DType dtype = KernelDType(call);
    CheckInputs(call, dtype);
    CheckKernelExists(op, dtype);
    InferContext infer(call, false, dtype);
    if (op.var_type_rule) op.var_type_rule(infer);
    if (op.shape_rule) op.shape_rule(infer);
  } catch (...) {
    RethrowFor(op);
  }
}

void RunKernel(Call& call, Place place) {
  try {
    if (__builtin_expect(watch::Switches() != 0, 0)) {
      watch::Run(call, place, &RunChosen);
    } else {
      RunChosen(call, place);
    }
  } catch (...) {
    RethrowFor(*call.op);
  }
}

KernelChoice ExplainKernel(Call& call, Place fallback) {
  KernelChoice choice;
  CheckPresent(call, true);
  DType dtype = KernelDType(call);
  CheckInputs(call, dtype);
  Place place = PlaceOf(call, fallback);
  for (const Kernel& k : call.op->kernels) {
    std::string refusal = k.key.device != place.kind ? "another place"
                          : k.key.dtype != dtype     ? "another element type"
                                                     : RefusalOf(k, call, FLAGS_kernel_library);
    choice.candidates.emplace_back(&k, refusal);
  }
  choice.chosen = Choose(call, place, dtype);
  return choice;
}

namespace {

void MakeOutputs(const OpInfo& op, const Call& call, const OpOptions& options, Outputs* out) {
  int flat = 0;
  for (size_t s = 0; s < op.outputs.size(); ++s) {
    const SlotInfo& slot = op.outputs[s];
    int count = slot.extra() && !options.extras ? 0 : 1;
    if (options.counts && s < options.counts->size() && (*options.counts)[s] >= 0) {
      count = (*options.counts)[s];
      ENFORCE(count <= 1 || slot.duplicable(), InvalidArgument, "Output(", slot.name,
              ") is a single variable, got a request for ", count);
    } else if (slot.duplicable()) {
      ENFORCE(op.output_count, InvalidArgument, "the length of Output(", slot.name,
              ") does not follow from the inputs. Give it as outputs={'", slot.name, "': n}");
      count = op.output_count(static_cast<int>(s), call);
    }
    for (int i = 0; i < count; ++i, ++flat) {
      bool wanted = !options.wanted || options.wanted->Has(flat);
      out->owned.push_back(wanted ? Variable::Make() : Ref<Variable>());
      out->slots.Push(out->owned.back().get());
    }
    out->slots.Close();
  }
}

uint32_t ReusablePairs(const OpInfo& op, const SlotList<Variable>& in,
                       const SlotList<Variable>& targets) {
  uint32_t pairs = 0;
  for (size_t i = 0; i < op.in_place.size(); ++i) {
    Variable* target = targets.at(op.in_place[i].second);
    if (target && target == in.at(op.in_place[i].first)) pairs |= 1u << i;
  }
  return pairs;
}

// Outputs whose inputs wanted gradients while recording was off remember why, for the error of
// backward().
void MarkNotRecorded(const SlotList<Variable>& in, const Outputs& out) {
  static const std::string kNoGrad = "it was computed under no_grad";
  const std::string* reason = nullptr;
  for (Variable* v : in.flat()) {
    if (!v) continue;
    if (v->RequiresGrad()) {
      const std::string* layer = CurrentThread().grad_off_reason;
      reason = layer ? layer : &kNoGrad;
      break;
    }
    if (v->not_recorded) reason = v->not_recorded;
  }
  if (!reason) return;
  for (const Ref<Variable>& v : out.owned) {
    if (v) v->not_recorded = reason;
  }
}

}  // namespace

namespace {

DescribeCall g_describe = nullptr;

__attribute__((noinline)) void Describe(Call& call, const CallRecord& record, Outputs* out,
                                        const SlotList<Variable>* targets) {
  ENFORCE(g_describe, PreconditionNotMet, "no program is being described");
  InferOutputs(call);
  bool wanted = false;
  for (Variable* v : record.in.flat()) wanted |= v && v->RequiresGrad();
  for (Variable* v : record.out.flat()) {
    if (!v) continue;
    v->symbolic = true;
    if (wanted && !record.op.has_no_grad && !v->value().empty() && IsFloating(v->value().dtype()))
      v->set_stop_gradient(false);
  }
  g_describe(record, targets);
  if (!targets) return;
  size_t flat = 0;
  for (int s = 0; s < record.out.slots(); ++s) {
    for (int i = 0; i < record.out.count(s); ++i, ++flat) {
      if (Variable* target = targets->at(s, i)) out->owned[flat] = Ref<Variable>(target);
    }
  }
}

}  // namespace

void SetDescribeCall(DescribeCall describe) { g_describe = describe; }

void RunOp(const OpInfo& op, const Ref<Attrs>& attrs, const SlotList<Variable>& in, Outputs* out,
           const OpOptions& options) {
  ThreadState& thread = CurrentThread();
  Call call;
  call.op = &op;
  call.attrs = attrs->data();
  call.from_tape = options.from_tape;
  bool symbolic = thread.describing && in.flat().empty();
  call.in.Map(in, [&symbolic](Variable* v) -> const Value* {
    if (!v) return nullptr;
    symbolic |= v->symbolic;
    return &v->value();
  });
  try {
    MakeOutputs(op, call, options, out);
  } catch (...) {
    RethrowFor(op);
  }
  call.out.Map(out->slots, [](Variable* v) { return v ? &v->fresh_value() : nullptr; });
  if (__builtin_expect(symbolic, 0))
    return Describe(call, {op, attrs, in, out->slots}, out, options.targets);
  call.reuse = options.spent;
  // Listeners see the old value beside the new one.
  if (options.targets && !thread.grad_enabled && thread.listeners.empty())
    call.reuse = ReusablePairs(op, in, *options.targets);
  CallInputs inputs(&thread, in);
  RunKernel(call, thread.place);
  // Before the tape, which keeps the numbers that a recorder gives to values.
  if (__builtin_expect(!thread.listeners.empty(), 0)) {
    for (size_t i = 0; i < thread.listeners.size(); ++i) {
      thread.listeners[i]->OnCall({op, attrs, in, out->slots});
    }
  }
  if (thread.grad_enabled) {
    RecordOnTape({op, attrs, in, out->slots});
  } else {
    MarkNotRecorded(in, *out);
  }
  if (options.targets) {
    Span<Variable* const> flat = out->slots.flat();
    size_t i = 0;
    for (int s = 0; s < out->slots.slots(); ++s) {
      for (int k = 0; k < out->slots.count(s); ++k, ++i) {
        Variable* target = options.targets->at(s, k);
        if (!target || !flat[i]) continue;
        target->Become(*flat[i]);
        out->owned[i] = Ref<Variable>(target);
      }
    }
  }
}

Ref<Variable> RunUnary(const OpInfo& op, const Ref<Attrs>& attrs, Variable& x) {
  SlotList<Variable> in;
  in.Add(&x);
  Outputs out;
  RunOp(op, attrs, in, &out);
  return std::move(out.owned[0]);
}

Ref<Variable> RunBinary(const OpInfo& op, const Ref<Attrs>& attrs, Variable& x, Variable& y) {
  SlotList<Variable> in;
  in.Add(&x);
  in.Add(&y);
  Outputs out;
  RunOp(op, attrs, in, &out);
  return std::move(out.owned[0]);
}

}  // namespace dygraph
