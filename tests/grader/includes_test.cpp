#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "audit/answer_includes.hpp"
#include "course/terminal/terminal.hpp"
#include "course/workspace/judging.hpp"
#include "grader/workshop.hpp"
#include "runner/subprocess.hpp"
#include "runner/temporary_folder.hpp"
#include "text/text_file.hpp"

// What an answer may include is one list for the build on a student's machine (./course check, drill, watch,
// locate, demo --mine, ctest: all play what compile-answer has compiled) and for a grade.

namespace course::program::grader {
namespace {

namespace fs = std::filesystem;

/// Before an answer, what it is called in a test's output, and what both say; "" where both take it.
struct Attempt {
  const char* name;
  std::string text;
  std::string said;
};

const std::vector<Attempt>& attempts() {
  static const std::vector<Attempt> all{
      {"contract", "#include \"safe_softmax.hpp\"\n#include <safe_softmax.hpp>", ""},
      {"system", "#include <vector>\n#include <Eigen/Core>\n#include <sys/types.h>", ""},
      {"of_the_contract", "#include \"tensor/view.hpp\"\n#include <lesson/not_implemented.hpp>", ""},
      {"asks_for_the_systems",
       "#if defined(__has_include) && __has_include(<execution>)\n#include <execution>\n#endif", ""},
      {"says_something", "#include <iostream>\ninline void say() { std::cerr << 1 << std::endl; }", ""},
      {"assembly_alone", "inline void fence() { asm volatile(\"\" ::: \"memory\"); }", ""},
      {"player", "#include \"player/plain_attention.hpp\"",
       ":1: error: common/player/plain_attention.hpp may not"},
      {"angles", "\n#include <reference/softmax.hpp>", ":2: error: common/reference/softmax.hpp may not"},
      {"tensor", "#include \"tensor/tensor.hpp\"", ":1: error: common/tensor/tensor.hpp may not"},
      {"upwards", "#include \"../../common/player/blocks.hpp\"",
       ":1: error: common/player/blocks.hpp may not"},
      {"absolute", "#include \"@ROOT@/common/player/blocks.hpp\"",
       ":1: error: common/player/blocks.hpp may not"},
      {"round_about", "#include \"/usr/..@ROOT@/common/player/blocks.hpp\"",
       ":1: error: common/player/blocks.hpp may not"},
      {"macro", "#define HEADER \"player/blocks.hpp\"\n\n#include HEADER",
       ":3: error: common/player/blocks.hpp may not"},
      {"next", "#include_next <player/blocks.hpp>", ":1: error: common/player/blocks.hpp may not"},
      {"own_header", "#include \"mine.hpp\"", ":1: error: lessons/01_safe_softmax/mine.hpp may not"},
      {"other_lesson", "#include \"../04_blockwise_attention/blockwise_attention.hpp\"",
       ":1: error: lessons/04_blockwise_attention/blockwise_attention.hpp may not"},
      {"not_there", "#include \"nowhere.hpp\"",
       "an answer to lesson 01 may include safe_softmax.hpp, tensor/view.hpp"},
      {"assembler",
       "asm(\".pushsection .rodata\\n.inc\" \"bin \\\"@ROOT@/lessons/registry.json\\\"\\n.popsection\");",
       "error: lessons/registry.json may not"},
      {"asks_for_the_courses", "#if __has_include(\"player/blocks.hpp\")\n#endif",
       ":1: error: __has_include(\"player/blocks.hpp\") may find another"},
      {"asks_in_angles", "\n#if __has_include(<player/blocks.hpp>)\n#endif",
       ":2: error: __has_include(<player/blocks.hpp>) may find another"},
      {"asks_by_another_name", "#define THERE __has_include\n#if THERE(\"mine.hpp\")\n#endif",
       ":1: error: __has_include may find another"}};
  return all;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

HandedIn handed_in(const LessonInfo& lesson, const std::string& text) {
  HandedIn answer;
  answer.texts[lesson.files[0]] = text;
  return answer;
}

/// Lesson 01 in a copy of the course, compiled as the build compiles a student's file, and in a grade.
class Lesson {
 public:
  Lesson() : checkout_(Checkout::find()), lesson_(checkout_.lessons.front()) {
    for (const char* folder : {"common", "lessons"}) {
      for (const fs::directory_entry& entry : fs::recursive_directory_iterator(checkout_.root / folder)) {
        const fs::path extension = entry.path().extension();
        if (extension == ".hpp" || extension == ".json" || extension == ".txt")
          write_text(root_ / fs::relative(entry.path(), checkout_.root), read_text(entry.path()));
      }
    }
    write_text(file().parent_path() / "mine.hpp", "#pragma once\n");
  }

  std::string said_by_build(const std::string& before,
                            const std::map<std::string, std::string>& environment = {}) const {
    write_text(file(), answer(before, root_));
    std::vector<std::string> command{
        checkout_.build() / "bin" / "compile-answer", root_, lesson_.folder(), "none", file(), "--"};
    command.insert(command.end(), compile_.begin(), compile_.end());
    const Captured compiled =
        capture({.argv = command, .folder = temporary_.path(), .environment = environment});
    EXPECT_EQ(fs::remove(object()), compiled.exit.code == 0);
    return compiled.exit.code == 0 ? "" : compiled.output;
  }

  std::string said_by_grade(const std::string& before, Examination examination = Examination::Skipped) {
    return workshop_.make(handed_in(lesson_, answer(before, checkout_.root)), examination);
  }

 private:
  fs::path file() const { return root_ / Checkout::student_file(lesson_, lesson_.files[0]); }
  fs::path object() const { return temporary_.path() / "answer.o"; }

  std::string answer(const std::string& before, const fs::path& root) const {
    return replaced(before, "@ROOT@", root) + "\n" + *checkout_.skeleton(lesson_, lesson_.files[0]);
  }

  /// The command that the build has for the student's file, for the copy.
  std::vector<std::string> compile() const {
    const fs::path students = checkout_.root / Checkout::student_file(lesson_, lesson_.files[0]);
    std::vector<std::string> command;
    for (const nlohmann::json& entry :
         nlohmann::json::parse(read_text(checkout_.build() / "compile_commands.json"))) {
      if (entry.at("file") == students.string()) command = words_of(entry.at("command"));
    }
    std::erase(command, "-Werror");  // which no student's build has
    for (std::string& word : command) word = replaced(word, checkout_.root, root_);
    const auto output = std::ranges::find(command, "-o");
    if (output == command.end()) throw std::runtime_error("the build does not compile " + students.string());
    *(output + 1) = object();
    command.insert(output, {"-MD", "-MF", temporary_.path() / "answer.d"});
    return command;
  }

  const Checkout checkout_;
  const LessonInfo& lesson_;
  const TemporaryFolder temporary_;
  const fs::path root_ = temporary_.path() / "a course";
  const std::vector<std::string> compile_ = compile();
  Workshop workshop_{checkout_, lesson_, strongest_isolation()};
};

TEST(HeadersInWords, NameTheSystemsThatTheLessonHas) {
  const Checkout checkout = Checkout::find();
  for (const LessonInfo& lesson : checkout.lessons) {
    const std::string words = AnswerHeaders(checkout.root, lesson.folder(), lesson.needs_gpu()).in_words();
    const std::string systems = words.substr(words.find("the system's headers"));
    EXPECT_NE(systems.find("C++"), std::string::npos) << words;
    EXPECT_NE(systems.find("Eigen"), std::string::npos) << words;
    EXPECT_EQ(systems.find("MPI") != std::string::npos, lesson.needs_mpi()) << words;
    EXPECT_EQ(systems.find("CUDA") != std::string::npos, lesson.needs_gpu()) << words;
  }
}

class Includes : public testing::TestWithParam<Attempt> {};

TEST_P(Includes, AreTheSameInTheBuildAndInAGrade) {
  static Lesson lesson;
  const auto& [name, before, expected] = GetParam();
  const std::string build = lesson.said_by_build(before), grade = lesson.said_by_grade(before);
  EXPECT_EQ(build.empty(), expected.empty()) << build;
  EXPECT_NE(build.find(expected), std::string::npos) << build;
  EXPECT_EQ(grade.empty(), expected.empty()) << grade;
  EXPECT_EQ(grade.find("does not compile: "), expected.empty() ? std::string::npos : 0U) << grade;
  // Of the line a compiler thinks otherwise where a macro names the header. What lies beside the answer in
  // the build alone, a grade does not have.
  const bool is_refused = expected.starts_with(":") && expected.ends_with(" may not");
  if (is_refused && std::string(name) != "own_header") {
    EXPECT_NE(grade.substr(0, grade.find('\n')).find(expected.substr(2)), std::string::npos) << grade;
  }
}

INSTANTIATE_TEST_SUITE_P(Attempts, Includes, testing::ValuesIn(attempts()),
                         [](const auto& attempt) { return attempt.param.name; });

/// The names that an object leaves to others; what each does is in a function that is called from elsewhere.
class Names : public testing::TestWithParam<Attempt> {};

TEST_P(Names, AreRefusedByTheBuildAndByAGradeAlike) {
  static Lesson lesson;
  const auto& [name, before, expected] = GetParam();
  const std::string build = lesson.said_by_build(before),
                    grade = lesson.said_by_grade(before, Examination::Whole);
  EXPECT_EQ(build.empty(), expected.empty()) << build;
  EXPECT_EQ(grade.empty(), expected.empty()) << grade;
  if (expected.empty()) return;
  EXPECT_NE(build.find("safe_softmax.cpp: error: it " + expected), std::string::npos) << build;
  EXPECT_NE(grade.find("safe_softmax.cpp " + expected), std::string::npos) << grade;
}

INSTANTIATE_TEST_SUITE_P(
    Attempts, Names,
    testing::ValuesIn(std::vector<Attempt>{
        {"file", "#include <fstream>\nvoid keep() { std::ofstream(\"kept\") << 1; }",
         "uses a file (std::ofstream and the like), which no answer to this lesson needs"},
        {"environment", "#include <cstdlib>\nconst char* home() { return std::getenv(\"HOME\"); }",
         "uses getenv, which no answer to this lesson needs"},
        {"chance", "#include <random>\nunsigned any() { return std::random_device{}(); }",
         "uses std::random_device, which no answer to this lesson needs"},
        {"thread",
         "#include <mutex>\n#include <thread>\nvoid both(std::mutex& m) { std::thread([&] { std::scoped_lock "
         "l(m); }).join(); }",
         ""},
        {"latch", "#include <latch>\nvoid both(std::latch& l) { l.arrive_and_wait(); }",
         "uses a system call, as std::jthread"},
        {"folder", "#include <filesystem>\nbool is() { return std::filesystem::exists(\"x\"); }",
         "uses std::filesystem, which no answer to this lesson needs"}}),
    [](const auto& attempt) { return attempt.param.name; });

/// As environment modules do where Eigen and MPI are installed under a folder of their own.
TEST(IncludesOfABuild, MayBeInFoldersThatTheEnvironmentHasTheCompilerSearch) {
  const Lesson lesson;
  const TemporaryFolder elsewhere;
  const fs::path header = elsewhere.path() / "a library" / "library.hpp";
  write_text(header, "#pragma once\n");
  const std::string by_path = "#include \"" + header.string() + "\"";
  EXPECT_NE(lesson.said_by_build(by_path).find("library.hpp may not be included"), std::string::npos);
  for (const char* name : {"CPATH", "CPLUS_INCLUDE_PATH"})
    EXPECT_EQ(lesson.said_by_build("#include <library.hpp>", {{name, header.parent_path()}}), "") << name;
}

/// A grade without isolation sees the whole course, as the build does.
TEST(IncludesOfAGrade, AreToldByFileAndLine) {
  const Checkout checkout = Checkout::find();
  const LessonInfo& lesson = checkout.lessons.front();
  const std::string said =
      Workshop(checkout, lesson, Isolation::None)
          .make(handed_in(lesson, "\n#include \"" +
                                      (checkout.root / "common/ring/softmax_state.hpp").string() + "\"\n" +
                                      *checkout.skeleton(lesson, lesson.files[0])));
  EXPECT_NE(
      said.find("safe_softmax.cpp:2: error: common/ring/softmax_state.hpp may not be included; an answer to "
                "lesson 01 may include safe_softmax.hpp, tensor/view.hpp"),
      std::string::npos)
      << said;
}

TEST(IncludesOfAGrade, AreToldByTheLineOfACudaSource) {
  const Checkout checkout = Checkout::find();
  const auto lesson = std::ranges::find_if(checkout.lessons, &LessonInfo::needs_gpu);
  if (lesson == checkout.lessons.end() || !checkout.build_obstacle(*lesson).empty())
    GTEST_SKIP() << "there is no simulated GPU";
  const std::string skeleton = *checkout.skeleton(*lesson, lesson->files[0]);
  const auto said = [&](const std::string& before) {
    return Workshop(checkout, *lesson, Isolation::None).make(handed_in(*lesson, before + skeleton));
  };
  EXPECT_EQ(said("#include <nvtx3/nvToolsExt.h>\n#include \"lesson/cuda_check.hpp\"\n"), "");
  const std::string refused =
      said("\n\n#include \"" + (checkout.root / "common/ring/softmax_state.hpp").string() + "\"\n");
  EXPECT_NE(refused.find(lesson->files[0] + ":3: error: common/ring/softmax_state.hpp may not be included"),
            std::string::npos)
      << refused;
}

/// The solution's includes are the list's: it compiles, as each lesson's own tests show.
TEST(IncludesOfEveryLesson, AreLookedAtWhereverItsAnswerIsCompiled) {
  const Checkout checkout = Checkout::find();
  for (const LessonInfo& lesson : checkout.lessons) {
    if (!checkout.build_obstacle(lesson).empty()) continue;
    for (const char* subject : {"student", "drill"}) {
      const std::string library =
          fs::relative(library_of(checkout.build(), lesson, subject), checkout.build());
      const Captured commands =
          capture({.argv = {"ninja", "-C", checkout.build(), "-t", "commands", library}});
      for (const std::string& file : lesson.files) {
        const bool looked_at =
            std::ranges::any_of(lines_of(commands.output), [&](const std::string& command) {
              return command.find("/compile-answer ") != std::string::npos &&
                     command.find(" " + lesson.folder() + " ") != std::string::npos &&
                     command.find("/" + file) != std::string::npos;
            });
        EXPECT_TRUE(looked_at) << library << " of " << file;
      }
    }
  }
}

}  // namespace
}  // namespace course::program::grader
