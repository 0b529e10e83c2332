// What a variable holds that is no tensor: counted, each kind a class of its own.
#pragma once

#include "base/ref.h"

namespace dygraph {

class ValueObject : public RefCounted<ValueObject> {
 public:
  virtual ~ValueObject() = default;
};

}  // namespace dygraph
