#include "run/run.h"

#include "op/call_checks.h"
#include "op/lod_rule.h"
#include "platform/accelerator.h"
#include "platform/device_flags.h"
#include "platform/interrupt.h"
#include "platform/onednn.h"
#include "platform/recorded_draws.h"
#include "run/fallback.h"
#include "run/generator.h"
#include "run/interpreter.h"
#include "run/transform.h"
#include "run/watch.h"

namespace dygraph {

namespace {

// One look at each input of the usual call: slots that must be filled are, and all hold plain
// tensors of the kernel's type on one place, so that nothing is to be refused or brought into
// another form. What this does not know it leaves to the functions that do.
inline bool IsUsual(const Call& call, DType* dtype, Place* place, int64_t* elements, bool* ragged) {
  const OpInfo& op = *call.op;
  Span<const Value* const> flat = call.in.flat();
  Span<const uint32_t> ends = call.in.ends();
  if (flat.empty() || ends.size() != op.inputs.size()) return false;
  uint32_t begin = 0;
  for (size_t s = 0; s < ends.size(); begin = ends[s++]) {
    if (__builtin_expect(ends[s] == begin, 0) && !op.inputs[s].dispensable()) return false;
  }
  const Value* first = flat[0];
  if (!first || !first->is_tensor()) return false;
  *place = first->tensor().place();
  if (place->kind == DeviceKind::kCUDAPinned) return false;  // the host's memory to kernels
  *dtype = first->tensor().dtype();
  if (op.kernel_dtype) {  // it may look at any input
    for (const Value* v : flat) {
      if (!v || !v->is_tensor()) return false;
    }
    *dtype = op.kernel_dtype(call);
  }
  for (const Value* v : flat) {
    if (!v || !v->is_tensor()) return false;
    const Tensor& t = v->tensor();
    if (t.dtype() != *dtype || t.layout() != Layout::kPlain || t.place() != *place) return false;
    *elements += t.numel();
    *ragged |= t.lod() != nullptr;
  }
  return true;
}

std::string RefusalOf(const Kernel& k, const Call& call, const std::string& forced) {
  if (!forced.empty() && forced != Name(k.key.library)) return "another library was asked for";
  if (k.accepts && !k.accepts(call)) return "declined by its own check of shapes and attributes";
  return "";
}

// Whether a call for which its device has no kernel is computed on the host.
bool MayFallBack(const Call& call, Place place) {
  if (place.kind != DeviceKind::kCUDA || FLAGS_host_fallback == "off") return false;
  return call.op->control == Control::kNone;
}

__attribute__((noinline)) const Kernel* ChooseSlow(const Call& call, Place place, DType dtype) {
  auto candidates = call.op->Candidates(place.kind, dtype);
  const std::string& forced = FLAGS_kernel_library;
  for (const Kernel* k : candidates) {
    if (RefusalOf(*k, call, forced).empty()) return k;
  }
  for (const Kernel* k : candidates) {  // the library asked for has none: any that fits
    if (!k->accepts || k->accepts(call)) return k;
  }
  if (MayFallBack(call, place) && !call.op->Candidates(DeviceKind::kCPU, dtype).empty())
    return ChooseSlow(call, CPUPlace(), dtype);
  ENFORCE(
      call.op->control == Control::kNone, Unimplemented,
      "the operator runs a block, so it must be in a program, got an eager call. Write the loop "
      "or the choice in Python");
  ENFORCE(!call.op->kernels.empty(), Unimplemented,
          "an operator must have kernels to be computed, got none. Register them with "
          "REGISTER_CPU_KERNEL(",
          call.op->type, ", Kernel, float, double)");
  THROW(Unimplemented, "there must be a kernel for ", dtype, " on ", place, ", got kernels for ",
        KnownTypes(*call.op, place.kind), ". Convert the inputs with astype() or move them");
}

inline const Kernel* Choose(const Call& call, Place place, DType dtype) {
  if (__builtin_expect(dtype != DType::kUnset, 1)) {
    const Kernel* sole =
        call.op->sole_kernel[static_cast<int>(place.kind)][static_cast<int>(dtype)];
    if (__builtin_expect(sole != nullptr, 1)) return sole;
  }
  return ChooseSlow(call, place, dtype);
}

// An optimizer step writes into the parameter it read, unless another tensor shares the storage.
__attribute__((noinline)) void ReuseStorage(Call& call) {
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

// The order of an output of a call whose outputs take `layout`.
__attribute__((noinline)) Layout OrderOf(const Call& call, int flat, Layout layout) {
  int rank = call.out.flat()[flat]->tensor().rank(), slot = 0;
  while (call.out.begin_of(slot) + call.out.count(slot) <= flat) ++slot;
  bool image = (rank == 4 || rank == 5) && !call.op->outputs[slot].weight();
  return image ? layout : Layout::kPlain;
}

// Gives how many elements the outputs have.
inline int64_t AllocateOutputs(Call& call, Place place, Layout layout) {
  int64_t elements = 0;
  int flat = 0;
  for (Value* out : call.out.flat()) {
    int i = flat++;
    if (!out || !out->is_tensor()) continue;
    Tensor& t = out->MutableTensor();
    elements += t.numel();
    if (t.has_data() || t.dtype() == DType::kUnset) continue;
    bool plain = __builtin_expect(layout == Layout::kPlain, 1);
    t.AllocateData(place, plain ? Layout::kPlain : OrderOf(call, i, layout));
  }
  return elements;
}

DeviceContext& ContextOf(Place place) {
  static DeviceContext& cpu = GetDeviceContext(CPUPlace());
  return place == CPUPlace() ? cpu : GetDeviceContext(place);
}

int64_t ElementsOfInputs(const Call& call) {
  int64_t n = 0;
  for (const Value* v : call.in.flat()) n += v && v->is_tensor() ? v->tensor().numel() : 0;
  return n;
}

// Runs the kernel without the interpreter's lock. It reads copies of its inputs' values, which
// share their storage: what other threads write to the variables meanwhile changes nothing.
__attribute__((noinline)) void RunUnlocked(const Kernel& kernel, KernelContext& ctx, Call& call) {
  if (call.caller) call.caller->Hold();
  SmallVector<Value, 6> values;
  Span<const Value* const> flat = call.in.flat();
  values.reserve(flat.size());
  for (size_t i = 0; i < flat.size(); ++i) {
    if (flat[i]) call.in.flat_at(static_cast<int>(i)) = &values.emplace_back(*flat[i]);
  }
  WithoutLock unlocked;
  kernel.run(ctx);
}

// FLAGS_cuda_sync: what the operator queued fails in its own call, which names it. A recording
// cannot wait.
__attribute__((noinline)) void WaitIfAsked(DeviceContext& device) {
  if (!FLAGS_cuda_sync || device.place().kind != DeviceKind::kCUDA) return;
  auto* accelerator = dynamic_cast<Accelerator*>(&device);
  if (!accelerator || !accelerator->Capturing()) device.Wait();
}

// A device only queues the work, so that there is nothing to unlock for.
inline void RunKernel(const Kernel& kernel, KernelContext& ctx, Call& call, int64_t elements) {
  if (__builtin_expect(elements >= kWorthUnlocking, 0) && Interpreter().release_lock &&
      ctx.place().kind != DeviceKind::kCUDA)
    return RunUnlocked(kernel, ctx, call);
  kernel.run(ctx);
  if (__builtin_expect(ctx.place() != CPUPlace(), 0)) WaitIfAsked(ctx.device());
}

// Shapes, memory, the kernel: of a call whose inputs have the kernel's form. `layout`: the order
// that the outputs take; `elements`: of all inputs; `ragged`: one of them may have offsets.
__attribute__((always_inline)) inline void Compute(Call& call, const Kernel& kernel, Place place,
                                                   DType dtype, Layout layout, int64_t elements,
                                                   bool ragged) {
  const OpInfo& op = *call.op;
  if (__builtin_expect(op.gradient_of && !call.from_tape, 0)) CheckGradientCall(call);
  InferContext infer(call, true, dtype);
  if (__builtin_expect(op.var_type_rule != nullptr, 0)) op.var_type_rule(infer);
  if (op.shape_rule) op.shape_rule(infer);
  if (__builtin_expect(call.reuse != 0, 0)) ReuseStorage(call);
  if (__builtin_expect(ragged, 0) && op.lod_from >= 0) PassLoD(call);
  if (op.allocates) elements += AllocateOutputs(call, place, layout);
  DeviceContext& device = ContextOf(place);
  if (__builtin_expect(place != CPUPlace(), 0)) device.Enter();
  KernelContext ctx(call, device);
  if (__builtin_expect(op.random, 0) && !call.random_given) {
    const RandomDraw draw = NextDraws(place);
    call.random_seed = draw.seed;
    call.random_stream = draw.stream;
  }
  if (__builtin_expect(call.reuse == 0 || call.from_tape, 1))
    return RunKernel(kernel, ctx, call, elements);
  interrupt::Off written_in_place;
  RunKernel(kernel, ctx, call, elements);
}

void RunAt(Call& call, const Kernel& kernel, Place place, DType dtype) {
  TransformedInputs transformed;
  Layout layout = transformed.Apply(call, kernel, place);
  Compute(call, kernel, place, dtype, layout, ElementsOfInputs(call), true);
}

// For a place without a kernel; the results go there.
__attribute__((noinline)) void RunOnHost(Call& call, const Kernel& kernel, Place place,
                                         DType dtype) {
  ENFORCE(!RecordedDraws::On(place), PreconditionNotMet,
          "what the host computes cannot be part of a graph of ", place);
  NoteFallback(call, place);
  call.queue = nullptr;  // the results are copied at once
  RunAt(call, kernel, CPUPlace(), dtype);
  MoveOutputs(call, place);
}

__attribute__((noinline)) void RunUnusual(Call& call) {
  CheckPresent(call, true);
  DType dtype = KernelDType(call);
  CheckInputs(call, dtype);
  Place place = PlaceOf(call);
  const Kernel& kernel = *Choose(call, place, dtype);
  if (__builtin_expect(kernel.key.device == place.kind, 1))
    RunAt(call, kernel, place, dtype);
  else
    RunOnHost(call, kernel, place, dtype);
}

void RunUnwatched(Call& call) {
  DType dtype;
  Place place;
  int64_t elements = 0;
  bool ragged = false;
  if (__builtin_expect(IsUsual(call, &dtype, &place, &elements, &ragged), 1)) {
    const Kernel& kernel = *Choose(call, place, dtype);
    if (__builtin_expect(kernel.key.layout != KernelLayout::kNHWC &&
                             kernel.key.device == place.kind &&
                             (place == CPUPlace() || !ReadsOnHost(*call.op)),
                         1))
      return Compute(call, kernel, place, dtype, Layout::kPlain, elements, ragged);
  }
  RunUnusual(call);
}

}  // namespace

void Run(Call& call) {
  try {
    if (__builtin_expect(watch::Switches() != 0, 0)) {
      watch::RunWatched(call, &RunUnwatched);
    } else {
      RunUnwatched(call);
    }
  } catch (...) {
    RethrowFor(*call.op);
  }
}

namespace {

// The outputs that the shape rule gives for inputs without data; false: it asks for data.
bool InferWithoutData(const Call& call, DType dtype, std::vector<Value>* outputs) {
  Call bare = call;
  std::vector<Value> inputs(call.in.flat().size());
  outputs->resize(call.out.flat().size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value* v = call.in.flat()[i];
    if (!v) continue;
    inputs[i] = Value(v->tensor().Meta());
    bare.in.flat_at(static_cast<int>(i)) = &inputs[i];
  }
  for (size_t i = 0; i < outputs->size(); ++i) {
    if (call.out.flat()[i]) bare.out.flat_at(static_cast<int>(i)) = &(*outputs)[i];
  }
  try {
    InferContext infer(bare, true, dtype);
    call.op->shape_rule(infer);
  } catch (const Error&) {
    return false;
  }
  return true;
}

// Whether a call that ran is settled, given the outputs that its shape rule promised.
bool IsSettled(const Call& call, const std::vector<Value>& promised) {
  for (size_t i = 0; i < promised.size(); ++i) {
    const Value* out = call.out.flat()[i];
    if (!out) continue;
    if (!out->is_tensor() || !promised[i].is_tensor()) return false;
    const Tensor &made = out->tensor(), &said = promised[i].tensor();
    if (!made.has_data() || made.lod() || made.dims() != said.dims() ||
        made.dtype() != said.dtype())
      return false;
  }
  return true;
}

}  // namespace

void RunNoting(Call& call, SettledCall* settled) {
  settled->kernel = nullptr;
  const OpInfo& op = *call.op;
  bool apt = watch::Switches() == 0 && op.shape_rule && !call.epilogue && !call.queue;
  for (const Value* v : call.in.flat()) apt = apt && (!v || (v->is_tensor() && !v->tensor().lod()));
  if (!apt) return Run(call);
  try {
    CheckPresent(call, true);
    DType dtype = KernelDType(call);
    CheckInputs(call, dtype);
    Place place = PlaceOf(call);
    const Kernel& kernel = *Choose(call, place, dtype);
    if (place != CPUPlace()) return Run(call);  // which a device repeats as a graph, if at all
    std::vector<const Value*> inputs(call.in.flat().begin(), call.in.flat().end());
    TransformedInputs transformed;
    Layout layout = transformed.Apply(call, kernel, place);
    const bool as_given = std::equal(inputs.begin(), inputs.end(), call.in.flat().begin());
    std::vector<Value> promised;
    apt = InferWithoutData(call, dtype, &promised);
    const int64_t elements = ElementsOfInputs(call);
    Compute(call, kernel, place, dtype, layout, elements, true);
    if (!apt || !IsSettled(call, promised)) return;
    settled->kernel = &kernel;
    settled->transforms = !as_given;
    settled->elements = elements;
    for (const Value* v : call.out.flat()) settled->elements += v ? v->tensor().numel() : 0;
  } catch (...) {
    RethrowFor(op);
  }
}

namespace {

// For RunWatched(), which takes a function of the call alone.
thread_local const SettledCall* t_settled = nullptr;

void RunSettledKernel(Call& call, const SettledCall& settled, DeviceContext& device,
                      bool has_lock) {
  KernelContext ctx(call, device);
  TransformedInputs transformed;
  if (__builtin_expect(settled.transforms, 0))
    transformed.Apply(call, *settled.kernel, device.place());
  if (!has_lock) return settled.kernel->run(ctx);
  if (__builtin_expect(call.reuse == 0 || call.from_tape, 1))
    return RunKernel(*settled.kernel, ctx, call, settled.elements);
  interrupt::Off written_in_place;
  RunKernel(*settled.kernel, ctx, call, settled.elements);
}

template <bool has_lock>
void RunSettledWatched(Call& call, const SettledCall& settled) {
  t_settled = &settled;
  watch::RunWatched(call, [](Call& watched) {
    RunSettledKernel(watched, *t_settled, ContextOf(CPUPlace()), has_lock);
  });
}

}  // namespace

void RunSettled(Call& call, const SettledCall& settled, DeviceContext& device) {
  try {
    if (__builtin_expect(watch::Switches() != 0, 0)) return RunSettledWatched<true>(call, settled);
    RunSettledKernel(call, settled, device, true);
  } catch (...) {
    RethrowFor(*call.op);
  }
}

void RunSettledUnlocked(Call& call, const SettledCall& settled, DeviceContext& device) {
  try {
    if (__builtin_expect(watch::Switches() != 0, 0)) return RunSettledWatched<false>(call, settled);
    RunSettledKernel(call, settled, device, false);
  } catch (...) {
    RethrowFor(*call.op);
  }
}

KernelChoice ExplainKernel(const Call& call) {
  KernelChoice choice;
  CheckPresent(call, true);
  DType dtype = KernelDType(call);
  CheckInputs(call, dtype);
  Place place = PlaceOf(call);
  for (const Kernel& k : call.op->kernels) {
    std::string refusal = k.key.device != place.kind ? "another place"
                          : k.key.dtype != dtype     ? "another element type"
                                                     : RefusalOf(k, call, FLAGS_kernel_library);
    choice.candidates.emplace_back(&k, refusal);
  }
  choice.chosen = ChooseSlow(call, place, dtype);
  return choice;
}

}  // namespace dygraph
