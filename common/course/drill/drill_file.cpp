#include "course/drill/drill.hpp"
#include "course/workspace/lesson_texts.hpp"
#include "protocol/errors.hpp"
#include "skeleton/skeleton.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

std::set<std::string> from_task_on(const LessonInfo& lesson, const std::string& task) {
  std::set<std::string> tasks;
  for (const TaskInfo& info : lesson.tasks) {
    if (info.id == task || !tasks.empty()) tasks.insert(info.id);
  }
  return tasks;
}

/// The student's own text with the task's body emptied; as it is when its function is not in it.
std::string emptied(const Checkout& checkout, const LessonInfo& lesson, const std::string& file,
                    const TaskInfo& task) {
  const std::string not_implemented = "#include \"lesson/not_implemented.hpp\"\n";
  const std::optional<Contract> contract = contract_of(checkout, lesson, task.id);
  if (!contract)
    throw std::runtime_error("no header in " + Checkout::lesson_folder(lesson).string() + " declares task " +
                             task.id);
  std::string text = read_text(checkout.root / Checkout::student_file(lesson, file));
  if (!definition_line(text, contract->function)) return text;
  if (text.find(not_implemented) == std::string::npos) text = not_implemented + text;
  return with_body(text, contract->function,
                   "throw course::NotImplemented(\"task " + task.id + ", " + task.name + "\");");
}

}  // namespace

fs::path drill_folder(const LessonInfo& lesson) {
  return fs::path(".course") / "drill" / lesson.folder();
}

std::vector<DrillFile> drill_files(const Checkout& checkout, const LessonInfo& lesson,
                                   const std::string& task, bool passed) {
  std::vector<DrillFile> files;
  for (const std::string& file : lesson.files) {
    const fs::path solution = Checkout::solution_file(lesson, file);
    if (fs::exists(checkout.root / solution)) {
      files.push_back({file, skeleton_of(read_text(checkout.root / solution), from_task_on(lesson, task))});
    } else if (passed) {
      files.push_back({file, emptied(checkout, lesson, file, lesson.task(task))});
    } else {
      throw Unavailable("a drill starts from the solution or from your own answer; this checkout has no " +
                        solution.string() + ", and lesson " + lesson.id + " is not passed as it stands");
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
