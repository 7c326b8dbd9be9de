#include "judge/task.hpp"

void course::add_hidden_examples(LessonJudge&) {}
