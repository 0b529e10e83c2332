#include "kernels/axis_map.h"

#include <vector>

#include "kernels/axis_map_plan.h"
#include "kernels/broadcast.h"
#include "kernels/elementwise.h"
#include "kernels/even_rows.h"
#include "kernels/strided_copy.h"

namespace dygraph::kernels {
namespace {

// The element of x for element i of y, -1 for none.
int64_t Source(const AxisMap& m, int64_t i) {
  int64_t at = i - m.before;
  if (at < 0 || at >= m.in) {
    switch (m.outside) {
      case Outside::kFill: return -1;
      case Outside::kWrap: at = (at % m.in + m.in) % m.in; break;
      case Outside::kEdge: at = at < 0 ? 0 : m.in - 1; break;
      case Outside::kReflect: at = at < 0 ? -at : 2 * (m.in - 1) - at; break;
    }
  }
  return m.reversed ? m.in - 1 - at : at;
}

// Consecutive elements of y whose sources are `step` apart; from -1: none.
struct Run {
  int64_t to, from, count, step;
};

// The walk both directions share: the axes in front by a table each, the last axis that is not
// copied as it is by runs, what follows it as one block.
struct Path {
  int64_t block = 1;
  std::vector<std::vector<int64_t>> tables;  // offsets in x, -1 for none
  std::vector<Run> runs;
  int64_t rows = 1, row = 1;  // rows of y and their length in elements
  bool first_is_one_to_one = false;

  explicit Path(Span<const AxisMap> maps) {
    int rank = static_cast<int>(maps.size());
    while (rank > 0 && maps[rank - 1].IsIdentity()) block *= maps[--rank].out;
    AxisMap last;
    int64_t stride = block;
    if (rank > 0) {
      last = maps[rank - 1];
      stride *= last.in;
    }
    for (int64_t i = 0; i < last.out; ++i) {
      int64_t from = Source(last, i);
      if (!runs.empty()) {
        Run& run = runs.back();
        if (from < 0 ? run.from < 0 : run.from >= 0 && run.count == 1) {
          run.step = from < 0 ? 0 : from - run.from;
          ++run.count;
          continue;
        }
        if (from >= 0 && run.from >= 0 && from == run.from + run.count * run.step) {
          ++run.count;
          continue;
        }
      }
      runs.push_back({i * block, from, 1, 1});
    }
    for (Run& run : runs) {
      if (run.from >= 0) run.from *= block;
    }
    row = last.out * block;
    for (int k = rank - 2; k >= 0;) {
      // neighbours that are copied as they are make one axis
      AxisMap m = maps[k--];
      while (m.IsIdentity() && k >= 0 && maps[k].IsIdentity()) {
        m.in *= maps[k--].in;
        m.out = m.in;
      }
      std::vector<int64_t> table(static_cast<size_t>(m.out));
      for (int64_t i = 0; i < m.out; ++i) {
        int64_t from = Source(m, i);
        table[i] = from < 0 ? -1 : from * stride;
      }
      first_is_one_to_one = m.outside == Outside::kFill || m.IsIdentity();
      stride *= m.in;
      rows *= m.out;
      tables.insert(tables.begin(), std::move(table));
    }
  }

  // The run with sources where there is one that is dense, and rows to take it from; else null.
  const Run* OnlyPart() const {
    const Run* part = nullptr;
    for (const Run& run : runs) {
      if (run.from < 0) continue;
      if (part || run.step != 1 || tables.empty()) return nullptr;
      part = &run;
    }
    return part;
  }

  // Offset in x of row r, -1 for none.
  int64_t RowSource(int64_t r) const {
    int64_t offset = 0;
    for (size_t k = tables.size(); k-- > 0;) {
      int64_t n = static_cast<int64_t>(tables[k].size()), from = tables[k][r % n];
      if (from < 0) return -1;
      offset += from;
      r /= n;
    }
    return offset;
  }
};

template <class U>
void FillFew(U* to, int64_t n, U value) {
  for (int64_t i = 0; i < n; ++i) to[i] = value;
}

// Padding and cropping: of each row of y one part comes from x, and rows that follow each other in
// y lie evenly in x.
template <class U>
void GatherBox(const Path& path, const Run& part, const U* x, U* y, U fill) {
  const std::vector<int64_t>& table = path.tables.back();
  const int64_t size = static_cast<int64_t>(table.size()), width = part.count * path.block;
  const int64_t gap = path.row - width;
  ParallelRows(path.rows, path.row, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin, count = 0; r < end; r += count) {
      count = 1;
      U* to = y + r * path.row;
      const int64_t at = r % size, most = std::min(end - r, size - at);
      const int64_t offset = path.RowSource(r);
      if (offset < 0) {
        // the table, or one in front of it, has none
        while (count < most && table[at] < 0 && table[at + count] < 0) ++count;
        std::fill_n(to, count * path.row, fill);
        continue;
      }
      const int64_t step = most > 1 && table[at + 1] >= 0 ? table[at + 1] - table[at] : 0;
      while (count < most && table[at + count] >= 0 &&
             table[at + count] == table[at] + count * step)
        ++count;
      CopyEvenRows(x + offset + part.from, step, to + part.to, path.row, count, width);
      if (gap == 0) continue;
      FillFew(to, part.to, fill);
      for (int64_t i = 1; i < count; ++i)  // behind one row and in front of the next
        FillFew(to + (i - 1) * path.row + part.to + width, gap, fill);
      FillFew(to + (count - 1) * path.row + part.to + width, gap - part.to, fill);
    }
  });
}

