// operators/optimizer/optimizer_loops.h on the device. The loops of several parameters' steps are
// one launch where they wait for each other: a kernel gets a table of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "cuda/scratch.h"
#include "kernels/elementwise.h"
#include "kernels/loops.h"
#include "kernels/touched_rows.h"
#include "op/number.h"
#include "op/op_registry.h"
#include "platform/loop_queue.h"

namespace dygraph::optimizer {

int64_t RowWidth(const Tensor& param);

namespace detail {

// f(read(), i) for each of n elements.
template <class Read, class F>
struct StepLoop {
  Read read;
  F f;
  int64_t n;
};

constexpr int64_t kChunk = 4096;  // elements of one block
constexpr size_t kTableBytes = 3800;

// N loops, and the first block of each.
template <class Loop, int N>
struct LoopTable {
  alignas(Loop) unsigned char loops[N * sizeof(Loop)];
  uint32_t first[N];
  int32_t count;
};

template <class Loop, int N>
__global__ void __launch_bounds__(cuda::kThreads)
    StepKernel(const __grid_constant__ LoopTable<Loop, N> table) {
  int at = 0;
  while (at + 1 < table.count && blockIdx.x >= table.first[at + 1]) ++at;
  const Loop loop = reinterpret_cast<const Loop*>(table.loops)[at];
  using Numbers = std::decay_t<decltype(loop.read())>;
  __shared__ Numbers shared;
  if (threadIdx.x == 0) shared = loop.read();
  __syncthreads();
  const Numbers numbers = shared;
  const int64_t begin = (blockIdx.x - table.first[at]) * kChunk;
  const int64_t end = loop.n - begin < kChunk ? loop.n : begin + kChunk;
  for (int64_t i = begin + threadIdx.x; i < end; i += cuda::kThreads) loop.f(numbers, i);
}

template <int N, class Loop>
void LaunchLoops(const Loop* loops, int count) {
  LoopTable<Loop, N> table;
  std::memset(static_cast<void*>(&table), 0, sizeof table);
  std::memcpy(table.loops, static_cast<const void*>(loops), count * sizeof(Loop));
  uint32_t blocks = 0;
  for (int i = 0; i < count; ++i) {
    table.first[i] = blocks;
    blocks += static_cast<uint32_t>((loops[i].n + kChunk - 1) / kChunk);
  }
  table.count = count;
  cuda::Run(StepKernel<Loop, N>, blocks, table);
}

template <class Loop>
void LaunchAll(const std::vector<Loop>& loops) {
  static_assert(std::is_trivially_copyable_v<Loop> && sizeof(Loop) + 4 <= kTableBytes);
  constexpr int kMost = static_cast<int>(kTableBytes / (sizeof(Loop) + 4));
  const int count = static_cast<int>(loops.size());
  for (int i = 0; i < count; i += kMost)
    LaunchLoops<kMost>(loops.data() + i, std::min(kMost, count - i));
}

template <class Loop>
class LoopBatch final : public LoopQueue::Batch {
 public:
  explicit LoopBatch(Place place) : place_(place) {}
  static std::unique_ptr<Batch> Make(Place place) { return std::make_unique<LoopBatch>(place); }

  // What the call reads may be copies that were made for it.
  void Add(const Call& call, const Loop& loop) {
    loops_.push_back(loop);
    for (const Value* v : call.in.flat()) {
      if (v && v->is_tensor()) read_.push_back(v->tensor().storage());
    }
  }
  void Run() override {
    GetDeviceContext(place_).Enter();
    LaunchAll(loops_);
  }

