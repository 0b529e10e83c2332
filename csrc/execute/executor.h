// Runs programs. A prepared program has its names resolved to places and its operators to calls, so
// that running it again meets no string and no map.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "execute/graphed_runs.h"
#include "execute/plan.h"
#include "execute/planned_runs.h"
#include "op/call.h"
#include "platform/place.h"
#include "program/desc.h"
#include "program/outer_uses.h"
#include "program/scope.h"

namespace dygraph::program {

class KeptSteps;
class OpTimes;

// Random operators draw from (seed, first + position among the random operators of the program); in
// a program with blocks, from (seed, first + how many have drawn before in the run).
struct RandomStreams {
  uint64_t seed = 0;
  uint64_t first = 0;
};

// Of a program that runs in two halves: how many operators of its block, feeds and fetches belong
// to the first. The second gets the rest of the feeds later, some perhaps without a value.
struct Halves {
  size_t operators = 0, feeds = 0, fetches = 0;
};

class PreparedProgram {
 public:
  // Persistable variables live in `scope` (made there, empty, where they are missing); temporaries
  // in a child of it. `feeds` are variables of the block that a run is given, `fetches` what it
  // gives back. Operators that use files do so within the directory `files`. Throws what
  // CheckOperators and Verify throw; InvalidArgument for a feed or fetch that cannot be;
  // PreconditionNotMet for a variable that is read, but neither fed nor written nor persistable,
  // for an operator that uses files where no directory is given, and for a persistable variable
  // that the first half writes and the second reads.
  PreparedProgram(std::shared_ptr<const ProgramDesc> program, std::shared_ptr<Scope> scope,
                  std::vector<std::string> feeds, std::vector<std::string> fetches, Place place,
                  std::optional<std::string> files = std::nullopt, Halves halves = Halves());
  ~PreparedProgram();

  // One value for each feed, in order; the result has one for each fetch. May run in several
  // threads at once.
  // `times`, where it is given, gets what each operator took.
  std::vector<Value> Run(const std::vector<Value>& feeds, OpTimes* times = nullptr);
  std::vector<Value> Run(const std::vector<Value>& feeds, RandomStreams random);
  // The first half, and later the second on what it carried over; `again`: that is needed once more
  // after this run.
  std::vector<Value> RunFirst(const std::vector<Value>& feeds, std::vector<Value>* carried);
  std::vector<Value> RunSecond(std::vector<Value> carried, const std::vector<Value>& feeds,
                               bool again);

  const std::vector<std::string>& feeds() const { return feeds_; }
  const std::vector<std::string>& fetches() const { return fetches_; }
  int random_operators() const { return random_ops_; }
  size_t operators() const;
  // Operators whose steps another's kernel does, as the last run that has ended found.
  size_t operators_in_kernels();
  // Operators of the first block that run block by block, as the last run that has ended found.
  size_t operators_in_chains();
  // Runs of sizes that ran before place their temporaries in one arena and call kernels directly;
  // an arena is kept for each of the latest kMostPlanned sizes.
  static constexpr size_t kMostPlanned = 8;
  void PlanMemory() { plans_memory_ = true; }
  // The most operators of a planned run at one time; 0: as many as there are threads.
  void LimitTogether(int most) { most_together_ = most; }
  struct Planned {
    size_t arenas = 0, bytes = 0;     // kept now
    size_t steps = 0, operators = 0;  // of the latest one: called directly, of all
    size_t together = 0;              // steps that run beside others where they can
    size_t strayed = 0;               // runs that were not as those before
    std::string strayed_at;           // the operator that the latest of them was at
    size_t unshared = 0;              // bytes that its temporaries would take side by side
  };
  Planned planned();
  // On a device that has graphs, the third run at one set of sizes is recorded, and later ones play
  // the record, with operators that wait or compute on the host in between; records of the
  // latest kMostGraphed sizes are kept. FLAGS_cuda_graphs=0: never.
  static constexpr size_t kMostGraphed = 8;
  struct Graphed {
    size_t runs = 0;       // sizes that are recorded now
    size_t graphs = 0;     // of the latest of them
    size_t operators = 0;  // in those
    size_t between = 0;    // operators that run one by one
    size_t bytes = 0;      // that its graphs keep, beside values that variables hold
    uint64_t replays = 0;  // of all
    uint64_t strayed = 0;  // runs that a record did not fit
    std::string plain;     // why the latest sizes run operator by operator for good; or empty
  };
  Graphed graphed();
  void Shrink();  // frees the arenas; gives back what idle runs hold
  // For random operators without a seed of their own; 0: that of the library's generator.
  void set_seed(uint64_t seed) { seed_ = seed; }

