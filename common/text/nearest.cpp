#include "text/nearest.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace course {

namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// How many letters are to be added, left out, changed or swapped to make one word of the other. The launcher
/// ./course, which runs before anything is built, has this and the search by it once more (require_command).
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> steps(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        steps[i][j] = i + j;
        continue;
      }
      steps[i][j] = std::min(
          {steps[i - 1][j] + 1, steps[i][j - 1] + 1, steps[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) steps[i][j] = std::min(steps[i][j], steps[i - 2][j - 2] + 1);
    }
  }
  return steps[a.size()][b.size()];
}

}  // namespace

std::vector<std::string> nearest(const std::string& misspelt, const std::vector<std::string>& words) {
  constexpr std::size_t shortest_part = 3;
  const std::string wrong = lower(misspelt);
  std::size_t least = (wrong.size() + 2) / 3;
  std::vector<std::string> found;
  for (const std::string& word : words) {
    const std::size_t steps = distance(wrong, lower(word));
    if (steps > least) continue;
    if (steps < least) found.clear();
    least = steps;
    found.push_back(word);
  }
  if (!found.empty() || wrong.size() < shortest_part) return found;
  std::ranges::copy_if(words, std::back_inserter(found),
                       [&](const std::string& word) { return lower(word).find(wrong) != std::string::npos; });
  return found;
}

std::string did_you_mean(const std::string& misspelt, const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : nearest(misspelt, words)) text += (text.empty() ? "" : " or ") + word;
  return text.empty() ? "" : "; did you mean " + text + "?";
}

std::string unknown(const std::string& what, const std::string& misspelt,
                    const std::vector<std::string>& words) {
  const std::string meant = did_you_mean(misspelt, words);
  return "there is no " + what + " '" + misspelt + "'" +
         (meant.empty() ? "; there are: " : meant + " There are: ");
}

}  // namespace course
