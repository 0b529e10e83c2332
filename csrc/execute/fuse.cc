// Operators of a prepared program that become one, or end in each other's kernels: only where every
// element goes through the same arithmetic in the same order.
#include <algorithm>
#include <cstring>
#include <optional>

#include "execute/plan.h"
#include "platform/threads.h"
#include "program/op_binding.h"
#include "run/run.h"
#include "run/watch.h"

namespace dygraph::program {

namespace {

template <class List>
bool Has(const List& list, int slot) {
  return std::find(list.begin(), list.end(), slot) != list.end();
}

bool Flag(const Attrs& attrs, const char* name) {
  return std::get<bool>(attrs.Get(attrs.table().Require(name)));
}

// Attributes of `info` with the values of those that `from` has too.
Ref<Attrs> SameAttrs(const OpInfo& info, const Attrs& from) {
  Ref<Attrs> attrs = Attrs::Make(info.attr_table);
  for (size_t i = 0; i < info.attr_table.fields.size(); ++i) {
    int field = from.table().Find(info.attr_table.fields[i].name);
    if (field >= 0) attrs->Set(static_cast<int>(i), from.Get(field));
  }
  return attrs;
}

}  // namespace

// Batch normalisation that only maps X to Y, by running statistics.
bool PreparedProgram::HasFixedStatistics(const Op& norm, const std::vector<int>& readers) const {
  if (!norm.parts.empty() || norm.info->type != "batch_norm" || norm.Input("MomentumTensor") >= 0)
    return false;
  bool own = Flag(*norm.attrs, "trainable_statistics");
  if (!Flag(*norm.attrs, "use_global_stats") && (own || !Flag(*norm.attrs, "is_test")))
    return false;
  // No operator reads the other results. Running statistics may be written back as they are.
  auto unused = [&](const char* name) {
    int slot = norm.Output(name);
    return slot < 0 || (readers[slot] == 0 && !slots_[slot].persistable);
  };
  auto unused_or = [&](const char* name, const char* same) {
    return unused(name) || norm.Output(name) == norm.Input(same);
  };
  return unused("SavedMean") && unused("SavedVariance") && unused("ReserveSpace") &&
         unused_or("MeanOut", "Mean") && unused_or("VarianceOut", "Variance");
}

// It, perhaps the addition of an array of its shape, and
// relu: one pass over the memory.
bool PreparedProgram::FuseBatchNorm(size_t first, const std::vector<int>& readers) {
  constexpr size_t kFarthest = 8;  // operators that may lie between two of them
  Op& norm = ops_[first];
  if (!HasFixedStatistics(norm, readers)) return false;
  // The only operator that reads `slot`, where nothing before it writes what the parts read.
  std::vector<size_t> parts = {first};
  auto only_reader = [&](int slot) -> Op* {
    if (slot < 0 || slots_[slot].persistable || readers[slot] != 1) return nullptr;
    for (size_t i = parts.back() + 1; i < std::min(ops_.size(), parts.back() + kFarthest); ++i) {
      if (Has(ops_[i].in, slot)) {
        parts.push_back(i);
        return &ops_[i];
      }
      for (size_t part : parts) {
        for (int s : ops_[i].out) {
          if (s >= 0 && (Has(ops_[part].in, s) || Has(ops_[part].out, s))) return nullptr;
        }
      }
    }
    return nullptr;
  };
  int y = norm.Output("Y"), z = -1;
  Op* next = only_reader(y);
  if (next && next->info->type == "elementwise_add") {
    int a = next->Input("X"), b = next->Input("Y");
    z = a == y ? b : a;
    if (z == y || z < 0) return false;
    next = only_reader(next->Output("Out"));
  }
  if (!next || next->info->type != "relu") return false;
  for (size_t part : parts) {
    if (!ops_[part].parts.empty()) return false;
  }

  Op one;
  one.info = &GetOp(z < 0 ? "fused_batch_norm_act" : "fused_bn_add_activation");
  one.attrs = SameAttrs(*one.info, *norm.attrs);
  one.desc = next->desc;
  one.position = next->position;
  for (const SlotInfo& slot : one.info->inputs) {
    one.in.push_back(slot.name == "Z" ? z : norm.Input(slot.name.c_str()));
    one.in_ends.push_back(static_cast<uint32_t>(one.in.size()));
  }
  for (const SlotInfo& slot : one.info->outputs) {
    if (!slot.extra()) one.out.push_back(slot.name == "Y" ? next->Output("Out") : -1);
    one.out_ends.push_back(static_cast<uint32_t>(one.out.size()));
  }
  for (size_t part : parts) one.parts.push_back(std::move(ops_[part]));
  size_t last = parts.back();
  ops_[last] = std::move(one);
  parts.pop_back();
  for (size_t part : parts) ops_[part].info = nullptr;  // taken out by the caller
  return true;
}

void PreparedProgram::FuseOperators() {
  std::vector<int> readers(slots_.size());
  for (const Op& op : ops_) {
    for (int s : op.in) {
      if (s >= 0) ++readers[s];
    }
  }
  for (int s : fetch_slots_) ++readers[s];
  bool any = false;
  for (size_t i = 0; i < ops_.size(); ++i) {
    if (ops_[i].info) any |= FuseBatchNorm(i, readers);
  }
  if (any) {
    auto gone = [](const Op& op) { return op.info == nullptr; };
    ops_.erase(std::remove_if(ops_.begin(), ops_.end(), gone), ops_.end());
  }
  FindEnds(readers);
}

// Operators whose steps the kernel of a convolution can do before it writes its result. The
// convolution moves down to the operator that follows it.
void PreparedProgram::FindEnds(const std::vector<int>& readers) {
  constexpr size_t kFarthest = 8;  // operators that may lie between the two
  for (size_t end = 1; end < ops_.size(); ++end) {
    Op& last = ops_[end];
    MakeEpilogue make = FindEpilogue(last.info->type);
    if (!make || (last.parts.empty() && !HasFixedStatistics(last, readers))) continue;
    const int x = last.Input("X"), y = last.Output("Y");
    if (x < 0 || y < 0 || x == y || slots_[y].persistable || slots_[x].persistable ||
        readers[x] != 1 || !last.staged.empty()) {
      continue;
    }
    // The last operator that writes x; nothing from there on may write what it reads.
    size_t first = end;
    const size_t earliest = end > kFarthest ? end - kFarthest : 0;
    while (first > earliest && !Has(ops_[first - 1].out, x)) --first;
    if (first == earliest) continue;
    --first;
    const Op& conv = ops_[first];
    if (conv.info->type != "conv2d" && conv.info->type != "depthwise_conv2d") continue;
    bool free = conv.as_end == nullptr && conv.staged.empty() && conv.Output("Output") == x;
    for (size_t i = first + 1; free && i < end; ++i) {
      for (int s : ops_[i].out) free &= s < 0 || !Has(conv.in, s);
    }
    if (!free) continue;
    std::rotate(ops_.begin() + first, ops_.begin() + first + 1, ops_.begin() + end);
    last.as_end = make;
  }
}

// Where the addition at the end is the last that reads its other array, the result may replace it,
// in programs that may be begun anew.
void PreparedProgram::FindSpentAdditions() {
  for (const Op& op : ops_) {
    if (op.info->type == "py_func" || op.info->type == "print") return;
    for (int s : op.out) {
      if (s >= 0 && slots_[s].persistable) return;
    }
  }
  for (size_t i = 1; i < ops_.size(); ++i) {
    Op& op = ops_[i];
    const int z =
        op.as_end && op.info->type == "fused_bn_add_activation" ? op.Input("Z") : -1;
    if (z >= 0 && Has(op.done, z) && !Has(ops_[i - 1].in, z)) op.into = z;
  }
}

// The door puts a result where an input was, if the operator can and nobody else holds that memory.
void PreparedProgram::FindSpentInputs() {
  for (Op& op : ops_) {
    for (size_t pair = 0; pair < op.info->in_place.size(); ++pair) {
      auto [in_slot, out_slot] = op.info->in_place[pair];
      uint32_t in = in_slot ? op.in_ends[in_slot - 1] : 0,
               out = out_slot ? op.out_ends[out_slot - 1] : 0;
      if (in >= op.in_ends[in_slot] || out >= op.out_ends[out_slot] || op.out[out] < 0) continue;
      int slot = op.in[in];
      if (slot >= 0 && Has(op.done, slot) && op.out[out] != slot &&
          std::count(op.in.begin(), op.in.end(), slot) == 1) {
        op.reuse |= 1u << pair;
      }
    }
  }
}

// False, with nothing done, where the parts are to run: who watches wants to see each of them, and
// so does the reader of an error. The one operator adds arrays of one shape only.
bool PreparedProgram::RunAtOnce(const Op& op, Frame& frame, Bound& bound) const {
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
    e.Append(PositionText(*op.desc, op.position, 0));
    throw;
  }
  return true;
}