 private:
  struct Bound;
  struct Frame;
  struct BeginAnew;
  class Running;
  struct Stretch;
  class Capture;
  int SlotOf(const std::string& name, int block);
  std::vector<PlanOp> BindBlock(int block);
  int Required(const PlanOp& op, const std::string& name, int block);
  void BindControl(PlanOp* op);
  void BindGradient(const PlanOp& op, int body);
  bool IsArray(const std::string& name, int block) const;
  void LinkKept();
  void BindOperators();
  void ArrangeBlocks();
  void CheckReads() const;
  void ShadowPersistables();
  void FindCarried();
  void ReleaseCarried();
  void CheckFeed(size_t i, const Value& value) const;
  // An axis of a feed; where it has levels of detail, `sequences`, not rows, are counted on axis 0.
  struct FeedAxis {
    size_t feed;
    int axis;
    bool sequences;
    int64_t SizeIn(const std::vector<Value>& feeds) const;
  };
  void NoteEqualSizes();
  void CheckEqualSizes(const std::vector<Value>& feeds) const;
  struct Part;
  std::vector<Value> RunPart(const Part& part, RandomStreams random);
  RandomStreams Streams();
  std::unique_ptr<Frame> MakeFrame() const;
  void Bind(const PlanOp& op, Frame* frame, Bound* bound) const;
  void BindAll(const std::vector<PlanOp>& ops, Frame* frame, std::vector<Bound>* calls) const;
  void RunOps(Stretch of, Frame& frame, RandomStreams random) const;
  void RunBlock(const PlanOp& op, Frame& frame, Bound& bound, RandomStreams random) const;
  void RunWhile(const PlanOp& op, Frame& frame, Bound& bound, RandomStreams random) const;
  void RunCondition(const PlanOp& op, Frame& frame, Bound& bound, RandomStreams random) const;
  void RunRecurrent(const PlanOp& op, Frame& frame, Bound& bound, RandomStreams random) const;
  static void ClearLocals(const PlanControl& control, Frame& frame);
  void RunBody(const PlanOp& op, Frame& frame, Bound& bound, RandomStreams random, int64_t turn,
               KeptSteps* kept) const;
  void RunKept(const PlanOp& op, Frame& frame, Bound& bound, RandomStreams random, int64_t turn,
               KeptSteps* kept) const;
  Ref<KeptSteps> NewSteps(const PlanOp& op, int slot, Frame& frame) const;
  void AddKept(const PlanControl& control, const PlanControl::KeptGradient& kept, int64_t turn,
               Frame& frame, KeptSteps* gradients) const;
  void RunGradient(const PlanOp& op, Frame& frame, Bound& bound, RandomStreams random) const;
  void RunPresent(const PlanOp& op, Frame& frame, Bound& bound, RandomStreams random) const;
  std::string UnwrittenText(int slot, int block) const;
  void ThrowUnwritten(const PlanOp& op, const Frame& frame) const;
  void RunTurn(const PlanOp& op, Frame& frame, Bound& bound, RandomStreams random,
               int64_t turn) const;
  void RunOne(const PlanOp& op, Frame& frame, Bound& bound, RandomStreams random) const;
  Ref<Attrs> ReadOpenAttrs(const PlanOp& op, const Frame& frame) const;
  void RunOpen(const PlanOp& op, Frame& frame, Bound& bound, RandomStreams random) const;
  void RunGiven(const PlanOp& op, Frame& frame, Bound& bound, RandomStreams random) const;
  void RunFused(const PlanOp& op, Frame& frame, Bound& bound, RandomStreams random) const;
  bool RunToEnd(Stretch of, size_t i, Frame& frame, RandomStreams random) const;
  bool RunChain(Stretch of, size_t first, Frame& frame, RandomStreams random) const;
  void LearnChain(Stretch of, size_t first, Frame& frame, RandomStreams random) const;
  void RunLinks(Stretch of, size_t begin, size_t end, Frame& frame, RandomStreams random) const;
  void RunSegment(Stretch of, size_t first, size_t segment, Frame& frame) const;
  bool RunTogether(Stretch of, size_t first, Frame& frame, RandomStreams random) const;
  void Release(const PlanOp& op, Frame& frame) const;
  void NoteTerms(const PlanOp& op, Frame& frame) const;
  void RunKept(const PlanOp& op, Bound& bound) const;
  Value WeightFor(const PlanOp& op, const Bound& bound, const Kernel& kernel) const;
  void ReleasePages();
  bool CanPlan(const Frame& frame) const;
  bool IsStep(size_t i) const;
  void RunPlanned(Frame& frame, RandomStreams random);
  void Uninstall(Frame& frame) const;
  void NoteForms(PlannedRun& run, Frame& frame, RandomStreams random);
  void FindPlanned(PlannedRun& run) const;
  void Install(PlannedRun& run, Frame& frame) const;
  void FindSegments(PlannedRun& run, Frame& frame) const;
  void Arrange(PlannedRun& run) const;
  void ArrangeSegment(const PlannedRun& run, PlannedRun::Segment& segment) const;
  static void NoteLasting(const PlanOp& op, const std::vector<Form>& forms, PlannedRun::Step* step);
  void FindSections(PlannedRun& run) const;
  void Prepare(const PlannedRun& run, size_t i, Frame& frame, RandomStreams random) const;
  static bool IsMade(const PlannedRun::Step& step, const Frame& frame);
  static void EndValues(const PlannedRun::Step& step, Frame& frame);
  bool RunStep(const PlannedRun& run, size_t i, Frame& frame, RandomStreams random,
               size_t* from) const;
  bool RunSection(PlannedRun& run, PlannedRun::Section& section, Frame& frame, RandomStreams random,
                  size_t* from) const;
  void RunTogether(PlannedRun& run, const PlannedRun::Section& section, Frame& frame,
                   RandomStreams random, int threads) const;
  bool RunSegment(const PlannedRun& run, PlannedRun::Segment& segment, Frame& frame) const;
  void RunSteps(PlannedRun& run, Frame& frame, RandomStreams random) const;
  bool RunAtOnce(const PlanOp& op, Frame& frame, Bound& bound) const;
  bool CanGraph(const Frame& frame) const;
  GraphedRun& FindGraphed(Frame& frame) const;
  void RunGraphed(Frame& frame, RandomStreams random) const;
  size_t UnitEnd(size_t first) const;
  void NoteCuts(GraphedRun& run, Frame& frame, RandomStreams random) const;
  void NotePlaces(GraphedRun& run, const Frame& frame) const;
  void DivideGraphed(GraphedRun& run) const;
  void PutStreams(const GraphedRun& run, RandomStreams random) const;
  bool RecordSegment(GraphedRun& run, GraphedRun::Segment& segment, Frame& frame) const;
  void RunRecording(GraphedRun& run, Frame& frame, RandomStreams random) const;
  bool FindGraphInputs(GraphedRun& run, GraphedRun::Segment& segment, Frame& frame) const;
  void RunRecorded(GraphedRun& run, Frame& frame, RandomStreams random) const;
  bool FitsGraph(GraphedRun& run, const GraphedRun::Segment& segment, const Frame& frame) const;

