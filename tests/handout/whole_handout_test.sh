#!/usr/bin/env bash
# Makes a handout of every lesson, clones it and does with the launcher what a student does: the two commands, a right
# answer to every lesson, and a released solution. Compiles everything anew.
#   whole_handout_test.sh BUILD      BUILD: where the program was built
#                                    prints a line a check and the totals; exit 1 when one fails, 77 where it cannot run
set -u
course_root=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd -P -- "$1" && pwd)
# shellcheck source=tests/course/checks.sh
. "$course_root/tests/course/checks.sh"
# shellcheck source=tests/handout/instructor.sh
. "$course_root/tests/handout/instructor.sh"
student="$work/a student"

instructor() { COURSE_ROOT=$instructor "$build/bin/course-program" "$@" || exit 1; }

course() {
  "$student/course" --no-install "$@" >"$work/out" 2>"$work/err" </dev/null
  code=$?
  out=$(cat "$work/out")
  err=$(tail -n 20 "$work/err")
}

# The folders of the registry's lessons.
lessons() {
  grep -oE '"id": "[0-9]{2}"' "$instructor/lessons/registry.json" | grep -oE '[0-9]+' | while read -r id; do
    (cd "$instructor/solutions" && echo "$id"_*)
  done
}

solve() {
  local file
  find "$instructor/solutions/$1" -name '*.cpp' -o -name '*.cu' | while read -r file; do
    sed '/^ *\/\/[>|<]/d' "$file" >"$student/lessons/$1/${file##*/}"
  done
}

make_instructor
instructor handout "$work/handout"
git clone --quiet "$work/handout" "$student"

course demo
check 'demo of a fresh handout: exit 3' is "$code" 3
check 'it names the lesson to write' has "$err" 'lesson 04 (blockwise_attention) is not passed'
course test
check 'test of a fresh handout: exit 0' is "$code" 0
course test --lesson 05
check 'of which two play the skeleton of lesson 05' is "$(tail -n 1 <<<"$out")" '2 passed, 0 failed, 0 skipped'
for lesson in $(lessons); do
  course check "$lesson"
  check "check of the skeleton of $lesson: exit 1" is "$code" 1
  solve "$lesson"
  course check "$lesson"
  check "check of a right answer to $lesson: exit 0" is "$code" 0
done
course demo
check 'demo of right answers: exit 0' is "$code" 0
check 'it says whose they are' has "$out" 'your own'

instructor release 05 "$work/handout"
git -C "$student" pull --quiet --no-rebase --no-edit --autostash
course show 05
check 'show of a released solution: exit 0' is "$code" 0
course test --lesson 05
check 'its tests: exit 0' is "$code" 0
check 'are of the solution, too' test "$(tail -n 1 <<<"$out" | grep -oE '^[0-9]+')" -gt 1
conclude
