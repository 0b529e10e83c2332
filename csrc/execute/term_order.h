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

// A list of terms by the newest one. Lists share their older terms, so that one more costs no copy
// where a loop adds to its sum in every turn.
class Term : public ValueObject {
 public:
  Term(uint64_t number, Value value, Ref<const Term> older)
      : number(number), value(std::move(value)), older(std::move(older)) {}
  ~Term() override;  // frees a long list without recursion

  const uint64_t number;
  const Value value;
  mutable Ref<const Term> older;
  // The sum up to this term, which a sum that goes on from here needs; empty: not known.
  mutable Value sum;
};

// The list of one term, and what a variable holds for a list.
Ref<const Term> OneTerm(uint64_t number, const Value& value);
Value Held(Ref<const Term> list);

// Of the elements of an array.
class TermLists : public ValueObject {
 public:
  std::vector<Ref<const Term>> items;
};

// A sum while it is added up. Without notes it does nothing.
class TermSum {
 public:
  explicit TermSum(const TermNotes* notes) : notes_(notes), known_(notes != nullptr) {}
  // Terms of the inputs from `begin` on.
  void Add(size_t begin, size_t end, const std::vector<Value*>& values);
  void Add(Ref<const Term> newest);
  // Whether it is the sum of the inputs from left to right.
  bool IsPlain() const { return plain_; }
  // False: not all terms are known.
  bool Get(Place place, Value* sum);
  void Leave(const std::vector<Value*>& values);
  const Ref<const Term>& newest() const { return newest_; }

 private:
  const TermNotes* notes_;
  bool known_;
  Ref<const Term> newest_;
  bool plain_ = true;
};

// Does a sum's work where its terms must be added in another order than that of its inputs.
bool AddInOrder(const TermNotes& notes, Place place, const std::vector<Value*>& values);

}  // namespace dygraph::program
