// Who writes where, when several threads write into one array at places that a list names.
#pragma once

#include <algorithm>
#include <cstdint>

#include "platform/threads.h"

namespace dygraph::kernels {

// Shares the places of an array out to pieces, so that all writes to one place happen in one piece,
// in the order of the list. Whole cache lines have one owner, and neighbouring lines different
// ones: small numbers, which are the frequent ones in vocabularies, are everybody's.
class Owners {
 public:
  // `place_bytes`: how far apart the places lie.
  explicit Owners(int64_t place_bytes) : pieces_(std::min<int64_t>(NumThreads(), kShares)) {
    while (std::max<int64_t>(place_bytes, 1) << shift_ < kLine) ++shift_;
  }
  int64_t pieces() const { return pieces_; }

  // Of one piece.
  struct Share {
    uint64_t mine;
    int shift;
    bool Has(int64_t place) const { return mine >> (place >> shift & (kShares - 1)) & 1; }
  };
  Share ShareOf(int64_t piece) const {
    Share share{0, shift_};
    for (int64_t i = 0; i < kShares; ++i)
      share.mine |= static_cast<uint64_t>(i % pieces_ == piece) << i;
    return share;
  }

 private:
  static constexpr int64_t kShares = 64, kLine = 128;  // lines are fetched in pairs
  int64_t pieces_;
  int shift_ = 0;
};

}  // namespace dygraph::kernels
