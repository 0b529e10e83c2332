// The gradient operators of what runs a block: they run the block of the gradient for each turn
// that was kept, the last one first.
#pragma once

#include "op/op_registry.h"

namespace dygraph::block_grad {

constexpr int kAnyValue = kTakesRows | kTakesArray | kTakesTable | kTakesSteps;

// Their own attributes, beside those of the forward operator; A has members of these names.
template <class A>
void AddAttrs(OpDef& op) {
  op.Attr(&A::sub_block, "sub_block", "the block of an iteration's gradient")
      .Attr(&A::skip_eager_deletion_vars, "skip_eager_deletion_vars",
            "accepted from other programs, without effect")
      .Attr(&A::original_output_grad, "original_output_grad",
            "what the block calls each of Out@GRAD")
      .Attr(&A::restored, "restored", "the variables that Restored gives back")
      .Attr(&A::term_names, "term_names",
            "what the block calls the terms of each gradient, one after the other")
      .Attr(&A::term_counts, "term_counts", "how many terms each gradient has")
      .Attr(&A::kept, "kept", "kept values of iterations that have gradients in second order");
}

}  // namespace dygraph::block_grad
