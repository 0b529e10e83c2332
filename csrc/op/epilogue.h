// What follows a call element by element, and what its kernel may do before it writes the result:
// a program's convolution, say, ends in the normalisation that reads it.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "op/call.h"
#include "tensor/tensor.h"

namespace dygraph {

// y = (x - mean) * factor + summand by channel, then + added where there is one, then relu where it
// is asked for. Every step is rounded, as the operators that this stands for do.
struct Epilogue {
  enum class State {
    kLeft,     // the kernel wrote x
    kDone,     // it wrote y
    kUnusual,  // it wrote x, if not into `added`: only the operators treat values such as NaN
  };

  std::vector<float> vectors;  // mean, factor and summand of all channels, in this order
  std::array<Ref<Storage>, 4> made_of;  // what these are true of; held, so that it is not written
  const Tensor* added = nullptr;
  bool into_added = false;  // the result may be written where `added` is
  bool relu = false;
  State state = State::kLeft;  // the kernel says so

  int64_t channels() const { return static_cast<int64_t>(vectors.size() / 3); }
};

// Fills an epilogue with what the call would do to its first input, which is not there yet. False
// for a call of other values: its own checks find the words.
using MakeEpilogue = bool (*)(const Call& call, Epilogue* epilogue);

void RegisterEpilogue(const std::string& type, MakeEpilogue make);
MakeEpilogue FindEpilogue(const std::string& type);  // nullptr: the operator cannot be one

// Where an operator is defined: its calls with running statistics and the like can end others.
struct EpilogueRegistration {
  EpilogueRegistration(const char* type, MakeEpilogue make) { RegisterEpilogue(type, make); }
};
#define REGISTER_EPILOGUE(type, make) \
  static ::dygraph::EpilogueRegistration epilogue_registration_##type(#type, make)

}  // namespace dygraph
