// Calls and the layers over them: in which order they see a call, what a call holds, and that a
// thread without a layer computes.
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "run/run.h"
#include "run/update_queue.h"
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

// A layer of one's own: it counts, and calls on below it.
void TestOwnLayer() {
  class Counting : public Layer {
   public:
    void Run(EagerCall& call) override {
      ++calls;
      Below(call);
    }
    int calls = 0;
  } counting;
  ThreadState& thread = CurrentThread();
  GradSwitch off(false);
  thread.layer = &counting;
  Ref<Variable> x = Numbers(-3, 3);
  CHECK_EQ(Relu(*x)->tensor().data<float>()[1], 3.0f);
  CHECK_EQ(counting.calls, 1);
  thread.layer = nullptr;
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
  dygraph::TestOwnLayer();
  dygraph::TestRun();
  dygraph::TestQueue();
  return dygraph::testing::Finish();
}
