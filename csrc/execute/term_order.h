// The order of terms. A gradient is a sum, whose bits depend on the order in which its terms are
// added: that of the tape is the order in which they are made. A program knows one value under
// several names where a loop carries it or a choice hands it on, and each name has its own sum.
// Where such a sum becomes a term of another sum, its terms are kept until then, each with the
// number of its making; if they do not come in order, they are added anew.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "execute/plan.h"
#include "tensor/value.h"

namespace dygraph::program {

// Finds the sums whose terms may come in another order than that of the tape, and what makes them.
// The plan gets a slot for the terms of each gradient that takes part.
void FindTermOrder(Plan& plan);

class TermList : public ValueObject {
 public:
  std::vector<std::pair<uint64_t, Value>> terms;
};

// Of the elements of an array.
class TermLists : public ValueObject {
 public:
  std::vector<Ref<TermList>> items;
};

// A sum while it is added up. Without notes it does nothing.
class TermSum {
 public:
  explicit TermSum(const TermNotes* notes);
  // Terms of the inputs from `begin` on.
  void Add(size_t begin, size_t end, const std::vector<Value*>& values);
  void Add(const Value& sum, const TermList& terms);
  // Whether it is the sum of the inputs from left to right.
  bool IsPlain() const { return plain_; }
  // False: not all terms are known.
  bool Get(Place place, Value* sum);
  bool GetAnew(Place place, Value* sum) {
    added_ = 1;
    return Get(place, sum);
  }
  void Leave(const std::vector<Value*>& values);
  const Ref<TermList>& list() const { return list_; }

 private:
  const TermNotes* notes_;
  Ref<TermList> list_;  // null: not all of them are known
  size_t added_ = 0;    // so many of them are in sum_
  Value sum_;
  bool plain_ = true;
};

// Does a sum's work where its terms must be added in another order than that of its inputs.
bool AddInOrder(const TermNotes& notes, Place place, const std::vector<Value*>& values);

}  // namespace dygraph::program
