#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "judge/task.hpp"

namespace course {

/// What stands for one output of an answer to one example: so few numbers that those of every known mistake
/// can be kept, and so chosen that another answer hardly ever has them. Entries are cut into groups. Of each
/// group two sums are kept, of all its finite entries with a sign that is drawn for each place, each entry in
/// units of the norm of what is expected in its head (in its row where the output has no heads): the sums of
/// two answers then differ by about the norm of their difference. Source: Johnson & Lindenstrauss 1984.
struct Projections {
  struct Group {
    std::array<double, 2> sums{};
    std::uint8_t others = 0;  ///< which kinds of entries there are that are no finite numbers, not where
    bool operator==(const Group&) const = default;
  };
  std::vector<Group> groups;
  bool operator==(const Projections&) const = default;
};

/// How finely an output is cut: into one group, or by head and by rank.
enum class Grain { Whole, HeadsAndRanks };

/// Both tensors have the shape that the task expects of the output.
Projections projections_of(const Output& output, const Layout& layout, const Tensor64& answer,
                           const Tensor64& expected, Grain grain);

/// Whether an answer may be the one that the other projections are of: none of its sums differs by more than
/// `allowed` times the norm of the heads, or rows, that the group has entries of, and it has the same other
/// entries.
/// @param mistakes_cancel of a head the larger one of the answer's and the expected answer's norms counts
bool are_alike(const Projections& recorded, const Output& output, const Layout& layout,
               const Tensor64& answer, const Tensor64& expected, Grain grain, double allowed,
               bool mistakes_cancel);

/// As text without blanks, and back: each sum with a relative error of 2^-21 at most. Throws
/// std::invalid_argument with a text that is none.
std::string to_text(const Projections& projections);
Projections projections_from(const std::string& text);

}  // namespace course