template <class U>
void Gather(const Path& path, const U* x, U* y, U fill) {
  if (const Run* part = path.OnlyPart()) return GatherBox(path, *part, x, y, fill);
  int64_t block = path.block;
  ParallelRows(path.rows, path.row, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      U* to = y + r * path.row;
      int64_t offset = path.RowSource(r);
      if (offset < 0) {
        std::fill_n(to, path.row, fill);
        continue;
      }
      for (const Run& run : path.runs) {
        U* part = to + run.to;
        const U* from = x + offset + run.from;
        if (run.from < 0) {
          std::fill_n(part, run.count * block, fill);
        } else if (run.step == 1) {
          std::copy_n(from, run.count * block, part);
        } else if (block == 1) {
          for (int64_t i = 0; i < run.count; ++i) part[i] = from[i * run.step];
        } else {
          for (int64_t i = 0; i < run.count; ++i)
            std::copy_n(from + i * run.step * block, block, part + i * block);
        }
      }
    }
  });
}

template <class T>
DYGRAPH_INLINE void AddTo(T* to, const T* from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] += from[i];
}

}  // namespace

void GatherAxes(Span<const AxisMap> maps, const void* x, void* y, size_t element_size,
                const void* fill) {
  for (const AxisMap& m : maps) {
    if (m.out == 0) return;
  }
  if (AllTile(maps)) {
    TiledAxes t(maps);
    if (t.dims.size() <= kMaxRank)
      return CopyStrided(t.dims, x, t.x_strides, y, t.y_strides, element_size);
  }
  Path path(maps);
  auto gather = [&](auto zero) {
    using U = decltype(zero);
    U value;
    std::memcpy(&value, fill, sizeof(U));
    Gather(path, static_cast<const U*>(x), static_cast<U*>(y), value);
  };
  switch (element_size) {
    case 1: return gather(uint8_t());
    case 2: return gather(uint16_t());
    case 4: return gather(uint32_t());
    case 8: return gather(uint64_t());
    case 16: return gather(complex128());
    default:
      THROW(InvalidArgument, "elements must be of 1, 2, 4, 8 or 16 bytes, got ", element_size);
  }
}

template <class T>
void ScatterAxes(Span<const AxisMap> maps, const T* g, T* x_grad) {
  int64_t n = 1, from = 1;
  for (const AxisMap& m : maps) {
    n *= m.in;
    from *= m.out;
  }
  if (n == 0) return;
  if (from > 0 && AllTile(maps)) {
    TiledAxes t(maps);
    if (t.dims.size() <= kMaxRank) {
      if (t.dims.empty()) {
        x_grad[0] = g[0];
        return;
      }
      return SumTo(t.dims, g, t.y_strides, x_grad, t.x_strides);
    }
  }
  if (std::vector<AxisMap> inverse = Inverse(maps); from > 0 && !inverse.empty()) {
    const T zero(0);
    return GatherAxes(inverse, g, x_grad, sizeof(T), &zero);
  }
  Fill(x_grad, n, T(0));
  if (from == 0) return;
  Path path(maps);
  auto add_row = [&](int64_t r) {
    int64_t offset = path.RowSource(r), block = path.block;
    if (offset < 0) return;
    for (const Run& run : path.runs) {
      if (run.from < 0) continue;
      const T* part = g + r * path.row + run.to;
      T* to = x_grad + offset + run.from;
      if (run.step == 1) {
        AddTo(to, part, run.count * block);
      } else {
        for (int64_t i = 0; i < run.count; ++i)
          AddTo(to + i * run.step * block, part + i * block, block);
      }
    }
  };
  // Rows of different places of the first axis may go to different threads where no two of them
  // meet.
  int64_t groups = 1;
  if (!path.tables.empty() && path.first_is_one_to_one)
    groups = static_cast<int64_t>(path.tables[0].size());
  int64_t rows = path.rows / groups;
  ParallelRows(groups, rows * path.row, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin * rows; r < end * rows; ++r) add_row(r);
  });
}

template void ScatterAxes(Span<const AxisMap>, const float*, float*);
template void ScatterAxes(Span<const AxisMap>, const double*, double*);
template void ScatterAxes(Span<const AxisMap>, const complex64*, complex64*);
template void ScatterAxes(Span<const AxisMap>, const complex128*, complex128*);

}  // namespace dygraph::kernels
