#include "execute/chain.h"

#include <algorithm>
#include <map>
#include <set>

#include "op/op_info.h"
#include "platform/device_context.h"
#include "platform/threads.h"

namespace dygraph::program {

namespace {

using Segment = ChainSegment;
using Operand = ChainSegment::Operand;

// Elements of a block: a few arrays of this length fit into a core's first cache.
constexpr int64_t kBlock = 2048;

// Operations that a thread should get at least, as in kernels/parallel.h.
constexpr int64_t kGrain = 32768;

Dims WithoutLeadingOnes(const Dims& dims) {
  size_t first = 0;
  while (first < dims.size() && dims[first] == 1) ++first;
  return Dims(dims.begin() + first, dims.end());
}

// How many trailing axes of the arrays a block must leave whole for this input; -1: it cannot be
// cut into rows.
int TrailingAxes(const ChainMeta& meta, const Dims& shape, Layout layout, int axis, bool* by_rows) {
  *by_rows = meta.dims == shape;
  if (*by_rows) return meta.layout == layout ? 0 : -1;
  const int rank = shape.rank();
  if (Numel(meta.dims) == 1) return axis > 0 && meta.dims.rank() < rank ? rank - 1 : 0;
  if (layout != Layout::kPlain || meta.layout != Layout::kPlain || meta.dims.rank() > rank ||
      rank < 2)
    return -1;
  if (meta.dims.rank() == rank && meta.dims[0] != 1) {  // a column
    *by_rows = true;
    return rank - 1;
  }
  if (axis >= 0 && meta.dims.rank() < rank) {  // laid along axes by number: all must be there
    return axis > 0 ? rank - 1 : -1;
  }
  const int trailing = WithoutLeadingOnes(meta.dims).rank();
  return trailing < rank ? trailing : -1;
}

class SegmentMaker {
 public:
  SegmentMaker(const std::vector<ChainCall>& calls, const std::function<bool(size_t, int)>& ends,
               const std::function<bool(size_t, int)>& only_sizes)
      : calls_(calls), ends_(ends), only_sizes_(only_sizes) {}

  std::vector<Segment> All() {
    std::vector<Segment> segments;
    for (size_t first = 0; first < calls_.size();) {
      size_t end = first;
      trailing_ = 0;
      while (end < calls_.size() && Joins(first, calls_[end])) ++end;
      if (end > first + 1) segments.push_back(Make(first, end));
      first = std::max(end, first + 1);
    }
    return segments;
  }

 private:
  bool Joins(size_t first, const ChainCall& c) {
    if (!c.kernel) return false;
    const ChainMeta& like = calls_[first].out_metas[0];
    if (!like.usual || Numel(like.dims) == 0) return false;
    for (size_t k = 0; k < c.out.size(); ++k) {
      const ChainMeta& out = c.out_metas[k];
      if (c.out[k] >= 0 && !(out.usual && out.dims == like.dims && out.layout == like.layout))
        return false;
    }
    int trailing = trailing_;
    for (size_t k = 0; k < c.in.size(); ++k) {
      if (c.in[k] < 0) continue;
      if (!c.in_metas[k].usual) return false;
      bool by_rows;
      const int axes = TrailingAxes(c.in_metas[k], like.dims, like.layout, c.axis, &by_rows);
      if (axes < 0) return false;
      trailing = std::max(trailing, axes);
    }
    trailing_ = trailing;
    return true;
  }