  std::shared_ptr<const ProgramDesc> program_;
  const BlockDesc& block_;
  std::shared_ptr<Scope> scope_;
  Place place_;
  std::optional<std::string> files_;
  std::vector<std::string> feeds_, fetches_;
  std::vector<int> feed_slots_;
  std::vector<const VarDesc*> feed_vars_;
  std::vector<std::pair<FeedAxis, FeedAxis>> equal_sizes_;  // whose sizes have one name
  // While preparing, of each block: its variables and slots.
  struct BlockNames {
    std::unordered_map<std::string_view, size_t> declared;
    std::unordered_map<std::string, int> slots;
  };
  std::vector<BlockNames> names_;
  // Of the block of a gradient: the block it differentiates, and what it reads of that one's
  // values.
  struct GradientOf {
    int forward;
    OuterUses uses;
    PlanControl* control;
    std::set<std::string> restored;
    std::vector<std::string> kept = {};  // of kept_gradients of the control
  };
  bool IsRestored(int gradient, const std::string& name) const;
  std::map<int, GradientOf> gradients_;
  std::map<int, PlanControl*> controls_;  // by the block that they run
  Plan plan_;
  Halves halves_;
  size_t middle_ = 0;                         // the first operator of the second half
  std::vector<std::pair<int, int>> carried_;  // slots in the first half and in the second
  bool plans_memory_ = false;
  int most_together_ = 0;
  bool has_blocks_ = false;  // how often an operator runs is known when it has run
  int random_ops_ = 0;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Frame>> idle_;
  std::shared_ptr<const void> identity_ = std::make_shared<int>();  // stands for this program
  mutable std::atomic<size_t> given_up_{0};                         // bytes of weights, in all runs
  std::atomic<bool> released_{false};
  uint64_t runs_ = 0;
  uint64_t seed_ = 0;
};

// The variables that feed operators of block 0 fill and fetch operators read, by column. Format
// when a column is missing.
std::vector<std::string> FeedNames(const ProgramDesc& program);
std::vector<std::string> FetchNames(const ProgramDesc& program);

}  // namespace dygraph::program
