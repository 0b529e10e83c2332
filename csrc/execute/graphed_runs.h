// Runs of a prepared program on a device that repeats work as graphs. The first run at a set of
// sizes is an ordinary one, the second notes which operators cannot be part of a graph, the third
// is recorded, and later ones play the record.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "execute/form.h"
#include "memory/block_keeper.h"
#include "platform/accelerator.h"
#include "tensor/value.h"

namespace dygraph::program {

// A copy where the value's memory stays another's, which later runs write; else itself.
Value OutOfGraph(const Value& value, bool persistable);

// What a record was made for, the sequences of a ragged value with it: launches depend on them.
struct RecordedForm {
  Form form;
  Ref<LoD> levels;

  explicit RecordedForm(const Tensor& t) : form(t), levels(t.lod_ref()) {}
  bool Fits(const Value& v) const {
    if (!levels) return form.Fits(v);
    if (!v.is_tensor() || !v.tensor().lod() || !(form == Form(v.tensor()))) return false;
    const LoD* now = v.tensor().lod();
    return now == levels.get() || now->levels == levels->levels;
  }
};

struct GraphedRun {
  // What the recorded work reads at a fixed place: a value is copied there before each run.
  struct Input {
    int slot;
    RecordedForm form;
    Value fixed;
  };
  // A persistable variable, which must lie where it lay.
  struct Lasting {
    int slot;
    Form form;
    const void* data;
    bool written;
  };
  // Operators in a row: one graph, or run one by one.
  struct Segment {
    size_t begin = 0, end = 0;
    bool wanted = false;  // as a graph
    std::vector<Input> inputs;
    std::vector<Lasting> lasting;
    std::vector<std::pair<int, Value>> made;  // slots and what they hold behind it
    std::vector<int> ended;                   // slots that are not used after it
    std::vector<Value> held;                  // further memory that the work names
    std::unique_ptr<DeviceGraph> graph;
  };

  // What is asked for when a run begins.
  struct Settings {
    std::string library;
    bool tf32 = false, atomics = false, deterministic = false, exhaustive = false;
    static Settings Now();
    bool operator==(const Settings& o) const {
      return library == o.library && tf32 == o.tf32 && atomics == o.atomics &&
             deterministic == o.deterministic && exhaustive == o.exhaustive;
    }
  };

  std::vector<RecordedForm> feeds;
  Settings settings;
  int runs = 0;
  std::vector<char> cut;            // by operator: not part of a graph
  std::vector<const void*> places;  // by slot: where persistable ones lay in the last run
  std::vector<char> varies;         // by slot: of those, read alone, and not always there
  std::unique_ptr<memory::BlockKeeper> keeper;  // ends after what lies in its blocks
  Value streams;  // of random operators in graphs: a run writes a seed and the first stream here
  std::vector<Segment> segments;
  int strays = 0;         // since many runs went as recorded
  int begins_failed = 0;  // recordings that could not begin
  uint64_t replays = 0, since_stray = 0, strayed = 0;
  std::string plain;  // why it runs operator by operator for good

  bool recorded() const { return !segments.empty(); }
  void Drop() {
    segments.clear();
    streams = Value();
    keeper.reset();
  }
};

}  // namespace dygraph::program
