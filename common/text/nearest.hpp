#pragma once

#include <string>
#include <vector>

namespace course {

/// Those of the words that the misspelt one may have been meant for: with the fewest letters added, left out,
/// changed or swapped with their neighbours, in a third of the word at most; where there is none, those that
/// it is a part of, of three letters or more.
std::vector<std::string> nearest(const std::string& misspelt, const std::vector<std::string>& words);

/// "; did you mean check or hint?", or nothing.
std::string did_you_mean(const std::string& misspelt, const std::vector<std::string>& words);

/// "there is no topic 'rng'; did you mean ring? There are: ", or "there is no topic 'x'; there are: ".
std::string unknown(const std::string& what, const std::string& misspelt,
                    const std::vector<std::string>& words);

}  // namespace course