void PreparedProgram::RunFused(const Op& op, Frame& frame, Bound& bound,
                               RandomStreams random) const {
  if (__builtin_expect(op.parts.empty(), 1)) return RunOne(op, frame, bound, random);
  if (RunAtOnce(op, frame, bound)) return;
  for (size_t k = 0; k < op.parts.size(); ++k) RunOne(op.parts[k], frame, bound.parts[k], random);
}

size_t PreparedProgram::operators_in_kernels() {
  std::lock_guard<std::mutex> lock(mutex_);
  size_t count = 0;
  for (size_t i = 0; !idle_.empty() && i < ops_.size(); ++i)
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
bool PreparedProgram::RunToEnd(size_t i, Frame& frame, RandomStreams random) const {
  const Op &op = ops_[i], &next = ops_[i + 1];
  Bound &bound = frame.calls[i], &after = frame.calls[i + 1];
  Value &x = *frame.values[next.Input("X")], &y = *frame.values[next.Output("Y")];
  const Value* first = bound.in[0];
  Epilogue& epilogue = after.end;
  for (size_t k = 0; k < after.in.size(); ++k)
    after.call.in.flat_at(static_cast<int>(k)) = after.in[k];
  bool joins = first && first->is_tensor() && !frame.apart && watch::Switches() == 0 &&
               next.as_end(after.call, &epilogue);
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
