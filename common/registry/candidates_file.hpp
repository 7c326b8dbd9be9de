#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace course {

/// Whole lines of a solution, which occur in it once, and the lines that stand there instead.
struct Edit {
  std::string before;
  std::string after;
};

/// One way of writing a mistake or a variant: edits of the solution, or a whole file.
struct Form {
  bool python = false;  ///< of the Python solution
  int line = 0;         ///< of the Markdown, from 1, on which its fence opens
  std::vector<Edit> edits;
  std::string file;  ///< used where there are no edits
};

/// The section of a mistakes.md whose forms have to fail, and have no name and no text.
inline constexpr const char* unnamed_section = "unnamed";

/// A candidate for grading: a known mistake, a combination of mistakes ("a+b"), or a variant.
struct CandidateSection {
  std::string id;
  int line = 0;                               ///< of its heading
  std::map<std::string, std::string> fields;  ///< "- what: ..." is fields["what"]
  std::vector<Form> forms;

  /// Those of the C++ solution, or of the Python one.
  std::vector<Form> forms_in(bool python) const;
};

/// The sections of tests/NN_name/mistakes.md or variants.md, which docs/adding-a-lesson.md describes. Throws
/// std::runtime_error with the line and what is wrong with it.
std::vector<CandidateSection> parse_candidates(const std::string& markdown);

/// The same of a file; nothing where there is none, as in a handout. Errors begin with the path.
std::vector<CandidateSection> read_candidates(const std::filesystem::path& path);

/// What a form makes of the solution. Throws std::runtime_error with the form's line where the old text of an
/// edit does not occur in the solution exactly once, or lies on that of another.
std::string candidate_text(const std::string& solution, const Form& form);

/// The source of a candidate's form, from 1. A combination is made of the first form of its first mistake and
/// then of its own, or else of the second mistake's. Throws std::runtime_error where there is no such one.
std::string candidate_source(const std::string& solution, const std::vector<CandidateSection>& all,
                             const std::string& id, std::size_t form, bool python);

/// The Markdown as students get it: without forms, which would tell the solution, and without combinations.
std::string without_forms(const std::string& markdown);

}  // namespace course
