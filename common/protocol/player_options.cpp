#include "protocol/player_options.hpp"

#include <charconv>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>

namespace course {

namespace {

constexpr const char* usage =
    "usage: [--status FILE] [--keep-inputs] [--timed [--rounds N] [--show fastest|median] [--block LIB.so] "
    "[--block-backward LIB.so]] --subject LIB.so CASE... [--subject LIB.so CASE...]";

[[noreturn]] void refuse(const std::string& why) {
  throw std::invalid_argument(why + "; " + usage);
}

int whole_number(const std::string& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1)
    refuse("--rounds " + text + ": expected a whole number from 1 on");
  return number;
}

bool is_median(const std::string& text) {
  if (text != "fastest" && text != "median") refuse("--show " + text + ": expected fastest or median");
  return text == "median";
}

}  // namespace

PlayerOptions parse_player_options(int argc, char** argv) {
  PlayerOptions options;
  TimedPlay timed;
  bool is_timed = false;
  std::filesystem::path subject;
  std::string of_timed;  // an option that only a timed play has
  const std::map<std::string, std::function<void()>> flags{
      {"--keep-inputs", [&] { options.keep_inputs = true; }}, {"--timed", [&] { is_timed = true; }}};
  const std::map<std::string, std::function<void(const std::string&)>> valued{
      {"--subject", [&](const std::string& value) { subject = value; }},
      {"--status", [&](const std::string& value) { options.status = value; }},
      {"--rounds", [&](const std::string& value) { timed.rounds = whole_number(value); }},
      {"--show", [&](const std::string& value) { timed.show_median = is_median(value); }},
      {"--block", [&](const std::string& value) { timed.block = value; }},
      {"--block-backward", [&](const std::string& value) { timed.block_backward = value; }}};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (const auto flag = flags.find(word); flag != flags.end()) {
      flag->second();
    } else if (const auto option = valued.find(word); option != valued.end()) {
      if (i + 1 == argc) refuse(word + " without a value");
      option->second(argv[++i]);
      if (word != "--subject" && word != "--status") of_timed = word;
    } else if (word.starts_with("-")) {
      refuse("unknown option " + word);
    } else if (subject.empty()) {
      refuse("the case " + word + " has no --subject before it");
    } else {
      options.cases.push_back({word, subject});
    }
  }
  if (options.cases.empty()) refuse("no case is given");
  if (!of_timed.empty() && !is_timed) refuse(of_timed + " without --timed");
  if (is_timed) options.timed = timed;
  return options;
}

std::vector<std::string> player_arguments(const PlayerOptions& options) {
  std::vector<std::string> words;
  const auto add = [&](const std::string& option, const std::string& value) {
    words.insert(words.end(), {option, value});
  };
  if (const std::optional<TimedPlay>& timed = options.timed) {
    words.push_back("--timed");
    add("--rounds", std::to_string(timed->rounds));
    add("--show", timed->show_median ? "median" : "fastest");
    if (!timed->block.empty()) add("--block", absolute(timed->block));
    if (!timed->block_backward.empty()) add("--block-backward", absolute(timed->block_backward));
  }
  const std::filesystem::path* subject = nullptr;
  for (const PlannedCase& one : options.cases) {
    if (subject == nullptr || *subject != one.subject) add("--subject", absolute(one.subject));
    if (subject == nullptr && !options.status.empty()) add("--status", options.status);
    subject = &one.subject;
    words.push_back(one.folder);
  }
  return words;
}

}  // namespace course
