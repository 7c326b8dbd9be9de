#include "judge/agreement.hpp"

#include <algorithm>
#include <stdexcept>

namespace course {

void require_agreement(const LessonJudge& judge, const LessonInfo& lesson) {
  for (const Task& task : judge.tasks) {
    lesson.task(task.id);
    for (const Mistake& mistake : task.mistakes) require_known({mistake.id}, lesson);
  }
  for (const TaskInfo& info : lesson.tasks) {
    if (std::ranges::any_of(judge.tasks, [&](const Task& task) { return task.id == info.id; })) continue;
    throw std::invalid_argument("the judge of lesson " + lesson.id + " has no task " + info.id +
                                ", which the registry has");
  }
}

void require_known(const std::set<std::string>& mistakes, const LessonInfo& lesson) {
  for (const std::string& id : mistakes) lesson.mistake(id);
}

}  // namespace course
