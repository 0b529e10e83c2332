#include "execute/term_order.h"

#include <algorithm>
#include <map>
#include <set>

#include "program/op_binding.h"
#include "run/run.h"

namespace dygraph::program {

namespace {

using Kind = TermNotes::Kind;

// What an operator does with terms.
Kind KindOf(const PlanOp& op) {
  const std::string& type = op.info->type;
  auto is_set = [&](const char* name) {
    const bool* value = op.desc->FindAttr<bool>(name);
    return value && *value;
  };
  if (op.control || !op.parts.empty()) return Kind::kMade;
  if (type == "sum") return Kind::kAdded;
  if (type == "assign" && is_set(kHandsOn)) return Kind::kSame;
  if (type == "write_to_array" && is_set("add")) return Kind::kPut;
  const int rest = type == "read_from_array" ? op.Output("Rest") : -1;
  return rest >= 0 && rest == op.Input("X") ? Kind::kTaken : Kind::kMade;
}

// The inputs whose terms the output takes over.
std::vector<int> TakenFrom(const PlanOp& op, Kind kind) {
  if (kind == Kind::kMade) return {};
  if (kind == Kind::kAdded) return {op.in.begin(), op.in.end()};
  return {op.Input("X")};
}

class Finder {
 public:
  explicit Finder(Plan& plan) : plan_(plan) {
    ForEachOp(plan_.ops, [&](PlanOp& op) { op.control ? LookAtBlock(op) : LookAt(op); });
    if (handed_.empty()) return;
    Spread(onward_, &handed_);
    ForEachOp(plan_.ops, [&](PlanOp& op) { FindMerges(op); });
    Spread(back_, &needed_);
    ForEachOp(plan_.ops, [&](PlanOp& op) { Note(&op); });
  }

 private:
  using Edges = std::map<int, std::vector<int>>;

  void Link(int from, int to) {
    if (from < 0 || to < 0) return;
    onward_[from].push_back(to);
    back_[to].push_back(from);
    made_.insert(to);
  }

  void LookAt(const PlanOp& op) {
    const Kind kind = KindOf(op);
    for (int to : op.out) {
      if (to < 0) continue;
      made_.insert(to);
      for (int from : TakenFrom(op, kind)) Link(from, to);
      const bool hands = kind == Kind::kSame || kind == Kind::kPut || kind == Kind::kTaken;
      if (hands) handed_.insert(to);
    }
  }

  void LookAtBlock(const PlanOp& op) {
    made_.insert(op.out.begin(), op.out.end());
    for (const PlanControl::Flow& flow : op.control->flows) {
      for (int from : {flow.from, flow.out}) {
        Link(from, flow.in);
        Link(from, flow.to);
      }
      Link(flow.in, flow.to);
    }
    for (const PlanControl::Gather& gather : op.control->gathers) {
      Link(gather.before, gather.to);
      for (int from : gather.terms) Link(from, gather.to);
    }
  }

  static void Spread(const Edges& edges, std::set<int>* slots) {
    std::vector<int> open(slots->begin(), slots->end());
    while (!open.empty()) {
      const int slot = open.back();
      open.pop_back();
      auto at = edges.find(slot);
      if (at == edges.end()) continue;
      for (int next : at->second) {
        if (slots->insert(next).second) open.push_back(next);
      }
    }
  }

  bool IsHanded(int slot) const { return handed_.count(slot) > 0; }

  // A sum that a name's sum enters after others, which may have terms that are older.
  bool Merges(const PlanOp& op) const {
    const Kind kind = KindOf(op);
    if (kind == Kind::kPut) return true;
    return kind == Kind::kAdded && op.in.size() > 1 && std::any_of(op.in.begin() + 1, op.in.end(),
                                               [&](int s) { return IsHanded(s); });
  }
  bool Merges(const PlanControl::Gather& gather) const {
    return std::any_of(gather.terms.begin(), gather.terms.end(),
                       [&](int s) { return IsHanded(s); });
  }

