#include "train/own_pages.hpp"

#include <regex>

#include "text/text_file.hpp"

namespace course::train {

namespace {

/// What stands between two lines of its own, which both go with it: code and formulas.
bool is_fence(const std::string& line) {
  const std::size_t first = line.find_first_not_of(' ');
  return first != std::string::npos &&
         (line.compare(first, 3, "```") == 0 || line.compare(first, 2, "$$") == 0);
}

/// "$$x$$" opens nothing.
bool closes_itself(const std::string& line) {
  const std::size_t first = line.find("$$");
  return first != std::string::npos && line.find("$$", first + 2) != std::string::npos;
}

/// Rows of tables, HTML and pictures.
bool is_no_prose(const std::string& line) {
  const std::size_t first = line.find_first_not_of(' ');
  return first != std::string::npos &&
         (line[first] == '|' || line[first] == '<' || line.compare(first, 2, "![") == 0);
}

}  // namespace

std::string prose_of(const std::string& markdown) {
  static const std::regex link(R"(\[([^\]]*)\]\([^)]*\))");
  std::string prose;
  bool fenced = false, commented = false;
  for (const std::string& line : lines_of(markdown)) {
    if (is_fence(line)) {
      fenced = !fenced && !closes_itself(line);
      continue;
    }
    commented = commented || line.starts_with("<!--");
    const bool skipped = fenced || commented || is_no_prose(line);
    if (commented && line.find("-->") != std::string::npos) commented = false;
    if (skipped || (line.empty() && prose.ends_with("\n\n"))) continue;
    prose += std::regex_replace(line, link, "$1") + "\n";
  }
  return prose;
}

std::string own_pages(const program::Checkout& checkout) {
  std::vector<std::filesystem::path> pages{checkout.root / "README.md"};
  for (const LessonInfo& lesson : checkout.lessons)
    pages.push_back(checkout.root / program::Checkout::lesson_folder(lesson) / "README.md");
  std::string all;
  for (const std::filesystem::path& page : pages)
    if (std::filesystem::exists(page)) all += prose_of(read_text(page));
  return all;
}

}  // namespace course::train