 private:
  Place place_;
  std::vector<Loop> loops_;
  std::vector<Ref<Storage>> read_;
};

template <class Loop>
constexpr char kKind = 0;

template <class Read, class F>
void RunLoop(const KernelContext& ctx, int64_t n, Read read, F f, bool wait, bool last) {
  using Loop = StepLoop<Read, F>;
  if (n <= 0) return;
  const Loop loop{read, f, n};
  LoopQueue* queue = ctx.call().queue;
  if (!queue || !wait) return LaunchLoops<1>(&loop, 1);
  LoopQueue::Batch& batch = queue->BatchOf(&kKind<Loop>, ctx.place(), last, LoopBatch<Loop>::Make);
  static_cast<LoopBatch<Loop>&>(batch).Add(ctx.call(), loop);
}

// A step of element i whose gradient an array holds.
template <class T, class F>
struct WithGrad {
  F f;
  const T* g;
  template <class Numbers>
  DYGRAPH_BOTH void operator()(const Numbers& m, int64_t i) const {
    f(m, i, g[i]);
  }
};

// The same for element i of the rows that a gradient names, whose occurrences it adds up.
template <class T, class F>
struct WithTouched {
  F f;
  const T* values;
  int64_t width;
  kernels::RowGroups groups;
  template <class Numbers>
  DYGRAPH_BOTH void operator()(const Numbers& m, int64_t i) const {
    const int64_t group = i / width, k = i % width;
    T g = 0;
    for (int64_t j = groups.begin[group]; j < groups.begin[group + 1]; ++j)
      g += values[groups.order[j] * width + k];
    f(m, groups.name[group] * width + k, g);
  }
};

struct Nothing {
  DYGRAPH_BOTH int operator()() const { return 0; }
};
template <class F>
struct Once {
  F f;
  DYGRAPH_BOTH void operator()(int, int64_t) const { f(); }
};

}  // namespace detail

template <class T, class Read, class F>
void EachElement(const KernelContext& ctx, int64_t n, int64_t, Read read, F f,
                 bool at_once = false) {
  detail::RunLoop(ctx, n, read, f, !at_once, false);
}

template <class F>
void AfterStep(const KernelContext& ctx, F f) {
  detail::RunLoop(ctx, 1, detail::Nothing{}, detail::Once<F>{f}, true, true);
}

template <class T, class Read, class F>
void ForEachElement(KernelContext& ctx, int param_slot, int grad_slot, Read read, F f,
                    bool at_once = false) {
  const Tensor& param = ctx.In(param_slot);
  const int64_t n = param.numel();
  using Step = detail::WithGrad<T, F>;
  if (!ctx.IsRows(grad_slot)) {
    const T* g = ctx.In(grad_slot).data<T>();
    return detail::RunLoop(ctx, n, read, Step{f, g}, !at_once, false);
  }
  const SelectedRows& rows = ctx.InRows(grad_slot);
  const int64_t width = RowWidth(param), count = static_cast<int64_t>(rows.rows().size());
  cuda::Workspace<T> dense(n);
  T* sums = dense.data();
  kernels::Fill(sums, n, T(0));
  if (count > 0) {
    const T* v = rows.value().data<T>();
    kernels::ForEachTouched<T>(rows.rows().data(), count, width,
                               [=] DYGRAPH_FN(int64_t row, int64_t i, int64_t k) {
                                 sums[row * width + k] += v[i * width + k];
                               });
  }
  detail::RunLoop(ctx, n, read, Step{f, sums}, false, false);
}

template <class T, class Read, class F>
void ForEachTouchedElement(KernelContext& ctx, int param_slot, int grad_slot, Read read, F f) {
  const SelectedRows& rows = ctx.InRows(grad_slot);
  const int64_t width = RowWidth(ctx.In(param_slot));
  if (rows.rows().empty() || width == 0) return;
  const kernels::GroupedRows groups(rows.rows().data(), static_cast<int64_t>(rows.rows().size()));
  detail::RunLoop(ctx, groups.count() * width, read,
                  detail::WithTouched<T, F>{f, rows.value().data<T>(), width, groups.groups()},
                  false, false);
}

namespace detail {
constexpr int64_t kMostParts = 1024;

// *to = the root of the sum of squares of n elements; `part` has room for kMostParts.
template <class T>
void MeasureLength(const T* x, int64_t n, double* to, double* part) {
  const int64_t size = std::max<int64_t>(4096, (n + kMostParts - 1) / kMostParts);
  const int64_t parts = (n + size - 1) / size;
  kernels::ForEachRow(parts, size, [=] DYGRAPH_FN(int64_t p, kernels::Team team) {
    const T* from = x + p * size;
    const double sum = team.Sum<double>(n - p * size < size ? n - p * size : size,
                                        [=](int64_t i) { return double{from[i]} * from[i]; });
    team.Once([=] { part[p] = sum; });
  });
  kernels::ForEachRow(1, parts, [=] DYGRAPH_FN(int64_t, kernels::Team team) {
    const double sum = team.Sum<double>(parts, [=](int64_t p) { return part[p]; });
    team.Once([=] { *to = std::sqrt(sum); });
  });
}
}  // namespace detail

class Length {
 public:
  template <class T>
  Length(const KernelContext& ctx, const T* x, int64_t n)
      : memory_(std::make_shared<cuda::Workspace<double>>(1 + detail::kMostParts)) {
    detail::MeasureLength(x, n, memory_->data(), memory_->data() + 1);
    if (LoopQueue* queue = ctx.call().queue) queue->Keep(memory_);
  }
  Number<double> number() const {
    return Number<double>(static_cast<const double*>(memory_->data()));
  }

 private:
  std::shared_ptr<cuda::Workspace<double>> memory_;
};

}  // namespace dygraph::optimizer
