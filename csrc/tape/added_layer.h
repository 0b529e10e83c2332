// Layers added to a thread's chain from outside: the class AddedLayer of tape/layer.h, of which
// each call passes the newest first and the tape after all. docs/new_layer.md adds one.
#pragma once

#include <memory>

#include "tape/door.h"
#include "tape/thread_state.h"

namespace dygraph {

// For the calls of this thread, until it is removed. A layer may be added several times, and to
// several threads; layers are removed in any order, also while one runs. One that is added while
// another runs stands below that.
void AddLayer(std::shared_ptr<AddedLayer> layer);
// Its newest place on this thread; PreconditionNotMet where it has none.
void RemoveLayer(const AddedLayer* layer);

// Adds a layer for a scope of C++ code.
class LayerScope {
 public:
  explicit LayerScope(const std::shared_ptr<AddedLayer>& layer) : layer_(layer) {
    AddLayer(layer);
  }
  ~LayerScope();
  LayerScope(const LayerScope&) = delete;
  LayerScope& operator=(const LayerScope&) = delete;

 private:
  std::shared_ptr<AddedLayer> layer_;
};

}  // namespace dygraph