  void FindMerges(const PlanOp& op) {
    if (!op.control) {
      if (!Merges(op)) return;
      for (int s : TakenFrom(op, KindOf(op))) needed_.insert(s);
      if (KindOf(op) == Kind::kPut) needed_.insert(op.Output("Out"));
      return;
    }
    for (const PlanControl::Gather& gather : op.control->gathers) {
      if (!Merges(gather)) continue;
      if (gather.before >= 0) needed_.insert(gather.before);
      needed_.insert(gather.terms.begin(), gather.terms.end());
    }
  }

  // The slot for the terms of a slot's value.
  int TermsOf(int slot) {
    if (slot < 0 || !needed_.count(slot) || !made_.count(slot)) return -1;
    auto [at, is_new] = terms_of_.emplace(slot, static_cast<int>(plan_.slots.size()));
    if (is_new) plan_.slots.push_back({plan_.slots[slot].name + "@TERMS", false, 1});
    return at->second;
  }

  template <class Slots>
  TermNotes::Slots Pairs(const Slots& slots) {
    TermNotes::Slots pairs;
    for (int s : slots) {
      if (s >= 0) pairs.emplace_back(s, TermsOf(s));
    }
    return pairs;
  }

  void Note(PlanOp* op) {
    if (op->control) NoteBlock(op);
    const Kind kind = KindOf(*op);
    TermNotes notes{kind, {}, {}};
    for (const auto& [slot, terms] : Pairs(op->out)) {
      const bool own = !op->control || !IsPassed(*op->control, slot);
      if (terms >= 0 && own) notes.out.emplace_back(slot, terms);
    }
    if (!notes.out.empty() || (!op->control && Merges(*op))) {
      notes.in = Pairs(TakenFrom(*op, kind));
      if (kind != Kind::kMade) notes.out = Pairs(op->out);
      if (kind == Kind::kPut || kind == Kind::kTaken)
        notes.in.emplace_back(op->Input("I"), -1);
      op->terms = std::make_shared<TermNotes>(std::move(notes));
    }
    std::vector<int> ended;
    for (int s : op->done) {
      if (int terms = TermsOf(s); terms >= 0) ended.push_back(terms);
    }
    for (int s : ended) op->done.push_back(s);
  }

  // Whether the block gives its terms along with the gradient.
  static bool IsPassed(const PlanControl& control, int slot) {
    auto is_to = [&](const auto& each) { return each.to == slot; };
    return std::any_of(control.flows.begin(), control.flows.end(), is_to) ||
           std::any_of(control.gathers.begin(), control.gathers.end(), is_to) ||
           std::count(control.arrays.begin(), control.arrays.end(), slot) > 0 ||
           !control.is_gradient();
  }

  void NoteBlock(PlanOp* op) {
    PlanControl& control = *op->control;
    std::vector<PlanControl::Flow> flows;
    for (const PlanControl::Flow& flow : control.flows) {
      const int in = TermsOf(flow.in), to = TermsOf(flow.to);
      if (in >= 0) flows.push_back({TermsOf(flow.from), in, TermsOf(flow.out), to});
    }
    control.flows.insert(control.flows.end(), flows.begin(), flows.end());
    for (PlanControl::Gather& gather : control.gathers) {
      if (TermsOf(gather.to) < 0 && !Merges(gather)) continue;
      std::vector<int> in = gather.terms;
      if (gather.before >= 0) in.insert(in.begin(), gather.before);
      gather.notes = std::make_shared<TermNotes>(
          TermNotes{Kind::kAdded, Pairs(in), {{gather.to, TermsOf(gather.to)}}});
    }
    std::vector<int> locals;
    for (int s : control.body.locals) {
      if (int terms = TermsOf(s); terms >= 0) locals.push_back(terms);
    }
    control.body.locals.insert(control.body.locals.end(), locals.begin(), locals.end());
  }

