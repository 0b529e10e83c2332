// A chain: neighbouring pointwise operators of a plan (passes/find_chains.cc). Once two runs saw
// inputs of the same shapes and types, the chain runs block by block: all its operators on some
// rows, then on the next ones. What one operator gives is in the cache when the next reads it, and
// what only the chain reads has memory for one block. The kernels are the same, so the bits are.
#pragma once

#include <functional>
#include <vector>

#include "execute/form.h"
#include "op/kernel.h"
#include "tensor/value.h"

namespace dygraph::program {

// A value as a run saw it; `usual` if it was a tensor in host memory without levels of detail.
struct ChainMeta : Form {
  bool usual = false;

  ChainMeta() = default;
  explicit ChainMeta(const Value& value);
  explicit ChainMeta(const Form& form) : Form(form), usual(form.has_data) {}  // in host memory
  bool operator==(const ChainMeta& o) const {
    return usual == o.usual && dtype == o.dtype && layout == o.layout && dims == o.dims;
  }
};

// Operators of a chain whose results have one shape.
struct ChainSegment {
  struct Operand {
    enum class Kind {
      kRows,     // an array of that shape
      kWhole,    // one row or number, broadcast
      kResult,   // is read after the segment
      kScratch,  // is not: lives in a block
    };
    Kind kind;
    int slot;
    ChainMeta meta;
    Dims whole_dims = {};  // of kWhole: as a block sees them
    int64_t row_elements = 0, row_bytes = 0;
    int64_t offset = -1;      // of kScratch: in the memory of a block
    int in_place_of = -1;     // of kResult: the operand whose memory it may take
    bool sizes_read = false;  // of kScratch: they are, later
  };
  // A call on operands; -1: absent.
  struct Link {
    KernelFn kernel;
    Call call;
    std::vector<int> in, out;
  };
  size_t begin, end;  // operators of the chain
  Dims shape;
  Layout layout = Layout::kPlain;
  Dims row;  // of the arrays, as the segment cuts them
  int64_t rows = 0, block_rows = 0;
  std::vector<Operand> operands;
  std::vector<Link> links;
  int64_t scratch_bytes = 0;

  // What one thread computes with.
  struct Views {
    std::vector<Value> values;  // by operand
    std::vector<Call> calls;    // by link
    explicit Views(const ChainSegment& segment);
  };
  // Computes some rows; `data` has the address of each operand that is not scratch.
  void Compute(int64_t begin_row, int64_t end_row, const std::vector<char*>& data, Views* v) const;
  void Run(const std::vector<char*>& data, Views* views) const;
};

struct Chain {
  // The inputs as they were when the chain began; in how many runs after each other.
  std::vector<int> inputs;  // slots
  std::vector<ChainMeta> metas;
  int met = 0;
  std::vector<ChainSegment> segments;
  std::vector<ChainSegment::Views> views;  // by segment
  std::vector<char*> data;
};

// What a run saw of one operator.
struct ChainCall {
  const OpInfo* op;
  const Call* call;
  KernelFn kernel = nullptr;  // null: it cannot be part of a segment
  int axis = -1;              // the attribute that lays operands along each other
  uint32_t reuse = 0;
  std::vector<int> in, out;  // slots
  std::vector<ChainMeta> in_metas, out_metas;
};
// The segments, of at least two operators. `ends(k, slot)`: whether operator k is the last one that
// uses the slot; `only_sizes`: whether no more than its sizes are read afterwards.
std::vector<ChainSegment> FindSegments(const std::vector<ChainCall>& calls,
                                       const std::function<bool(size_t, int)>& ends,
                                       const std::function<bool(size_t, int)>& only_sizes);

}  // namespace dygraph::program
