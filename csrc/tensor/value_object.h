// Values of variables other than tensors: counted, with a class for each kind.
#pragma once

#include "base/ref.h"

namespace dygraph {

class ValueObject : public RefCounted<ValueObject> {
 public:
  virtual ~ValueObject() = default;
};

}  // namespace dygraph
