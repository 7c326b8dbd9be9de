#pragma once

#include <set>
#include <string>
#include <vector>

#include "course/locate/code.hpp"

namespace course::program {

/// A change of a source in one place, of the kind that mends a slip: an operator, a sign, a bound, a name, a
/// statement too many, too few or out of place.
struct SmallEdit {
  enum class Kind {
    Other,    ///< what stands there is something else
    Missing,  ///< something stands there that did not
    Order     ///< what stands there comes in another order
  };
  Kind kind;
  std::size_t first, last;  ///< the characters that it replaces, [first, last)
  std::string text;         ///< what stands there then
  int rank;                 ///< how soon to try it: less likely ones have more

  std::string applied_to(const std::string& source) const;
};

/// All there are of the functions in this source, each once, in the order in which to try them: first those
/// in the function of this name and in lines with a name that is one of `words`. None of a source whose
/// brackets do not match. Many of them do not compile: no compiler's knowledge of types is asked.
/// @param words of what a check said
std::vector<SmallEdit> small_edits(const Code& code, const std::string& function,
                                   const std::set<std::string>& words = {});

}  // namespace course::program
