// The predictor through its C++ face: eight threads at eight batch sizes give the bits of one.
#include "inference/predictor.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "check.h"
#ifndef SMALL_LIBRARY  // shows no names but the C interface's; the model was saved before
#include "predictor_model.h"
#endif

namespace {

constexpr int kIn = 24, kHidden = 40, kOut = 6;

std::vector<float> Batch(int rows) {
  std::vector<float> x(static_cast<size_t>(rows) * kIn);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(i * 53 % 97) / 97 - 0.25f * static_cast<float>(rows % 3);
  return x;
}

std::vector<float> Answer(dygraph::Context* context, const std::vector<float>& x) {
  context->set(0, x, {static_cast<int64_t>(x.size()) / kIn, kIn});
  context->run();
  const dygraph::View<float> y = context->output(0).values<float>();
  return {y.begin(), y.end()};
}

// What the model is, one number after the other.
std::vector<double> Reference(const std::vector<float>& x) {
  auto weight = [](int i) { return static_cast<float>(i * 37 % 101) / 101 - 0.5f; };
  std::vector<double> y;
  for (size_t row = 0; row < x.size() / kIn; ++row) {
    for (int k = 0; k < kOut; ++k) {
      double sum = 0;
      for (int j = 0; j < kHidden; ++j) {
        double a = 0;
        for (int i = 0; i < kIn; ++i) a += double{x[row * kIn + i]} * weight(i * kHidden + j);
        if (a > 0) sum += a * weight(j * kOut + k);
      }
      y.push_back(sum);
    }
  }
  return y;
}

void TestThreads(const dygraph::Predictor& predictor, int runs) {
  std::vector<std::vector<float>> batches, answers;
  dygraph::Context first = predictor.context();
  for (int n = 1; n <= 8; ++n) {
    batches.push_back(Batch(n * n));
    answers.push_back(Answer(&first, batches.back()));
    const std::vector<double> wanted = Reference(batches.back());
    for (size_t i = 0; i < wanted.size(); ++i)
      CHECK(std::abs(answers.back()[i] - wanted[i]) < 1e-4);
  }
  std::atomic<int> wrong{0};
  std::vector<dygraph::Context> contexts;
  for (int n = 0; n < 8; ++n) contexts.push_back(n % 2 ? first.clone() : predictor.context());
  std::vector<std::thread> threads;
  for (int n = 0; n < 8; ++n) {
    threads.emplace_back([&, n] {
      for (int i = 0; i < runs; ++i) wrong += Answer(&contexts[n], batches[n]) != answers[n];
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQ(wrong.load(), 0);
}

void TestErrors(const dygraph::Predictor& predictor) {
  dygraph::Context context = predictor.context();
  const std::vector<double> wrong(kIn);
  int status = 0;
  try {
    context.set(0, wrong, {1, kIn});
    context.run();
  } catch (const dygraph::PredictorError& e) {
    status = e.status();
  }
  CHECK_EQ(status, int{DYGRAPH_TYPE});
  CHECK_EQ(predictor.inputs()[0].name, std::string("x"));
  CHECK_EQ(predictor.outputs()[0].dims[1], int64_t{kOut});
  CHECK_EQ(predictor.input("x"), size_t{0});
}

}  // namespace

// Arguments: the number of runs of each thread, a folder for the model, which stays.
int main(int count, char** arguments) {
  const std::string folder = count > 2 ? arguments[2]
                                       : std::filesystem::temp_directory_path() /
                                             ("predictor_test." + std::to_string(getpid()));
#ifndef SMALL_LIBRARY
  std::filesystem::create_directories(folder);
  dygraph::program::SavePredictorModel(folder, kIn, kHidden, kOut);
#endif
  {
    const dygraph::Predictor predictor(folder);
    TestThreads(predictor, count > 1 ? std::atoi(arguments[1]) : 1000);
    TestErrors(predictor);
    predictor.save(folder + "/one");
    dygraph::Options share;
    share.set("share_weights", "1").set("threads", "1");
    TestThreads(dygraph::Predictor(folder + "/one", share), 100);
  }
  if (count <= 2) std::filesystem::remove_all(folder);
  return dygraph::testing::Finish();
}
