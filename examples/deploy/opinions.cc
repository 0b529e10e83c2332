// Is a sentence praise? In C++, by the model that train.py wrote. Sentences of different lengths
// are answered in one run.
//
//   c++ -std=c++17 $(pkg-config --cflags dygraph) opinions.cc $(pkg-config --libs dygraph) -o
//   opinions
//   ./opinions opinions.dygraph words.txt "the film was good" "the end was not very clever"
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "inference/predictor.h"

int main(int count, char** arguments) try {
  if (count < 4) {
    std::cerr << "usage: opinions MODEL WORDS SENTENCE...\n";
    return 1;
  }
  std::map<std::string, int64_t> numbers;
  std::ifstream words(arguments[2]);
  for (std::string word; words >> word;) numbers.emplace(word, numbers.size());

  std::vector<int64_t> ids, offsets = {0};
  for (int i = 3; i < count; ++i) {
    std::istringstream sentence(arguments[i]);
    for (std::string word; sentence >> word;) ids.push_back(numbers.at(word));
    offsets.push_back(static_cast<int64_t>(ids.size()));
  }

  const dygraph::Predictor predictor(arguments[1]);
  dygraph::Context context = predictor.context();
  context.set(predictor.input("words"), ids, {static_cast<int64_t>(ids.size()), 1}, {offsets});
  context.run();
  const dygraph::View<float> probability = context.output(0).values<float>();
  for (int i = 3; i < count; ++i) {
    const float praise = probability[2 * (i - 3) + 1];
    std::cout << (praise > 0.5f ? "praise: " : "blame: ") << arguments[i] << "\n";
  }
} catch (const std::out_of_range&) {
  std::cerr << "a sentence has a word that the model does not know\n";
  return 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
