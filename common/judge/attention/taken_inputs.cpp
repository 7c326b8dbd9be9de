#include "judge/attention/taken_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace course {

namespace {

struct Change {
  std::string words;
  std::function<void(std::map<std::string, Tensor>& inputs)> make;
};

std::vector<Change> one_for_another(const Exchanges& exchanges) {
  std::vector<Change> all;
  for (const auto& alike : exchanges.alike) {
    for (const char* const taken : alike) {
      for (const char* const right : alike) {
        if (taken == right) continue;
        all.push_back({fmt::format("{} were taken where {} belongs", taken, right),
                       [=](auto& inputs) { inputs.at(right) = inputs.at(taken); }});
      }
    }
  }
  return all;
}

std::vector<Change> first_head_for_all(const Exchanges& exchanges) {
  std::vector<Change> all;
  for (const char* const name : exchanges.by_head) {
    all.push_back({fmt::format("every head took head 0's {}", name), [=](auto& inputs) {
                     Tensor& input = inputs.at(name);
                     const Index size = input.size() / std::max<Index>(input.extent(0), 1);
                     for (Index i = size; i < input.size(); ++i) input[i] = input[i - size];
                   }});
  }
  return all;
}

}  // namespace

std::vector<Reading> inputs_taken_wrongly(const Exchanges& exchanges,
                                          const std::function<Answer(const Example&)>& answer,
                                          const std::string& more) {
  const std::vector<Change> exchanged = one_for_another(exchanges),
                            first_head = first_head_for_all(exchanges);
  std::vector<std::vector<Change>> all;
  for (const std::vector<Change>& single : {exchanged, first_head}) {
    for (const Change& change : single) all.push_back({change});
  }
  for (const Change& first : exchanged) {
    for (const Change& second : first_head) all.push_back({first, second});
  }
  std::vector<Reading> readings;
  for (const std::vector<Change>& changes : all) {
    readings.push_back({.words = "every answer is as if " + changes.front().words +
                                 (changes.size() > 1 ? ", and " + changes.back().words : "") + more,
                        .answer =
                            [=](const Example& example) {
                              Example changed = example;
                              changed.worked = nullptr;
                              for (const Change& change : changes) change.make(changed.inputs);
                              return answer(changed);
                            },
                        .decides = true});
  }
  return readings;
}

}  // namespace course
