#include <fmt/core.h>

#include <exception>
#include <filesystem>

#include "registry/candidates_file.hpp"
#include "text/text_file.hpp"

/// Writes a candidate, whose id may end in the number of its form: "one_block_short", "one_block_short.2".
/// A file that has the text already is left as it is, so that nothing is compiled anew.
int main(int argc, char** argv) {
  if (argc != 5) {
    fmt::print(stderr, "usage: make-candidate SOLUTION MARKDOWN ID[.FORM] OUTPUT\n");
    return 2;
  }
  try {
    const std::filesystem::path solution = argv[1], id = argv[3], output = argv[4];
    const std::size_t form = id.has_extension() ? std::stoul(id.extension().string().substr(1)) : 1;
    const std::string text =
        course::candidate_source(course::read_text(solution), course::read_candidates(argv[2]),
                                 id.stem().string(), form, solution.extension() == ".py");
    if (!std::filesystem::exists(output) || course::read_text(output) != text)
      course::write_text(output, text);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}: {}\n", argv[2], argv[3], error.what());
    return 1;
  }
}