  Segment Make(size_t first, size_t end) {
    Segment s;
    s.begin = first;
    s.end = end;
    const ChainMeta& like = calls_[first].out_metas[0];
    s.shape = like.dims;
    s.layout = like.layout;
    const int rank = s.shape.rank();
    s.row = Dims(s.shape.end() - trailing_, s.shape.end());
    if (s.layout == Layout::kNHWC) s.row = Dims(rank - 1, 1);  // one order is as good as the other
    const int64_t width = Numel(s.row);
    s.rows = Numel(s.shape) / std::max<int64_t>(width, 1);
    s.block_rows = std::max<int64_t>(1, kBlock / std::max<int64_t>(width, 1));

    std::map<int, int> now;      // operand by slot
    std::vector<int> last_read;  // by operand: the link, or -1
    auto operand = [&](Operand::Kind kind, int slot, const ChainMeta& meta) {
      s.operands.push_back({kind, slot, meta});
      last_read.push_back(-1);
      return now[slot] = static_cast<int>(s.operands.size()) - 1;
    };
    for (size_t c = first; c < end; ++c) {
      const ChainCall& call = calls_[c];
      Segment::Link link;
      link.kernel = call.kernel;
      link.call = *call.call;
      for (size_t k = 0; k < call.in.size(); ++k) {
        const int slot = call.in[k];
        if (slot < 0) {
          link.in.push_back(-1);
          continue;
        }
        auto at = now.find(slot);
        int number = at == now.end() ? -1 : at->second;
        if (number < 0) {
          bool by_rows;
          TrailingAxes(call.in_metas[k], s.shape, s.layout, call.axis, &by_rows);
          number = operand(by_rows ? Operand::Kind::kRows : Operand::Kind::kWhole, slot,
                           call.in_metas[k]);
          if (!by_rows)
            s.operands[number].whole_dims = WholeDims(call.in_metas[k].dims, rank, s.row);
        }
        link.in.push_back(number);
        last_read[number] = static_cast<int>(c - first);
      }
      for (size_t k = 0; k < call.out.size(); ++k) {
        const int slot = call.out[k];
        if (slot < 0) {
          link.out.push_back(-1);
          continue;
        }
        auto before = now.find(slot);
        if (before != now.end()) Overwrite(&s, before->second);
        link.out.push_back(operand(Operand::Kind::kResult, slot, call.out_metas[k]));
      }
      MarkInPlace(&s, c, link);
      s.links.push_back(std::move(link));
    }
    for (size_t c = first; c < end; ++c) {
      for (auto& [slot, number] : now) {
        Operand& o = s.operands[number];
        if (o.kind != Operand::Kind::kResult) continue;
        if (ends_(c, slot)) {
          o.kind = Operand::Kind::kScratch;
        } else if (only_sizes_(c, slot)) {
          o.kind = Operand::Kind::kScratch;
          o.sizes_read = true;
        }
      }
    }
    for (Operand& o : s.operands) {
      if (o.kind == Operand::Kind::kWhole) continue;
      o.row_elements = Numel(o.meta.dims) / s.rows;
      o.row_bytes = o.row_elements * static_cast<int64_t>(SizeOf(o.meta.dtype));
    }
    AssignScratch(&s, last_read);
    return s;
  }

  // A value that a later operator of the segment replaces is not seen outside.
  static void Overwrite(Segment* s, int number) {
    Operand& o = s->operands[number];
    if (o.kind == Operand::Kind::kResult) o.kind = Operand::Kind::kScratch;
  }

  static Dims WholeDims(const Dims& dims, int rank, const Dims& row) {
    if (row.rank() == rank - 1) return dims;  // no axis is folded
    return Numel(dims) == 1 ? Dims(dims.empty() ? 0 : 1, 1) : WithoutLeadingOnes(dims);
  }

  void MarkInPlace(Segment* s, size_t c, const Segment::Link& link) {
    const ChainCall& call = calls_[c];
    for (size_t pair = 0; pair < call.op->in_place.size(); ++pair) {
      if (!(call.reuse >> pair & 1)) continue;
      auto [in_slot, out_slot] = call.op->in_place[pair];
      if (call.call->in.count(in_slot) < 1 || call.call->out.count(out_slot) < 1) continue;
      const int from = link.in[call.call->in.begin_of(in_slot)];
      const int to = link.out[call.call->out.begin_of(out_slot)];
      if (from < 0 || to < 0 || s->operands[from].kind != Operand::Kind::kRows) continue;
      if (s->operands[from].meta == s->operands[to].meta && s->operands[from].meta.dims == s->shape)
        s->operands[to].in_place_of = from;
    }
  }

  // Where scratch lies in the memory of a block: where the input lay if the operator may replace
  // it, else where a value lay that is not read any more.
  static void AssignScratch(Segment* s, const std::vector<int>& last_read) {
    std::vector<int64_t> free;  // offsets
    std::set<int> replaced;
    int64_t bytes = 0;
    for (const Operand& o : s->operands) {
      if (o.kind == Operand::Kind::kScratch) bytes = std::max(bytes, s->block_rows * o.row_bytes);
    }
    auto is_scratch = [&](int number) {
      return number >= 0 && s->operands[number].kind == Operand::Kind::kScratch;
    };
    for (int l = 0; l < static_cast<int>(s->links.size()); ++l) {
      const Segment::Link& link = s->links[l];
      for (auto [in_slot, out_slot] : link.call.op->in_place) {
        if (link.call.in.count(in_slot) < 1 || link.call.out.count(out_slot) < 1) continue;
        const int from = link.in[link.call.in.begin_of(in_slot)];
        const int to = link.out[link.call.out.begin_of(out_slot)];
        const bool spent = is_scratch(from) && is_scratch(to) && last_read[from] == l &&
                           std::count(link.in.begin(), link.in.end(), from) == 1 &&
                           s->operands[from].meta.dtype == s->operands[to].meta.dtype;
        if (!spent || s->operands[to].offset >= 0) continue;
        s->operands[to].offset = s->operands[from].offset;
        replaced.insert(from);
      }
      for (int number : link.out) {
        if (!is_scratch(number) || s->operands[number].offset >= 0) continue;
        Operand& o = s->operands[number];
        if (free.empty()) {
          free.push_back(s->scratch_bytes);
          s->scratch_bytes += (bytes + 63) / 64 * 64;
        }
        o.offset = free.back();
        free.pop_back();
      }
      for (size_t number = 0; number < s->operands.size(); ++number) {
        const Operand& o = s->operands[number];
        if (replaced.count(static_cast<int>(number))) continue;
        const int last = last_read[number];
        const bool unread = last < 0 && std::count(link.out.begin(), link.out.end(), number) > 0;
        if (o.offset >= 0 && (unread || last == l)) free.push_back(o.offset);
      }
    }
  }

