// Vectors, spans and arrays check their indices in every build; a shape has at most kMaxRank axes.
#include "base/bounds.h"

#include "base/small_vector.h"
#include "check.h"
#include "kernels/strides.h"
#include "op/call.h"
#include "tensor/tensor.h"

using namespace dygraph;

int main() {
  SmallVector<int, 2> list{1, 2, 3};
  const SmallVector<int, 2>& same = list;
  CHECK_EQ(list[2], 3);
  CHECK_THROWS(list[3], OutOfRange, "a position must be below 3, got 3");
  CHECK_THROWS(same[size_t(-1)], OutOfRange, "a position must be below 3, got -1");
  CHECK_THROWS((SmallVector<int, 2>().back()), OutOfRange, "a position must be below 0");
  CHECK_THROWS((SmallVector<int, 2>().front()), OutOfRange, "a position must be below 0");
  SmallVector<int, 2> none;
  CHECK_THROWS(none.pop_back(), OutOfRange, "a position must be below 0");
  CHECK_EQ(none.size(), size_t{0});

  Span<const int> span = list;
  CHECK_EQ(span[0], 1);
  CHECK_THROWS(span[3], OutOfRange, "a position must be below 3, got 3");

  FixedArray<int, 2> pair{};
  pair[1] = 5;
  CHECK_EQ(pair[1], 5);
  CHECK_THROWS(pair[2], OutOfRange, "a position must be below 2, got 2");

  SlotList<const Value> slots;
  for (int i = 0; i < kMaxSlots; ++i) slots.Close();
  CHECK_THROWS(slots.Close(), OutOfRange, "a position must be below 24, got 24");
  CHECK_EQ(slots.slots(), kMaxSlots);

  Dims wide(kMaxRank + 1, 1);
  CHECK_THROWS(Tensor(wide, DType::kFloat32), InvalidArgument, "at most 16 axes, got 17");
  Tensor meta;
  CHECK_THROWS(meta.SetMeta(wide, DType::kFloat32), InvalidArgument, "at most 16 axes, got 17");
  Tensor empty(Dims{0, 3}, DType::kFloat32);
  wide[0] = 0;
  CHECK_THROWS(empty.Reshaped(wide), InvalidArgument, "at most 16 axes, got 17");

  kernels::Walk<1> walk;
  for (int i = 0; i < kMaxRank; ++i) walk.Push(2, {int64_t{3} * (i + 1) * (i + 2)});
  CHECK_THROWS(walk.Push(2, {int64_t{1} << 40}), InvalidArgument, "the rank must be at most 16");
  CHECK_THROWS(kernels::Odometer<1>(walk, kMaxRank + 1, 0), OutOfRange, "has no 17");
  return testing::Finish();
}
