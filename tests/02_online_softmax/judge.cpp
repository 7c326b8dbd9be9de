#include "judge/softmax/online_softmax.hpp"
#include "judge/softmax/output_merge.hpp"
#include "judge/softmax/state_merge.hpp"

using namespace course;

LessonJudge course::lesson_judge() {
  return {"02",
          {state_merge::task("1", "merge"), online_softmax::task("2", "online_attention"),
           output_merge::task("3", "merge_normalised")}};
}
