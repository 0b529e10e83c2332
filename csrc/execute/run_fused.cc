// Operators that run as one, or end in each other's kernels, as passes over the plan arranged it:
// only where every element goes through the same arithmetic in the same order.
#include <cstring>
#include <optional>

#include "execute/frame.h"
#include "platform/threads.h"
#include "program/op_binding.h"
#include "run/run.h"
#include "run/watch.h"

namespace dygraph::program {

// False, with nothing done, where the parts are to run: who watches wants to see each of them, and
// so does the reader of an error. The one operator adds arrays of one shape only.
bool PreparedProgram::RunAtOnce(const PlanOp& op, Frame& frame, Bound& bound) const {
  if (watch::Switches() != 0) return false;
  const Value &x = *frame.values[op.Input("X")], &out = *frame.values[op.Output("Y")];
  if (!x.is_tensor()) return false;
  if (op.parts.size() == 3) {  // batch_norm, elementwise_add, relu
    const Value& z = *frame.values[op.Input("Z")];
    if (!z.is_tensor() || z.dims() != x.dims()) return false;
  }
  for (size_t k = 0; k < bound.in.size(); ++k)
    bound.call.in.flat_at(static_cast<int>(k)) = bound.in[k];
  try {
    dygraph::Run(bound.call);
  } catch (Error& e) {
    bool unwritten = !out.is_tensor() || !out.tensor().has_data();  // X may be overwritten
    if (unwritten && e.kind() != ErrorKind::Interrupted) return false;
    e.Append(PositionText(*op.desc, op.position, op.block));
    throw;
  }
  return true;
}

void PreparedProgram::RunFused(const PlanOp& op, Frame& frame, Bound& bound,
                               RandomStreams random) const {
  if (__builtin_expect(op.parts.empty(), 1)) return RunOne(op, frame, bound, random);
  if (RunAtOnce(op, frame, bound)) return;
  for (size_t k = 0; k < op.parts.size(); ++k) RunOne(op.parts[k], frame, bound.parts[k], random);
}

size_t PreparedProgram::operators_in_kernels() {
  std::lock_guard<std::mutex> lock(mutex_);
  size_t count = 0;
  for (size_t i = 0; !idle_.empty() && i < plan_.ops.size(); ++i)
    count += idle_.back()->calls[i].joint == Bound::Joint::kEqual;
  return count;
}

namespace {

// 128 bits that stand for a tensor's: two results are compared without both being there.
struct Digest {
  Dims dims;
  Layout layout = Layout::kPlain;
  uint64_t a = 0x9E3779B97F4A7C15u, b = 0xC2B2AE3D27D4EB4Fu;

  explicit Digest(const Tensor& t) : dims(t.dims()), layout(t.layout()) {
    const auto* bytes = static_cast<const char*>(t.raw_data());
    for (size_t i = 0, n = t.bytes(); i < n; i += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, bytes + i, std::min(sizeof(word), n - i));
      a = (a ^ word) * 0xFF51AFD7ED558CCDu;
      a ^= a >> 32;
      b = (b + word) * 0xC4CEB9FE1A85EC53u;
      b ^= b >> 29;
    }
  }
  bool operator==(const Digest& o) const {
    return a == o.a && b == o.b && dims == o.dims && layout == o.layout;
  }
};

}  // namespace

// Operator i, and the next one with it where the kernel can. The first run of each size does both
// ways and compares. False: the next one is still to run.
bool PreparedProgram::RunToEnd(Stretch of, size_t i, Frame& frame, RandomStreams random) const {
  const PlanOp &op = of.ops[i], &next = of.ops[i + 1];
  Bound &bound = of.calls[i], &after = of.calls[i + 1];
  Value &x = *frame.values[next.Input("X")], &y = *frame.values[next.Output("Y")];
  const Value* first = bound.in[0];
  Epilogue& epilogue = after.end;
  for (size_t k = 0; k < after.in.size(); ++k)
    after.call.in.flat_at(static_cast<int>(k)) = after.in[k];
  bool joins = first && first->is_tensor() && first->place() == CPUPlace() && !frame.apart &&
               watch::Switches() == 0 && next.as_end(after.call, &epilogue);
  if (joins) {
    epilogue.state = Epilogue::State::kLeft;
    epilogue.into_added = next.into >= 0 && epilogue.added == &frame.values[next.into]->tensor() &&
                          epilogue.added->OwnsStorage();
    if (bound.joint_for != first->dims() || bound.joint_threads != NumThreads() ||
        bound.joint_into != epilogue.into_added) {
      bound.joint_for = first->dims();
      bound.joint_threads = NumThreads();
      bound.joint_into = epilogue.into_added;
      bound.joint = Bound::Joint::kUnknown;
    }
    joins = bound.joint != Bound::Joint::kApart;
  }
  if (!joins) {
    RunOne(op, frame, bound, random);
    return false;
  }
  std::optional<Digest> want;
  if (bound.joint == Bound::Joint::kUnknown) {
    RunOne(op, frame, bound, random);
    RunFused(next, frame, after, random);
    want.emplace(y.tensor());
    x = y = Value();
    for (size_t k = 0; k < after.in.size(); ++k)
      after.call.in.flat_at(static_cast<int>(k)) = after.in[k];
  }
  {
    Beside<Epilogue> beside(&bound.call.epilogue, &epilogue);
    RunOne(op, frame, bound, random);
  }
  if (epilogue.state == Epilogue::State::kDone) {
    const bool same = !want || *want == Digest(x.tensor());
    bound.joint = same ? Bound::Joint::kEqual : Bound::Joint::kApart;
    if (same) {
      y = std::exchange(x, Value());
      return true;
    }
    if (!epilogue.into_added) RunOne(op, frame, bound, random);
  } else if (epilogue.state == Epilogue::State::kLeft) {
    bound.joint = Bound::Joint::kApart;
  }
  if (epilogue.into_added && epilogue.state != Epilogue::State::kLeft) throw BeginAnew();
  return false;
}

}  // namespace dygraph::program
