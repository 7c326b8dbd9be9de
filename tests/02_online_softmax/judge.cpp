#include "judge/softmax/online_softmax.hpp"
#include "judge/softmax/output_merge.hpp"

using namespace course;

LessonJudge course::lesson_judge() {
  return {"02",
          {online_softmax::merge_task("1", "merge"), online_softmax::pass_task("2", "online_attention"),
           output_merge::task("3", "merge_normalised")}};
}
