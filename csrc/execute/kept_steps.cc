#include "execute/kept_steps.h"

#include "base/pool.h"

namespace dygraph::program {

namespace {
template <class T>
using BlockPool = Pool<T, 512>;  // 2 MB of a thread
}  // namespace

void* KeptSteps::Block::operator new(size_t) { return BlockPool<Block>::Get(); }
void KeptSteps::Block::operator delete(void* p) { BlockPool<Block>::Put(p); }

KeptSteps::Block::~Block() {
  for (const Value& v : values) {  // the counts of old values are no longer in the cache
    if (v.is_tensor()) __builtin_prefetch(v.tensor().storage().get());
  }
}

void KeptSteps::Fill(int64_t turns, const KeptSteps* like) {
  turns_ = turns;
  count_ = turns * width_;
  Reserve(count_);
  if (!like || like->turns() != turns) return;
  for (size_t i = 0; i < count_; ++i) At(i) = like->At(i);
}

}  // namespace dygraph::program
