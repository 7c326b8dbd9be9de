#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>

#include "copied_course.hpp"
#include "course/handout/handout_content.hpp"
#include "course/workspace/lesson_argument.hpp"
#include "text/text_file.hpp"

// Of handouts of several choices of lessons: every relative link leads somewhere, no page but a lesson's own
// has a command on a lesson that is not there, README.md names a first lesson that is there, the interview
// bank asks of these lessons alone, and plans and a sheet that are about every lesson are there with all of
// them.

namespace course::program {
namespace {

namespace fs = std::filesystem;

/// A page without its code, in which brackets are no links.
std::string prose_of(const std::string& page) {
  std::string prose;
  bool in_code = false;
  for (const std::string& line : lines_of(page)) {
    if (line.starts_with("```")) in_code = !in_code;
    prose += (in_code ? "" : line) + "\n";
  }
  return prose;
}

/// What a page on a code host names its headings, and the places that it names itself.
std::set<std::string> anchors_of(const std::string& page) {
  static const std::regex own(R"re( id="([^"]+)")re");
  std::set<std::string> anchors;
  for (const std::string& line : lines_of(prose_of(page))) {
    for (std::sregex_iterator found(line.begin(), line.end(), own), end; found != end; ++found)
      anchors.insert((*found)[1]);
    if (!line.starts_with("#")) continue;
    std::string anchor;
    for (const char c : line.substr(line.find(' ') + 1)) {
      const auto byte = static_cast<unsigned char>(c);
      if (std::isalnum(byte) || c == '-' || c == '_') anchor += static_cast<char>(std::tolower(byte));
      if (c == ' ') anchor += '-';
    }
    anchors.insert(anchor);
  }
  return anchors;
}

/// The links of a page that lead nowhere.
std::vector<std::string> dead_links(const fs::path& page) {
  static const std::regex link(R"re(\]\(([^)\s#]*)(#[^)\s]*)?\)|(?:href|src)="([^"#]+)(#[^"]*)?")re");
  std::vector<std::string> dead;
  const std::string prose = prose_of(read_text(page));
  for (std::sregex_iterator found(prose.begin(), prose.end(), link), end; found != end; ++found) {
    const std::string target = (*found)[1].str() + (*found)[3].str(),
                      part = (*found)[2].str() + (*found)[4].str();
    if (target.find(':') != std::string::npos) continue;  // of the web
    const fs::path file = target.empty() ? page : page.parent_path() / target;
    const bool leads = fs::exists(file) && (part.empty() || file.extension() != ".md" ||
                                            anchors_of(read_text(file)).contains(part.substr(1)));
    if (!leads) dead.push_back(found->str());
  }
  return dead;
}

/// The lessons that a page's commands name, `drill 05.2` among them, and those that a comment beside a
/// command in a block of code names. A line that a command has printed is an example.
std::set<std::string> lessons_of_commands(const std::string& page) {
  static const std::regex command(
      R"((?:\./course [a-z]+|`[a-z]+|-L)(?: |(?: | \.course/cases/)?lesson)((?:[0-9]{2}\b(?:\.[0-9])? ?)+))"),
      beside(R"(# .*\blesson ([0-9]{2})\b)"), id(R"((?:^| )([0-9]{2}))"), tasks(R"(`([0-9]{2})\.[0-9]`)"),
      option(R"(--lessons ([0-9,-]+))"), any_id("([0-9]{2})");
  std::set<std::string> lessons;
  bool in_code = false;
  for (const std::string& line : lines_of(page)) {
    if (line.starts_with("```")) in_code = !in_code;
    if (line.starts_with("FAIL") || line.starts_with("      ")) continue;
    const auto add = [&](const std::string& text, const std::regex& what, const auto& then) {
      for (std::sregex_iterator found(text.begin(), text.end(), what), end; found != end; ++found)
        then((*found)[1].str());
    };
    const auto insert = [&](const std::string& lesson) { lessons.insert(lesson); };
    add(line, command, [&](const std::string& ids) { add(ids, id, insert); });
    add(line, tasks, insert);
    add(line, option, [&](const std::string& ids) { add(ids, any_id, insert); });
    if (in_code) add(line, beside, insert);
  }
  return lessons;
}

/// The topics of `quiz --topic` in a page.
std::set<std::string> topics_of_commands(const std::string& page) {
  static const std::regex topic(R"(--topic ([a-z-]+))");
  std::set<std::string> topics;
  for (std::sregex_iterator found(page.begin(), page.end(), topic), end; found != end; ++found)
    topics.insert((*found)[1]);
  return topics;
}

TEST(Commands, AreFoundInAPage) {
  EXPECT_EQ(lessons_of_commands(
                "`./course drill 02.1`, `04.1` and `locate 05.2`; ./course grade 06 07 --jobs 1\n"
                "`./course replay lesson08.2.ranks3`\n```\nctest -L lesson09 -L student # of lesson 10\n"
                "./course watch    # lesson 11\n```\nFAIL  lesson12.1   ./course hint 12\n"
                "      ./course replay lesson12.1\nlesson 13, quiz --lessons 03,14\n"),
            (std::set<std::string>{"02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "14"}));
  EXPECT_EQ(topics_of_commands("`./course quiz --topic flash-attention --count 6`, `--topic NAME`"),
            std::set<std::string>{"flash-attention"});
}

/// As an argument: the first lesson of the registry to the last, such as "01-14".
std::string every_lesson() {
  const std::vector<LessonInfo> lessons =
      read_registry(fs::path(COURSE_SOURCE_DIR) / "lessons" / "registry.json");
  return lessons.front().id + "-" + lessons.back().id;
}

class Choices : public testing::TestWithParam<std::string> {};

TEST_P(Choices, FitTogether) {
  static const CopiedCourse copied;
  if (!copied.obstacle.empty()) GTEST_SKIP() << copied.obstacle;
  const Checkout& course = copied.course;
  const std::vector<LessonInfo> lessons = choose_lessons(course.lessons, GetParam(), "--lessons");
  const TemporaryFolder folder;
  write_handout(course, lessons, folder.path());
  const auto is_held = [&](const std::string& id) {
    return std::ranges::find(lessons, id, &LessonInfo::id) != lessons.end();
  };

  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder.path())) {
    if (entry.path().extension() != ".md" && entry.path().extension() != ".html") continue;
    for (const std::string& link : dead_links(entry.path()))
      ADD_FAILURE() << fs::relative(entry.path(), folder.path()) << " has " << link << ", which is not there";
  }

  const std::string readme = read_text(folder.path() / "README.md");
  const LessonInfo& first = lessons.front();
  EXPECT_NE(readme.find("./course check " + first.id + " "), std::string::npos);
  EXPECT_NE(readme.find("Lesson " + first.id + " starts as a skeleton, `" +
                        Checkout::student_file(first, first.files.front()).string() + "`"),
            std::string::npos);
  static const std::regex tags(R"(^lesson: ([0-9 ]+)\b)"), id("[0-9]{2}"), sheet(R"(\bsheet\b)");
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder.path())) {
    const fs::path page = fs::relative(entry.path(), folder.path());
    if (page.extension() != ".md" || *page.begin() == "lessons" || *page.begin() == "tests") continue;
    for (const std::string& lesson : lessons_of_commands(read_text(entry.path())))
      EXPECT_TRUE(is_held(lesson)) << page << " has a command on lesson " << lesson;
    for (const std::string& topic : topics_of_commands(read_text(entry.path())))
      EXPECT_TRUE(fs::exists(folder.path() / "docs" / "interview" / (topic + ".md")))
          << page << ": " << topic;
  }

  const bool is_whole = lessons.size() == course.lessons.size();
  const fs::path docs = folder.path() / "docs", bank = docs / "interview" / "README.md";
  EXPECT_EQ(fs::exists(docs / "interview" / "sheet" / "README.md"), is_whole);
  EXPECT_EQ(fs::exists(docs / "interview" / "sheet"), is_whole);
  for (const fs::path& page : {folder.path() / "README.md", bank})
    EXPECT_EQ(std::regex_search(read_text(page), sheet), is_whole) << page << " names the sheet";
  for (const auto& [page, plan] : {std::pair{bank, "## 90 minutes"}, std::pair{bank, "## Two days"},
                                   std::pair{docs / "student.md", "### The day before"},
                                   std::pair{docs / "student.md", "### A week before"}})
    EXPECT_EQ(read_text(page).find(plan) != std::string::npos, is_whole) << page << ": " << plan;
  std::size_t questions = 0;
  for (const fs::directory_entry& page : fs::directory_iterator(folder.path() / "docs" / "interview")) {
    if (!page.is_regular_file()) continue;
    for (const std::string& line : lines_of(read_text(page.path()))) {
      std::smatch found;
      if (page.path().filename() == "README.md" || !std::regex_search(line, found, tags)) continue;
      ++questions;
      const std::string ids = found[1];
      for (std::sregex_iterator each(ids.begin(), ids.end(), id), end; each != end; ++each)
        EXPECT_TRUE(is_held(each->str())) << page.path().filename() << " asks of " << line;
    }
  }
  EXPECT_NE(read_text(folder.path() / "docs" / "interview" / "README.md")
                .find("| in all | " + std::to_string(questions) + " |"),
            std::string::npos)
      << questions;
}

INSTANTIATE_TEST_SUITE_P(Handouts, Choices,
                         testing::Values(every_lesson(), "01", "01-03", "01,03-04", "04", "05", "06-08",
                                         "09-12", "13", "01,03", "02,04"));

}  // namespace
}  // namespace course::program
