// Notes the terms that an operator of a plan makes, hands on, or puts into an array.
#include "execute/frame.h"
#include "execute/term_order.h"

namespace dygraph::program {

namespace {

using Kind = TermNotes::Kind;

// The lists of an array's elements, to be changed.
TermLists& ListsIn(Value* value) {
  if (value->empty()) *value = Value(VarKind::kSteps, MakeRef<TermLists>());
  return const_cast<TermLists&>(value->Object<TermLists>(VarKind::kSteps));
}

int64_t IndexIn(const Value& value) {
  const Tensor t = CopyTo(value.tensor(), CPUPlace());
  return t.dtype() == DType::kInt32 ? *t.data<int32_t>() : *t.data<int64_t>();
}

}  // namespace

void PreparedProgram::NoteTerms(const PlanOp& op, Frame& frame) const {
  const TermNotes& notes = *op.terms;
  auto value = [&](int slot) -> Value& { return *frame.values[slot]; };
  switch (notes.kind) {
    case Kind::kMade:
      for (auto [slot, terms] : notes.out) {
        if (terms < 0) continue;
        value(terms) = Value();
        if (value(slot).empty()) continue;
        ++frame.made_terms;
        if (!value(slot).is_array()) {
          value(terms) = Held(OneTerm(frame.made_terms, value(slot)));
          continue;
        }
        for (const Tensor& item : value(slot).array().items)
          ListsIn(&value(terms)).items.push_back(OneTerm(frame.made_terms, Value(item)));
      }
      return;
    case Kind::kAdded: return;  // AddInOrder has noted them
    case Kind::kSame: {
      const auto [slot, terms] = notes.in[0];
      const bool given = terms < 0 && !value(slot).empty();
      value(notes.out[0].second) = given ? Held(OneTerm(0, value(slot)))
                                   : terms < 0 ? Value() : value(terms);
      return;
    }
    case Kind::kPut: {
      const auto [x, terms] = notes.in[0];
      const auto [array, lists] = notes.out[0];
      if (value(x).empty()) return;
      const size_t i = IndexIn(value(notes.in[1].first));
      std::vector<Ref<const Term>>& items = ListsIn(&value(lists)).items;
      if (items.size() <= i) items.resize(i + 1);
      TermSum sum(&notes);
      const Tensor& item = value(array).array().items.at(i);
      const bool first = item.raw_data() == value(x).tensor().raw_data();
      if (!first && !items[i]) return;  // terms of what is there are not known
      if (!first) sum.Add(items[i]);
      sum.Add(0, 1, frame.values);
      if (Value whole; !first && !sum.IsPlain() && sum.Get(place_, &whole))
        value(array).MutableArray().items[i] = whole.tensor();
      items[i] = sum.newest();
      return;
    }
    case Kind::kTaken: {
      const size_t i = IndexIn(value(notes.in[1].first));
      const auto [array, lists] = notes.in[0];
      Ref<const Term> list;
      if (lists >= 0 && !value(lists).empty() && i < ListsIn(&value(lists)).items.size())
        list = std::exchange(ListsIn(&value(lists)).items[i], nullptr);
      if (notes.out[0].second >= 0) value(notes.out[0].second) = Held(std::move(list));
      return;
    }
  }
}

}  // namespace dygraph::program
