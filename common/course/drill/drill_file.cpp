#include "course/drill/drill_file.hpp"

#include <set>
#include <stdexcept>

#include "course/workspace/contract.hpp"
#include "protocol/errors.hpp"
#include "skeleton/skeleton.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

const std::string not_implemented = "#include \"lesson/not_implemented.hpp\"\n";

std::set<std::string> from_task_on(const LessonInfo& lesson, const std::string& task) {
  std::set<std::string> tasks;
  for (const TaskInfo& info : lesson.tasks) {
    if (info.id == task || !tasks.empty()) tasks.insert(info.id);
  }
  return tasks;
}

/// The student's own text with the function's body emptied; as it is when the function is not in it.
std::string emptied(std::string text, const std::string& function, const TaskInfo& task) {
  if (!definition_line(text, function)) return text;
  if (text.find(not_implemented) == std::string::npos) text = not_implemented + text;
  return with_body(text, function,
                   "throw course::NotImplemented(\"task " + task.id + ", " + task.name + "\");");
}

DrillFile from_student(const Checkout& checkout, const LessonInfo& lesson, const std::string& file,
                       const std::string& task) {
  const std::optional<Contract> contract = contract_of(checkout, lesson, task);
  if (!contract) {
    throw std::runtime_error("no header in " + Checkout::lesson_folder(lesson).string() + " declares task " +
                             task);
  }
  const std::string text = read_text(checkout.root / Checkout::student_file(lesson, file));
  return {file, emptied(text, contract->function, lesson.task(task))};
}

}  // namespace

fs::path drill_folder(const LessonInfo& lesson) {
  return fs::path(".course") / "drill" / lesson.folder();
}

std::vector<DrillFile> drill_files(const Checkout& checkout, const LessonInfo& lesson,
                                   const std::string& task, bool passed) {
  std::vector<DrillFile> files;
  for (const std::string& file : lesson.files) {
    const fs::path solution = checkout.root / Checkout::solution_file(lesson, file);
    if (fs::exists(solution)) {
      files.push_back({file, skeleton_of(read_text(solution), from_task_on(lesson, task))});
    } else if (passed) {
      files.push_back(from_student(checkout, lesson, file, task));
    } else {
      throw Unavailable("a drill starts from the solution or from your own answer; this checkout has no " +
                        Checkout::solution_file(lesson, file).string() + ", and lesson " + lesson.id +
                        " is not passed as it stands");
    }
  }
  return files;
}

fs::path write_drill(const Checkout& checkout, const LessonInfo& lesson,
                     const std::vector<DrillFile>& files) {
  const fs::path backup =
      unused_path(checkout.state() / "backup" / lesson.folder() / ("drill-" + timestamp()));
  bool kept = false;
  for (const DrillFile& file : files) {
    const fs::path path = checkout.root / drill_folder(lesson) / file.file;
    if (fs::exists(path) && read_text(path) != file.text) {
      write_text(backup / file.file, read_text(path));
      kept = true;
    }
    write_text(path, file.text);
  }
  return kept ? fs::relative(backup, checkout.root) : fs::path();
}

}  // namespace course::program
