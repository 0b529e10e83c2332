// Mixed precision as a layer: calls of some operators get their floats in a narrow type, others in
// float32. Slots of parameters and statistics (kWide) are float32 in any case; a bias has the type
// of what it is added to.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "tape/added_layer.h"

namespace dygraph {

class AutoCast : public AddedLayer {
 public:
  // `narrow`: float16 or bfloat16, for the operators in `white`; those in `black` compute in
  // float32. NotFound for a name that is no operator.
  AutoCast(DType narrow, const std::vector<std::string>& white,
           const std::vector<std::string>& black);

  void Run(EagerCall& call) override;

  // By operator: calls that computed in float32 because their place has no narrow kernel.
  std::map<std::string, int64_t> widened() const;

 private:
  // The type that all floats of the call should have; kUnset: as they are.
  DType Wanted(const EagerCall& call);
  void Widened(const OpInfo& op);

  DType narrow_;
  std::unordered_set<const OpInfo*> white_, black_;
  mutable std::mutex mutex_;
  std::map<std::string, int64_t> widened_;
};

}  // namespace dygraph