  const std::vector<ChainCall>& calls_;
  const std::function<bool(size_t, int)>&ends_, &only_sizes_;
  int trailing_ = 0;
};

Dims BlockDims(int64_t rows, const Dims& row) {
  Dims dims(1, rows);
  for (int64_t d : row) dims.push_back(d);
  return dims;
}

}  // namespace

ChainMeta::ChainMeta(const Value& value) {
  if (!value.is_tensor()) return;
  const Tensor& t = value.tensor();
  static_cast<Form&>(*this) = Form(t);
  usual = has_data && !t.lod() && t.place() == CPUPlace();
}

std::vector<ChainSegment> FindSegments(const std::vector<ChainCall>& calls,
                                       const std::function<bool(size_t, int)>& ends,
                                       const std::function<bool(size_t, int)>& only_sizes) {
  return SegmentMaker(calls, ends, only_sizes).All();
}

ChainSegment::Views::Views(const ChainSegment& s) : values(s.operands.size()) {
  for (size_t k = 0; k < values.size(); ++k) {
    const Operand& o = s.operands[k];
    Tensor& t = values[k].MutableTensor();
    if (o.kind == Operand::Kind::kWhole) {
      t.SetMeta(o.whole_dims, o.meta.dtype);
    } else if (o.meta.dims != s.shape) {  // a column
      t.SetMeta(o.meta.dims, o.meta.dtype);
    } else {
      t.SetMeta(BlockDims(s.block_rows, s.row), o.meta.dtype);
    }
  }
  for (const Link& link : s.links) {
    Call& call = calls.emplace_back(link.call);
    for (size_t k = 0; k < link.in.size(); ++k)
      call.in.flat_at(static_cast<int>(k)) = link.in[k] < 0 ? nullptr : &values[link.in[k]];
    for (size_t k = 0; k < link.out.size(); ++k)
      call.out.flat_at(static_cast<int>(k)) = link.out[k] < 0 ? nullptr : &values[link.out[k]];
  }
}

void ChainSegment::Compute(int64_t begin_row, int64_t end_row, const std::vector<char*>& data,
                           Views* v) const {
  static DeviceContext& cpu = GetDeviceContext(CPUPlace());
  Ref<Storage> memory = scratch_bytes > 0 ? Storage::Make(CPUPlace(), scratch_bytes) : nullptr;
  char* scratch = memory ? static_cast<char*>(memory->data()) : nullptr;
  for (int64_t at = begin_row; at < end_row; at += block_rows) {
    const int64_t count = std::min(end_row - at, block_rows);
    for (size_t k = 0; k < operands.size(); ++k) {
      const Operand& o = operands[k];
      Tensor& t = v->values[k].MutableTensor();
      if (o.kind == Operand::Kind::kWhole) {
        if (at == begin_row) t.Show(data[k]);
      } else {
        char* rows_at = o.offset >= 0 ? scratch + o.offset : data[k] + at * o.row_bytes;
        t.ShowRows(rows_at, count, count * o.row_elements);
      }
    }
    for (size_t l = 0; l < links.size(); ++l) {
      KernelContext ctx(v->calls[l], cpu);
      links[l].kernel(ctx);
    }
  }
}

void ChainSegment::Run(const std::vector<char*>& data, Views* views) const {
  const int64_t width = std::max<int64_t>(1, Numel(row));
  const int64_t grain = std::max(block_rows, kGrain / static_cast<int64_t>(links.size()) / width);
  if (rows < 2 * grain) return Compute(0, rows, data, views);
  ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
    Views own(*this);
    Compute(begin, end, data, &own);
  });
}

}  // namespace dygraph::program