  Plan& plan_;
  Edges onward_, back_;
  std::set<int> made_, handed_, needed_;
  std::map<int, int> terms_of_;
};

Ref<const Term> ListIn(const Value& value) {
  if (value.empty()) return nullptr;
  return Ref<const Term>(&value.Object<Term>(VarKind::kSteps));
}

// The terms of two lists in the order of their numbers; of equal ones those of `a` come first.
Ref<const Term> Merged(Ref<const Term> a, Ref<const Term> b) {
  std::vector<Ref<const Term>> newer;
  while (a && b) {
    Ref<const Term>& newest = b->number >= a->number ? b : a;
    newer.push_back(newest);
    newest = Ref<const Term>(newest->older);
  }
  Ref<const Term> list = a ? a : b;
  for (; !newer.empty(); newer.pop_back())
    list = Ref<const Term>(new Term(newer.back()->number, newer.back()->value, list));
  return list;
}

// Notes the sum up to a term. Those up to much older ones are not needed again.
void NoteSum(const Term& term, const Value& sum) {
  constexpr int kKept = 4;
  term.sum = sum;
  const Term* old = &term;
  for (int k = 0; k < kKept && old; ++k) old = old->older ? &*old->older : nullptr;
  if (old) old->sum = Value();
}

// The sum of a list, from the newest term on whose sum is known.
Value SumOf(const Term& newest, Place place) {
  if (!newest.sum.empty()) return newest.sum;
  std::vector<const Term*> terms;
  const Term* from = &newest;
  for (; from && from->sum.empty(); from = from->older ? &*from->older : nullptr)
    terms.push_back(from);
  static const OpInfo& op = GetOp("sum");
  Call call;
  call.op = &op;
  call.attrs = op.default_attrs->data();
  call.place = place;
  if (from) call.in.Push(&from->sum);
  for (auto term = terms.rbegin(); term != terms.rend(); ++term) call.in.Push(&(*term)->value);
  call.in.Close();
  Value out;
  call.out.Add(&out);
  dygraph::Run(call);
  NoteSum(newest, out);
  return out;
}

}  // namespace

void FindTermOrder(Plan& plan) { Finder find(plan); }

Ref<const Term> OneTerm(uint64_t number, const Value& value) {
  Ref<const Term> term(new Term(number, value, nullptr));
  term->sum = value;
  return term;
}

Value Held(Ref<const Term> list) {
  if (!list) return Value();
  return Value(VarKind::kSteps, Ref<Term>(const_cast<Term*>(&*list)));
}

Term::~Term() {
  for (Ref<const Term> next = std::move(older); next && next->unique();) {
    Ref<const Term> after = std::move(next->older);
    next = std::move(after);
  }
}

void TermSum::Add(size_t begin, size_t end, const std::vector<Value*>& values) {
  if (!known_) return;
  for (size_t k = begin; k < std::min(end, notes_->in.size()); ++k) {
    const auto [slot, terms] = notes_->in[k];
    if (values[slot]->empty()) continue;
    Ref<const Term> list = terms < 0 ? OneTerm(0, *values[slot]) : ListIn(*values[terms]);
    known_ = static_cast<bool>(list);
    if (!known_) return;
    if (list->sum.empty()) NoteSum(*list, *values[slot]);
    Add(std::move(list));
  }
}

void TermSum::Add(Ref<const Term> list) {
  if (!newest_) {
    newest_ = std::move(list);
    return;
  }
  plain_ &= !list->older && newest_->number <= list->number;
  newest_ = Merged(std::move(newest_), std::move(list));
}

bool TermSum::Get(Place place, Value* sum) {
  if (!known_) return false;
  if (newest_) *sum = SumOf(*newest_, place);
  return true;
}

void TermSum::Leave(const std::vector<Value*>& values) {
  if (notes_ && notes_->out[0].second >= 0)
    *values[notes_->out[0].second] = known_ ? Held(newest_) : Value();
}

bool AddInOrder(const TermNotes& notes, Place place, const std::vector<Value*>& values) {
  if (notes.kind != Kind::kAdded) return false;
  TermSum sum(&notes);
  sum.Add(0, SIZE_MAX, values);
  const bool added = !sum.IsPlain() && sum.Get(place, values[notes.out[0].first]);
  sum.Leave(values);
  return added;
}

}  // namespace dygraph::program
