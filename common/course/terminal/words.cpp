#include "course/terminal/words.hpp"

#include "protocol/errors.hpp"

namespace course::program {

std::vector<std::string> words_of(const std::string& command) {
  std::vector<std::string> words;
  std::string word;
  bool begun = false;
  char quote = 0;
  for (const char c : command) {
    if (quote != 0 && c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
      begun = true;
    } else if (quote == 0 && (c == ' ' || c == '\t')) {
      if (begun) words.push_back(word);
      word.clear();
      begun = false;
    } else {
      word += c;
      begun = true;
    }
  }
  if (quote != 0) throw UsageError("a quote is left open in the command: " + command);
  if (begun) words.push_back(word);
  if (words.empty())
    throw UsageError("expected a command, such as --player 'python3 my_player.py', and got none");
  return words;
}

std::string shell_word(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace course::program
