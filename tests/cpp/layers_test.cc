// Calls and the layers over them: in which order they see a call, what a call holds, and that a
// thread without a layer computes.
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "check.h"
#include "run/run.h"
#include "run/update_queue.h"
#include "tape/added_layer.h"
#include "tape/door.h"
#include "tape/engine.h"
#include "tape/thread_state.h"

namespace dygraph {
namespace {

Ref<Variable> Numbers(float first, float second) {
  Tensor t(Dims{2}, DType::kFloat32);
  t.mutable_data<float>()[0] = first;
  t.mutable_data<float>()[1] = second;
  return Variable::Make(Value(std::move(t)));
}

Ref<Variable> Relu(Variable& x) {
  const OpInfo& op = GetOp("relu");
  return RunUnary(op, op.default_attrs, x);
}

std::vector<std::string> g_seen;

class Noting : public Listener {
 public:
  explicit Noting(const char* name) : name_(name) {}
  void OnCall(const EagerCall& call) override {
    // Finished, and not on the tape yet, which stands above.
    CHECK(call.out.at(0)->value().tensor().has_data());
    CHECK(call.out.at(0)->IsLeaf());
    g_seen.push_back(name_ + " " + call.op.type);
  }
  void OnWrite(Variable&) override { g_seen.push_back(name_ + " write"); }

 private:
  std::string name_;
};

void TestListenersStandBelowTheTape() {
  Ref<Variable> x = Numbers(-1, 2);
  x->set_stop_gradient(false);
  Noting first("first"), second("second");
  AddListener(&first);
  AddListener(&second);
  Ref<Variable> y = Relu(*x);
  CHECK_EQ(y->tensor().data<float>()[0], 0.0f);
  CHECK(!y->IsLeaf());  // recorded
  CHECK_EQ(g_seen.size(), size_t{2});
  CHECK_EQ(g_seen[0], "first relu");
  CHECK_EQ(g_seen[1], "second relu");
  std::thread([] { CHECK(!CurrentThread().listeners); }).join();
  RemoveListener(&first);
  {
    GradSwitch off(false);
    CHECK(CurrentThread().layer == &second);
    CHECK(Relu(*x)->IsLeaf());
  }
  CHECK_EQ(g_seen.back(), "second relu");
  Numbers(0, 0)->SetValue(x->value());
  CHECK_EQ(g_seen.back(), "second write");
  RemoveListener(&second);
  RemoveListener(&second);  // it is gone
  size_t count = g_seen.size();
  Relu(*x);
  CHECK_EQ(g_seen.size(), count);
}

void TestNoLayer() {
  CHECK(CurrentThread().layer != nullptr);  // the tape
  Ref<Variable> x = Numbers(-1, 2);
  x->set_stop_gradient(false);
  GradSwitch off(false);
  CHECK(CurrentThread().layer == nullptr);
  {
    GradSwitch on(true);
    CHECK(CurrentThread().layer != nullptr);
  }
  CHECK(CurrentThread().layer == nullptr);
  Ref<Variable> y = Relu(*x);
  CHECK(y->IsLeaf() && !y->RequiresGrad());
  CHECK(y->not_recorded() != nullptr);
  CHECK_EQ(y->marks(), uint8_t{Variable::kNotRecorded});
}

void TestMarks() {
  Ref<Variable> x = Numbers(1, 2);
  CHECK_EQ(x->marks(), uint8_t{0});
  x->set_stop_gradient(false);
  CHECK_EQ(x->marks(), uint8_t{Variable::kWantsGradient});
  Ref<Variable> y = Relu(*x);
  CHECK_EQ(y->marks(), uint8_t{Variable::kWantsGradient});
  y->set_stop_gradient(true);  // frozen
  CHECK(y->IsLeaf() && !y->RequiresGrad());
  x->set_symbolic();
  CHECK(x->symbolic() && x->RequiresGrad());
}

// Notes what passes; `first` and `then` are done before and after.
class Passing : public AddedLayer {
 public:
  explicit Passing(const char* name) : name_(name) {}
  void Run(EagerCall& call) override {
    g_seen.push_back(name_ + " " + call.op.type);
    if (first) std::exchange(first, nullptr)();
    Below(call);
    CHECK(call.out.at(0)->value().tensor().has_data());
    if (then) std::exchange(then, nullptr)();
  }
  std::function<void()> first, then;

