// Runs of a prepared program at sizes that ran before: temporaries have their places in one arena,
// and an operator whose call is settled is its kernel alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "execute/chain.h"
#include "execute/form.h"
#include "run/run.h"
#include "tensor/value.h"

namespace dygraph::program {

// A part of an arena that is in use from operator `first` to operator `last`.
struct Lifetime {
  size_t bytes = 0;
  int first = 0, last = 0;
  size_t place = 0;
};
// Gives each block its place, larger ones first, at the lowest address where no block of the same
// time lies. Returns the bytes of all.
size_t PlaceLifetimes(std::vector<Lifetime>* blocks);

// What is known of the runs at one set of sizes. The first one notes, later ones follow.
struct PlannedRun {
  struct Step {  // an operator
    SettledCall call;
    bool settled = false;                           // its call needs the kernel alone
    bool drops_twins = false;                       // an output is channels-last
    std::vector<Ref<Storage>> ended;                // such parts of the arena that it reads last
    double seconds = 0;                             // of the noting run
    std::vector<std::pair<int, Form>> asks;         // inputs by slot that may be of another form
    Form weight;                                    // of that which may be kept in another form
    std::vector<std::pair<int, Form>> fresh;        // outputs that get memory of their own
    std::vector<std::pair<int, Form>> bare;         // outputs that the kernel gives memory
    std::vector<std::pair<int, const void*>> made;  // planned outputs, and where they lie
    std::vector<int> released, read;                // of the operator's: slots that are not planned
    // Outputs that outlive the run: which of the staged ones, and where they go; the slot whose
    // memory they take where nothing else holds it, or -1.
    struct Lasting {
      int staged, slot, from;
      Form form;
    };
    std::vector<Lasting> lasting;
    bool direct = false;  // these are written where they are to go
    bool plain = false;   // nothing is to be asked for, made ready or released
  };
  // Operators of a chain that run block by block.
  struct Segment {
    size_t begin, end;
    ChainSegment chain;
    std::vector<char*> data;       // by operand
    std::vector<int> held, fresh;  // operands that are read and that are made, not planned
    std::vector<std::pair<int, Form>> asks;  // inputs by slot that may be of another form
    std::vector<Ref<Storage>> twins;         // of channels-last results: parts of the arena
    ChainSegment::Views views;
    explicit Segment(ChainSegment of) : chain(std::move(of)), views(chain) {}
  };
  struct Stretch {  // operators that run as always
    size_t begin, end;
    std::vector<int> restored;  // planned slots whose values they release
  };

  struct Section {  // settled steps in a row, which may run beside each other
    size_t begin, end;
    std::vector<int> waits;              // of each step: how many it follows
    std::vector<std::vector<int>> next;  // and those that follow it
    std::vector<int> held;               // slots that are read, sorted, and not made inside
    // One after the other or together: both are tried, then what is faster stays.
    enum class Way { kTrying, kAlone, kTogether };
    Way way = Way::kTrying;
    int trials = 0;
    double alone = 1e9, together = 1e9;  // seconds
    std::vector<double> seconds;         // of each step, alone
  };

  std::vector<Form> feeds;
  std::vector<Step> steps;
  std::vector<Stretch> stretches;  // in order; all other steps are settled
  std::vector<Section> sections;   // in order
  std::vector<Segment> segments;   // in order
  std::vector<char> in_segment;    // by operator
  std::vector<char> passing;       // by slot: made and read within the blocks of one segment
  std::vector<Form> forms;         // by slot: what the noting run made
  std::vector<int> joined;         // by slot: another slot on the same memory, or itself
  std::vector<char> apart;  // by slot: memory of its own by its kernel, or a later part of another
  std::vector<char> planned;   // by slot
  std::vector<Value> values;   // by slot: parts of the arena
  std::vector<Value*> others;  // temporaries that are not planned
  std::vector<int> lasting;    // persistable slots that operators write
  Ref<Storage> arena;
  size_t arena_bytes = 0, unshared_bytes = 0;
  int threads = 0;
  std::string library;
  bool noted = false;
  // Nothing is reused within a section, so that its steps may run in any order; until it shows that
  // this does not pay.
  bool loose = false, tightens = false, looked = false;
  bool over = false;       // the latest run came to its end, so the values stay at their slots
  int strayed = 0;         // runs that were not as noted
  std::string strayed_at;  // the operator that the latest one was at

  int Root(int slot) {
    while (joined[slot] != slot) slot = joined[slot] = joined[joined[slot]];
    return slot;
  }
  bool Holds(const Value& value) const {
    if (!arena || !value.is_tensor() || !value.tensor().has_data()) return false;
    const char* begin = static_cast<const char*>(arena->data());
    const char* at = static_cast<const char*>(value.tensor().raw_data());
    return at >= begin && at < begin + arena_bytes;
  }
};

}  // namespace dygraph::program
