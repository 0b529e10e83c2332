#include "execute/executor.h"

#include <algorithm>
#include <unordered_set>

#include "base/nearest.h"
#include "execute/frame.h"
#include "execute/op_times.h"
#include "execute/plan_passes.h"
#include "execute/term_order.h"
#include "platform/device_context.h"
#include "platform/profiler.h"
#include "platform/recorded_draws.h"
#include "platform/run_limit.h"
#include "program/op_binding.h"
#include "program/open_attrs.h"
#include "program/verify.h"
#include "run/generator.h"
#include "run/interpreter.h"
#include "run/run.h"

namespace dygraph::program {

namespace {

std::vector<std::string> Columns(const ProgramDesc& program, const char* type, bool feeds) {
  ENFORCE(!program.blocks.empty(), Format,
          "ProgramDesc: a program has at least one block, got none");
  std::vector<std::string> names;
  size_t count = 0;
  for (const OpDesc& op : program.blocks[0].ops) {
    if (op.type != type) continue;
    const int32_t* column = op.FindAttr<int32_t>("col");
    const auto* arguments = feeds ? op.Output("Out") : op.Input("X");
    ENFORCE(column && *column >= 0 && *column < 1000000 && arguments && arguments->size() == 1,
            Format, type, ": it must have one variable and a column of at least 0");
    if (names.size() <= static_cast<size_t>(*column)) names.resize(*column + 1);
    ENFORCE(names[*column].empty(), Format, type, ": columns must differ, got ", *column, " twice");
    names[*column] = (*arguments)[0];
    ++count;
  }
  ENFORCE(count == names.size(), Format, type, ": columns must count from 0 without gaps, got ",
          count, " operators and a largest column of ", static_cast<int64_t>(names.size()) - 1);
  return names;
}

// Streams of programs with a seed of their own and of eager calls never meet.
constexpr uint64_t kProgramStreams = uint64_t{1} << 63;

}  // namespace

std::vector<std::string> FeedNames(const ProgramDesc& program) {
  return Columns(program, "feed", true);
}
std::vector<std::string> FetchNames(const ProgramDesc& program) {
  return Columns(program, "fetch", false);
}

PreparedProgram::PreparedProgram(std::shared_ptr<const ProgramDesc> program,
                                 std::shared_ptr<Scope> scope, std::vector<std::string> feeds,
                                 std::vector<std::string> fetches, Place place,
                                 std::optional<std::string> files, Halves halves)
    : program_((Verify(*program), CheckOperators(*program), std::move(program))),
      block_(program_->blocks[0]),
      scope_(std::move(scope)),
      place_(place),
      files_(std::move(files)),
      feeds_(std::move(feeds)),
      fetches_(std::move(fetches)),
      halves_(halves) {
  GetDeviceContext(place_);  // a place whose backend is not built raises here, not at the first run
  for (const BlockDesc& block : program_->blocks) names_.push_back({block.VarPositions(), {}});
  const auto& positions = names_[0].declared;
  auto find = [&](const std::string& name, const char* what) {
    auto at = positions.find(name);
    if (at != positions.end()) return &block_.vars[at->second];
    std::vector<std::string> known;
    for (const VarDesc& v : block_.vars) known.push_back(v.name);
    THROW(InvalidArgument, what, " must be a variable of the program, got '", name, "'.",
          DidYouMean(name, known));
  };
  std::unordered_set<const VarDesc*> fed;
  for (const std::string& name : feeds_) {
    const VarDesc* var = find(name, "what is fed");
    ENFORCE(fed.insert(var).second, InvalidArgument, "a variable may be fed once, got '", name,
            "' twice");
    ENFORCE(!var->persistable.value_or(false), InvalidArgument,
            "a fed variable must not be persistable, got '", name,
            "'. Set it in the scope: scope.var('", name, "').set(array)");
    feed_vars_.push_back(var);
    feed_slots_.push_back(SlotOf(name, 0));
  }
  NoteEqualSizes();
  for (const std::string& name : fetches_) {
    find(name, "what is fetched");
    plan_.fetches.push_back(SlotOf(name, 0));
  }
  BindOperators();
  CheckReads();
  if (halves_.operators > 0) FindCarried();
  ArrangeBlocks();
  if (halves_.operators > 0) ReleaseCarried();
  if (has_blocks_) FindTermOrder(plan_);
  names_.clear();
  gradients_.clear();
}

PreparedProgram::~PreparedProgram() = default;

size_t PreparedProgram::operators() const {
  size_t count = 0;
  ForEachOp(plan_.ops, [&](const PlanOp& op) { count += op.parts.empty() ? 1 : op.parts.size(); });
  return count;
}

// Whether a gradient's block gets the variable from what the block it differentiates kept.
bool PreparedProgram::IsRestored(int gradient, const std::string& name) const {
  auto at = gradients_.find(gradient);
  if (at == gradients_.end()) return false;
  const GradientOf& of = at->second;
  return names_[of.forward].declared.count(name) || of.uses.Writes(name) ||
         IsRestored(of.forward, name);
}

// A name means the variable of the nearest block that declares it.
int PreparedProgram::SlotOf(const std::string& name, int block) {
  if (name.empty() || name == kEmptyName) return -1;
  const VarDesc* var = nullptr;
  for (int32_t at = block; at >= 0; at = program_->blocks[at].parent_idx) {
    auto found = names_[at].declared.find(name);
    if (found != names_[at].declared.end()) {
      var = &program_->blocks[at].vars[found->second];
      block = at;
      break;
    }
    if (!IsRestored(at, name)) continue;
    gradients_.at(at).restored.insert(name);
    block = at;
    break;
  }
  const bool persistable = var && var->persistable.value_or(false);
  if (persistable) block = 0;  // the scope has one of each name
  auto [at, is_new] = names_[block].slots.emplace(name, static_cast<int>(plan_.slots.size()));
  if (is_new) plan_.slots.push_back({name, persistable, block});
  return at->second;
}

namespace {

// A program chooses no files: they lie in the directory that the caller gave.
void Confine(const std::optional<std::string>& files, PlanOp* op) {
  const int within = op->info->attr_table.Find("within");
  const int path = op->info->attr_table.Find("file_path");
  if (within < 0 || path < 0) return;
  ENFORCE(files && !files->empty(), PreconditionNotMet, op->desc->type,
          ": the program must be allowed to use files, and '",
          std::get<std::string>(op->attrs->Get(path)),
          "' is one. Say in which directory it may: static.Executor(files='directory')",
          PositionText(*op->desc, op->position, op->block));
  op->attrs->Set(within, *files);
}

}  // namespace

std::vector<PlanOp> PreparedProgram::BindBlock(int block) {
  const BlockDesc& described = program_->blocks[block];
  std::vector<PlanOp> ops;
  for (size_t i = 0; i < described.ops.size(); ++i) {
    const OpDesc& desc = described.ops[i];
    if (IsFeed(desc) || IsFetch(desc)) continue;
    PlanOp op;
    op.info = &GetOp(desc.type);
    op.attrs = ReadAttrs(*op.info, desc);
    op.desc = &desc;
    op.position = static_cast<int>(i);
    op.block = block;
    Confine(files_, &op);
    if (op.info->random) op.random = random_ops_++;
    if (op.info->control != Control::kNone) {
      BindControl(&op);
      ops.push_back(std::move(op));
      continue;
    }
    for (const SlotInfo& slot : op.info->inputs) {
      if (const auto* names = desc.Input(slot.name)) {
        for (const std::string& name : *names) op.in.push_back(SlotOf(name, block));
      }
      op.in_ends.push_back(static_cast<uint32_t>(op.in.size()));
    }
    ForOpenAttrs(*op.info, desc, [&](int field, const OpDesc::Attr&, const auto& names) {
      const auto begin = static_cast<uint32_t>(op.in.size());
      for (const std::string& name : names) op.in.push_back(SlotOf(name, block));
      op.open.push_back({field, begin, static_cast<uint32_t>(op.in.size())});
    });
    for (const SlotInfo& slot : op.info->outputs) {
      const auto* names = desc.Output(slot.name);
      if (names) {
        for (const std::string& name : *names) op.out.push_back(SlotOf(name, block));
      } else if (!slot.extra() && !slot.duplicable()) {
        op.out.push_back(-1);
      }
      op.out_ends.push_back(static_cast<uint32_t>(op.out.size()));
    }
    for (int s : op.in) {
      if (EndsValues(op) && s >= 0 && !plan_.slots[s].persistable) op.done.push_back(s);
    }
    // Running means of inference stay untouched, so that threads may share them.
    bool keeps = KeepsRunningMeans(*op.info, desc);
    for (size_t pair = 0; keeps && pair < op.info->in_place.size(); ++pair) {
      auto [in_slot, out_slot] = op.info->in_place[pair];
      if (op.info->inputs[in_slot].name == "X") continue;  // normalised, not kept
      const auto *from = desc.Input(op.info->inputs[in_slot].name),
                 *to = desc.Output(op.info->outputs[out_slot].name);
      if (from && to && *from == *to) op.out[out_slot ? op.out_ends[out_slot - 1] : 0] = -1;
    }
    for (size_t pair = 0; pair < op.info->in_place.size(); ++pair) {
      auto [in_slot, out_slot] = op.info->in_place[pair];
      uint32_t in = in_slot ? op.in_ends[in_slot - 1] : 0,
               out = out_slot ? op.out_ends[out_slot - 1] : 0;
      bool same = in < op.in_ends[in_slot] && out < op.out_ends[out_slot] && op.in[in] >= 0 &&
                  op.in[in] == op.out[out];
      if (same) op.reuse |= 1u << pair;
    }
    ops.push_back(std::move(op));
  }
  return ops;
}

void PreparedProgram::BindOperators() {
  plan_.ops = BindBlock(0);
  LinkKept();
  if (halves_.operators > 0) ShadowPersistables();
  std::vector<const PlanOp*> reader(plan_.slots.size(), nullptr);  // the last one so far
  ForEachOp(plan_.ops, [&](PlanOp& op) {
    if (op.control) return;
    for (int s : op.in) {
      op.in_names.push_back(s < 0 ? nullptr : &plan_.slots[s].name);
      if (s >= 0) reader[s] = &op;
    }
    for (size_t slot = 0, k = 0; slot < op.out_ends.size(); ++slot) {
      for (; k < op.out_ends[slot]; ++k) {
        int s = op.out[k];
        if (s < 0 || op.info->outputs[slot].updated()) continue;
        if (plan_.slots[s].persistable || reader[s] == &op)
          op.staged.push_back(static_cast<int>(k));
      }
    }
  });
}

void PreparedProgram::CheckReads() const {
  std::vector<bool> written(plan_.slots.size());
  for (size_t s = 0; s < plan_.slots.size(); ++s)
    written[s] = plan_.slots[s].persistable || plan_.slots[s].block > 0;
  for (int s : feed_slots_) written[s] = true;
  for (auto [from, to] : carried_) written[to] = true;
  std::vector<bool> ended(plan_.slots.size());
  for (const PlanOp& op : plan_.ops) {
    // What a block writes it may read in a later turn; whether it does shows in a run.
    for (int s : op.out) {
      if (s >= 0 && op.control) written[s] = true;
    }
    for (int s : op.in) {
      ENFORCE(s < 0 || written[s], PreconditionNotMet, "the variable '", plan_.slots[s].name,
              ended[s] ? "' must be written anew before "
                       : "' must be fed, since no operator writes it before ",
              op.desc->type, " reads it", ended[s] ? ", since delete_var ended it" : "",
              PositionText(*op.desc, op.position, op.block));
    }
    for (int s : op.out) {
      if (s >= 0) written[s] = true;
    }
    if (!EndsValues(op)) continue;
    for (int s : op.in) {
      if (s < 0 || plan_.slots[s].persistable) continue;
      written[s] = false;
      ended[s] = true;
    }
  }
  for (size_t i = 0; i < fetches_.size(); ++i) {
    ENFORCE(written[plan_.fetches[i]], PreconditionNotMet, "the variable '", fetches_[i],
            "' must be written by an operator or fed to be fetched",
            ended[plan_.fetches[i]] ? ", and delete_var ended it" : "");
  }
}

std::unique_ptr<PreparedProgram::Frame> PreparedProgram::MakeFrame() const {
  auto frame = std::make_unique<Frame>();
  frame->scope = Scope::Make();
  for (const PlanSlot& slot : plan_.slots) {
    if (slot.persistable) {
      ScopeVar* found = scope_->FindVar(slot.name);
      ScopeVar& var = found ? *found : scope_->Var(slot.name);
      frame->values.push_back(var.Bind(identity_));
      frame->vars.push_back(&var);
      if (var.shared()) frame->shared.push_back(var.shared());
    } else {
      frame->values.push_back(slot.block > 0 ? &frame->inner.emplace_back()
                                             : frame->scope->Var(slot.name).Bind(identity_));
      frame->vars.push_back(nullptr);
      frame->temporaries.push_back(frame->values.back());
    }
  }
  std::vector<const Value*> seen(frame->values.begin(), frame->values.end());
  std::sort(seen.begin(), seen.end());
  frame->aliased = std::adjacent_find(seen.begin(), seen.end()) != seen.end();
  size_t staged = 0;
  ForEachOp(plan_.ops, [&](const PlanOp& op) {
    staged += op.staged.size();
    for (const PlanOp& part : op.parts) staged += part.staged.size();
  });
  frame->staging.resize(staged);
  BindAll(plan_.ops, frame.get(), &frame->calls);
  return frame;
}

void PreparedProgram::BindAll(const std::vector<PlanOp>& ops, Frame* frame,
                              std::vector<Bound>* calls) const {
  calls->resize(ops.size());
  for (size_t i = 0; i < ops.size(); ++i) Bind(ops[i], frame, &(*calls)[i]);
}

void PreparedProgram::Bind(const PlanOp& op, Frame* frame, Bound* bound) const {
  if (op.control) return BindAll(op.control->body.ops, frame, &bound->body);
  bound->call.op = op.info;
  bound->call.attrs = op.attrs->data();
  bound->call.reuse = op.reuse;
  const auto* role = op.desc->FindAttr<int32_t>("op_role");
  bound->call.backward = role && (*role & kBackwardRole);
  bound->call.place = place_;
  bound->call.kept = op.kept.get();
  bound->names.op = &op;
  bound->call.caller = &bound->names;
  if (op.weight >= 0) bound->weight = frame->vars[op.in[op.weight]];
  auto value = [&](int slot) { return slot < 0 ? nullptr : frame->values[slot]; };
  size_t k = 0;
  for (uint32_t end : op.in_ends) {
    for (; k < end; ++k) {
      bound->call.in.Push(value(op.in[k]));
      bound->in.push_back(value(op.in[k]));
    }
    bound->call.in.Close();
  }
  k = 0;
  bound->staging = frame->bound_staging;
  frame->bound_staging += op.staged.size();
  size_t staged = 0;
  for (uint32_t end : op.out_ends) {
    for (; k < end; ++k) {
      bool aside = staged < op.staged.size() && op.staged[staged] == static_cast<int>(k);
      bound->call.out.Push(aside ? &frame->staging[bound->staging + staged++] : value(op.out[k]));
    }
    bound->call.out.Close();
  }
  BindAll(op.parts, frame, &bound->parts);
}

// What an operator was the last one to use.
void PreparedProgram::Release(const PlanOp& op, Frame& frame) const {
  for (int s : op.read) {
    Value* value = frame.values[s];
    if (value->is_tensor()) *value = Value(value->tensor().Meta());
  }
  for (int s : op.done) *frame.values[s] = Value();
}

void PreparedProgram::RunOps(Stretch of, Frame& frame, RandomStreams random) const {
  void (*check_signals)() = Interpreter().check_signals;
  const size_t stop = std::min(of.end, of.ops.size());
  for (size_t i = of.begin; i < stop; ++i) {
    const PlanOp& op = of.ops[i];
    const size_t first = i;
    const uint64_t start = __builtin_expect(frame.times != nullptr, 0) ? profiler::Now() : 0;
    if (__builtin_expect(op.updates > 0, 0) && RunTogether(of, i, frame, random)) {
      for (size_t end = i + op.updates; i < end; ++i) Release(of.ops[i], frame);
      --i;
      continue;
    }
    if (op.chain > 0 && i + op.chain <= stop && RunChain(of, i, frame, random)) {
      i += op.chain - 1;
    } else if (i + 1 < stop && __builtin_expect(of.ops[i + 1].as_end != nullptr, 0)) {
      bool both = RunToEnd(of, i, frame, random);
      Release(op, frame);
      if (both) Release(of.ops[++i], frame);
    } else {
      if (__builtin_expect(op.control != nullptr, 0)) {
        RunBlock(op, frame, of.calls[i], random);
      } else if (__builtin_expect(!op.terms, 1) || !AddInOrder(*op.terms, place_, frame.values)) {
        RunFused(op, frame, of.calls[i], random);
      }
      if (__builtin_expect(op.terms != nullptr, 0)) NoteTerms(op, frame);
      Release(op, frame);
    }
    // In a block, whose operators are often small, after some of them.
    if (check_signals && (op.block == 0 || ++frame.unchecked % 8 == 0)) check_signals();
    CheckRun();
    if (__builtin_expect(start != 0, 0))
      frame.times->Add(&of.ops[first], i - first + 1, profiler::Now() - start);
  }
}

void PreparedProgram::RunOne(const PlanOp& op, Frame& frame, Bound& bound,
                             RandomStreams random) const {
  if (__builtin_expect(!op.open.empty(), 0)) return RunOpen(op, frame, bound, random);
  RunGiven(op, frame, bound, random);
}

void PreparedProgram::RunGiven(const PlanOp& op, Frame& frame, Bound& bound,
                               RandomStreams random) const {
  if (__builtin_expect(op.lenient, 0) && !bound.IsWhole())
    return RunPresent(op, frame, bound, random);
  Call& call = bound.call;
  for (size_t k = 0; k < bound.in.size(); ++k) call.in.flat_at(static_cast<int>(k)) = bound.in[k];
  for (size_t k = 0; k < op.staged.size(); ++k)
    call.out.flat_at(op.staged[k]) = &frame.staging[bound.staging + k];
  // In a program with blocks and no seed of its own a call draws what an eager one would.
  if (op.random >= 0 && (!has_blocks_ || random.seed != 0)) {
    call.random_given = true;
    call.random_seed = random.seed;
    call.random_stream = random.first + (has_blocks_ ? frame.draws++ : op.random);
  }
  try {
    if (__builtin_expect(op.kept != nullptr, 0)) {
      RunKept(op, bound);
    } else {
      const bool checked = has_blocks_ && op.info->gradient_of && op.open.empty();
      if (checked) {
        call.from_tape = bound.fitting.Match(call);
        if (!call.from_tape) bound.fitting.Note(call);
      }
      if (__builtin_expect(bound.noting != nullptr, 0)) {
        RunNoting(call, bound.noting);
      } else {
        dygraph::Run(call);
      }
      if (checked && !call.from_tape) bound.fitting.Confirm(call);
    }
  } catch (Error& e) {
    if (has_blocks_ && e.kind() == ErrorKind::PreconditionNotMet) ThrowUnwritten(op, frame);
    e.Append(PositionText(*op.desc, op.position, op.block));
    throw;
  }
  for (size_t k = 0; k < op.staged.size(); ++k) {
    Value& made = frame.staging[bound.staging + k];
    *frame.values[op.out[op.staged[k]]] = std::move(made);
    made = Value();
  }
}

// The child scope is there while the run lasts, whichever way it ends.
class PreparedProgram::Running {
 public:
  explicit Running(PreparedProgram* program) : program_(*program) {
    {
      std::lock_guard<std::mutex> lock(program_.mutex_);
      if (!program_.idle_.empty()) {
        frame_ = std::move(program_.idle_.back());
        program_.idle_.pop_back();
      }
    }
    if (!frame_) frame_ = program_.MakeFrame();
    program_.scope_->Adopt(frame_->scope);
  }
  ~Running() {
    program_.scope_->Drop(frame_->scope.get());
    Clear();
    frame_->apart = false;
    for (const auto& shared : frame_->shared) shared->Renew();
    std::lock_guard<std::mutex> lock(program_.mutex_);
    program_.idle_.push_back(std::move(frame_));
  }
  Frame& frame() { return *frame_; }
  void Clear() {
    if (frame_->installed && frame_->installed->over) {  // its values stay for the next run
      for (Value* v : frame_->installed->others) *v = Value();
      return;
    }
    frame_->installed = nullptr;
    for (Value* v : frame_->temporaries) *v = Value();
    for (Value& v : frame_->staging) v = Value();
  }