 private:
  std::string name_;
};

// What Relu(x) passes, of layers and listeners.
std::string Seen(Variable& x) {
  g_seen.clear();
  Relu(x);
  std::string all;
  for (const std::string& each : g_seen) all += all.empty() ? each : ", " + each;
  return all;
}

void TestAddedLayersInOrder() {
  Ref<Variable> x = Numbers(-3, 3);
  auto a = std::make_shared<Passing>("a"), b = std::make_shared<Passing>("b"),
       c = std::make_shared<Passing>("c");
  Noting listener("listener");
  AddLayer(a);
  AddLayer(b);
  AddListener(&listener);
  AddLayer(c);
  CHECK_EQ(Seen(*x), "c relu, b relu, a relu, listener relu");
  std::thread([&] {  // another thread has none, and takes them as well
    CHECK(!CurrentThread().observed);
    CHECK_EQ(Seen(*x), "");
    LayerScope scope(b);
    CHECK_EQ(Seen(*x), "b relu");
  }).join();
  RemoveLayer(b.get());
  CHECK_EQ(Seen(*x), "c relu, a relu, listener relu");
  CHECK_THROWS(RemoveLayer(b.get()), PreconditionNotMet, "of this thread");
  AddLayer(a);  // once more
  CHECK_EQ(Seen(*x), "a relu, c relu, a relu, listener relu");
  RemoveLayer(a.get());
  CHECK_EQ(Seen(*x), "c relu, a relu, listener relu");
  RemoveListener(&listener);
  RemoveLayer(a.get());
  {
    LayerScope scope(b);
    CHECK_EQ(Seen(*x), "b relu, c relu");
    GradSwitch off(false);
    CHECK_EQ(Seen(*x), "b relu, c relu");
    RemoveLayer(c.get());
    CHECK_EQ(Seen(*x), "b relu");
    AddLayer(c);
  }
  RemoveLayer(c.get());
  CHECK_EQ(Seen(*x), "");
  CHECK_EQ(a.use_count(), 1);  // the chain holds none
  GradSwitch off(false);
  CHECK(CurrentThread().layer == nullptr && !CurrentThread().observed);
  CHECK_THROWS(AddLayer(nullptr), InvalidArgument, "got null");
}

// Calls that a layer makes begin below it, whatever is added and removed meanwhile.
void TestLayersThatCall() {
  Ref<Variable> x = Numbers(-3, 3);
  auto a = std::make_shared<Passing>("a"), b = std::make_shared<Passing>("b"),
       c = std::make_shared<Passing>("c");
  LayerScope of_a(a), of_b(b);
  b->first = [&] { Relu(*x); };
  b->then = [&] { Relu(*x); };
  CHECK_EQ(Seen(*x), "b relu, a relu, a relu, a relu");
  b->first = [&] { AddLayer(c); };  // below the one that runs
  CHECK_EQ(Seen(*x), "b relu, c relu, a relu");
  CHECK_EQ(Seen(*x), "b relu, c relu, a relu");
  b->first = [&] { RemoveLayer(c.get()); };
  CHECK_EQ(Seen(*x), "b relu, a relu");
  a->first = [&] { RemoveLayer(b.get()); };  // one that runs, from below
  CHECK_EQ(Seen(*x), "b relu, a relu");
  CHECK_EQ(Seen(*x), "a relu");
  AddLayer(b);
  b->first = [&] {
    RemoveLayer(b.get());  // itself, and another
    RemoveLayer(a.get());
  };
  CHECK_EQ(Seen(*x), "b relu");
  CHECK_EQ(Seen(*x), "");
  AddLayer(a);
  AddLayer(b);
  b->first = [] { THROW(OutOfRange, "before"); };
  CHECK_THROWS(Relu(*x), OutOfRange, "before");
  a->then = [] { THROW(OutOfRange, "after"); };
  CHECK_THROWS(Relu(*x), OutOfRange, "after");
  CHECK_EQ(Seen(*x), "b relu, a relu");
}

// Twice the numbers go in: `call` has the results of another one.
class Doubling : public AddedLayer {
 public:
  void Run(EagerCall& call) override {
    if (call.op.type != "relu") return Below(call);
    SlotList<Variable> in;
    Ref<Variable> twice = RunBinary(GetOp("elementwise_add"),
                                    GetOp("elementwise_add").default_attrs, *call.in.at(0),
                                    *call.in.at(0));
    in.Add(twice.get());
    Below(call, in);
    CHECK_EQ(call.out.at(0)->value().tensor().data<float>()[1], 6.0f);
    CHECK(call.values.out.at(0) == &call.out.at(0)->value());
  }
};

void TestOtherInputs() {
  Ref<Variable> x = Numbers(-3, 3);
  x->set_stop_gradient(false);
  auto doubling = std::make_shared<Doubling>();
  LayerScope scope(doubling);
  Ref<Variable> y = Relu(*x);
  CHECK_EQ(y->tensor().data<float>()[1], 6.0f);
  Variable* root = y.get();
  Backward({&root, 1}, {}, false, false);
  CHECK_EQ(x->grad()->tensor().data<float>()[0], 0.0f);
  CHECK_EQ(x->grad()->tensor().data<float>()[1], 2.0f);
  GradSwitch off(false);
  CHECK(Relu(*x)->not_recorded() != nullptr);
}

// A call that no layer does is an error, not an empty variable.
void TestForgottenCall() {
  class Forgetting : public AddedLayer {
   public:
    void Run(EagerCall&) override {}
  };
  Ref<Variable> x = Numbers(-3, 3);
  LayerScope scope(std::make_shared<Forgetting>());
  CHECK_THROWS(Relu(*x), PreconditionNotMet, "relu: an added layer must do the call");
}

// Results that are no fresh variables are refused: a caller would have one variable twice.
void TestRefusedResults() {
  class Answering : public AddedLayer {
   public:
    void Run(EagerCall& call) override {
      Outputs results;
      if (!none) results.slots.Push(results.owned.emplace_back(answer).get());
      results.slots.Close();
      call.SetResults(std::move(results));
    }
    Ref<Variable> answer;
    bool none = false;
  };
  Ref<Variable> x = Numbers(-3, 3);
  auto answering = std::make_shared<Answering>();
  LayerScope scope(answering);
  CHECK_THROWS(Relu(*x), InvalidArgument, "must be a fresh variable, got none");  // null
  answering->answer = x;
  CHECK_THROWS(Relu(*x), InvalidArgument, "held elsewhere");
  answering->answer = Numbers(1, 2);
  answering->none = true;
  CHECK_THROWS(Relu(*x), InvalidArgument, "results must be");
}

// While a layer is added, nothing is written over that it may still read: a parameter before its
// step, and values that only the tape keeps.
void TestInputsStayForLayers() {
  class Looking : public AddedLayer {
   public:
    void Run(EagerCall& call) override {
      const float* before = call.in.at(0)->value().tensor().data<float>();
      float first = before[0];
      Below(call);
      CHECK(call.in.at(0)->value().tensor().data<float>() == before);
      CHECK_EQ(before[0], first);
      CHECK(call.out.at(0)->value().tensor().data<float>() != before);
      ++calls;
    }
    int calls = 0;
  };
  auto looking = std::make_shared<Looking>();
  LayerScope scope(looking);
  const OpInfo& op = GetOp("sum");
  Ref<Variable> x = Numbers(1, 2), y = Numbers(10, 20);
  {
    GradSwitch off(false);
    SlotList<Variable> in, targets;
    in.Push(x.get());
    in.Push(y.get());
    in.Close();
    targets.Add(x.get());
    OpOptions options;
    options.targets = &targets;
    Outputs out;
    RunOp(op, op.default_attrs, in, &out, options);
  }
  CHECK_EQ(x->tensor().data<float>()[1], 22.0f);
  x->set_stop_gradient(false);
  const OpInfo& sigmoid = GetOp("sigmoid");
  Ref<Variable> z = RunUnary(sigmoid, sigmoid.default_attrs, *x);
  Variable* root = z.get();
  Backward({&root, 1}, {}, false, false);
  CHECK(looking->calls >= 4);  // sum, sigmoid, the ones it begins with, sigmoid_grad
}

// The same function without any variable, as programs call it.
void TestRun() {
  const OpInfo& op = GetOp("relu");
  Ref<Variable> x = Numbers(-1, 2);
  Value out;
  Call call;
  call.op = &op;
  call.attrs = op.default_attrs->data();
  call.in.Add(&x->value());
  call.out.Add(&out);
  Run(call);
  CHECK_EQ(out.tensor().data<float>()[1], 2.0f);
  CHECK(ExplainKernel(call).chosen != nullptr);
}

// Loops of an update wait in the queue of its call, and of no other.
void TestQueue() {
  const OpInfo& op = GetOp("sgd");
  Ref<Variable> param = Numbers(1, 2), grad = Numbers(10, 20);
  Tensor rate(Dims{1}, DType::kFloat32);
  rate.mutable_data<float>()[0] = 0.5f;
  Value lr{rate}, out;
  UpdateQueue together;
  Call call;
  call.op = &op;
  call.attrs = op.default_attrs->data();
  for (const SlotInfo& slot : op.inputs) {
    call.in.Add(slot.name == "Param"  ? &param->value()
                : slot.name == "Grad" ? &grad->value()
                                      : &lr);
  }
  call.out.Add(&out);
  call.queue = together.queue();
  Run(call);
  together.KeepOutput(out);
  CHECK_EQ(call.queue->work(), int64_t{2});
  together.Run();
  CHECK_EQ(out.tensor().data<float>()[0], -4.0f);
  CHECK_EQ(out.tensor().data<float>()[1], -8.0f);
}

}  // namespace
}  // namespace dygraph

int main() {
  dygraph::TestListenersStandBelowTheTape();
  dygraph::TestNoLayer();
  dygraph::TestMarks();
  dygraph::TestAddedLayersInOrder();
  dygraph::TestLayersThatCall();
  dygraph::TestOtherInputs();
  dygraph::TestForgottenCall();
  dygraph::TestRefusedResults();
  dygraph::TestInputsStayForLayers();
  dygraph::TestRun();
  dygraph::TestQueue();
  return dygraph::testing::Finish();
}