 private:
  PreparedProgram& program_;
  std::unique_ptr<Frame> frame_;
};

// What the random operators of a run draw from.
RandomStreams PreparedProgram::Streams() {
  auto count = static_cast<uint64_t>(random_ops_);
  constexpr uint64_t kManyDraws = uint64_t{1} << 32;  // of a run whose loops end when they end
  if (count > 0 && seed_ == 0 && !has_blocks_) {      // what eager calls in their place would draw
    const RandomDraw draw = NextDraws(place_, count);
    return {draw.seed, draw.stream};
  }
  if (count > 0 && seed_ != 0) {
    ENFORCE(!RecordedDraws::On(place_), PreconditionNotMet,
            "a program with a seed of its own cannot be part of a graph, which would repeat its "
            "random numbers");
    std::lock_guard<std::mutex> lock(mutex_);
    return {seed_, kProgramStreams + runs_++ * (has_blocks_ ? kManyDraws : count)};
  }
  return {};
}

std::vector<Value> PreparedProgram::Run(const std::vector<Value>& feeds, OpTimes* times) {
  Part part{feeds, 0, feeds_.size(), 0, fetches_.size(), 0, plan_.ops.size()};
  part.times = times;
  return RunPart(part, Streams());
}

std::vector<Value> PreparedProgram::Run(const std::vector<Value>& feeds, RandomStreams random) {
  return RunPart({feeds, 0, feeds_.size(), 0, fetches_.size(), 0, plan_.ops.size()}, random);
}

std::vector<Value> PreparedProgram::RunPart(const Part& part, RandomStreams random) {
  const std::vector<Value>& feeds = part.feeds;
  const size_t first = part.first_feed;
  ENFORCE(feeds.size() == part.end_feed - first, InvalidArgument,
          "there must be a value for each of the ", part.end_feed - first, " feeds, got ",
          feeds.size());
  for (size_t i = 0; i < feeds.size(); ++i) {
    if (!part.brought || !feeds[i].empty()) CheckFeed(first + i, feeds[i]);
  }
  if (!part.brought) CheckEqualSizes(feeds);
  std::vector<Value> results;
  {
    Running running(this);
    Frame& frame = running.frame();
    frame.again = part.again;
    frame.times = part.times;
    frame.keeps_results = false;
    frame.apart = part.brought != nullptr;  // what is moved in cannot be given twice
    auto begin = [&] {
      for (size_t i = 0; i < feeds.size(); ++i) {
        *frame.values[feed_slots_[first + i]] =
            feeds[i].is_tensor() ? Value(CopyTo(feeds[i].tensor(), place_)) : feeds[i];
      }
      for (size_t i = 0; part.brought && i < carried_.size(); ++i)
        *frame.values[carried_[i].second] =
            part.again ? (*part.brought)[i] : std::move((*part.brought)[i]);
      frame.draws = 0;
      if (plans_memory_ && !part.carried && !part.brought && CanPlan(frame)) {
        RunPlanned(frame, random);
      } else {
        Uninstall(frame);
        if (__builtin_expect(place_ != CPUPlace(), 0) && !part.carried && !part.brought &&
            CanGraph(frame)) {
          RunGraphed(frame, random);
        } else {
          RunOps({plan_.ops, frame.calls, part.begin, part.end}, frame, random);
        }
      }
    };
    for (size_t i = 0; part.carried && i < carried_.size(); ++i) {
      const PlanSlot& slot = plan_.slots[carried_[i].first];
      part.carried->push_back(slot.persistable ? *frame.values[carried_[i].first] : Value());
    }
    try {
      begin();
    } catch (const BeginAnew&) {
      running.Clear();
      frame.apart = true;
      begin();
    }
    for (size_t i = 0; part.carried && i < carried_.size(); ++i) {
      if (!plan_.slots[carried_[i].first].persistable)
        (*part.carried)[i] = *frame.values[carried_[i].first];
    }
    for (size_t i = part.first_fetch; i < part.end_fetch; ++i) {
      const int s = plan_.fetches[i];
      const bool empty = has_blocks_ && !part.brought && frame.values[s]->empty();
      const std::string text = empty ? UnwrittenText(s, 0) : "";
      ENFORCE(text.empty(), PreconditionNotMet, "the variable ", text, ", and it is fetched");
      if (__builtin_expect(frame.keeps_results, 0)) {
        results.push_back(OutOfGraph(*frame.values[s], plan_.slots[s].persistable));
      } else {
        results.push_back(*frame.values[s]);
      }
    }
  }
  ReleasePages();
  return results;
}

}  // namespace dygraph::program
