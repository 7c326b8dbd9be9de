#!/usr/bin/env bash
# Grades a folder of generated submissions to lesson 01, right, wrong and hostile, as an instructor would: unattended, with
# an interruption on the way, and compares points with what each should have.
#   collection_test.sh BUILD [JOBS]      BUILD: where the program, judge, player and candidates of lesson 01 were built
set -u
course_root=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd -P -- "$1" && pwd)
jobs=${2:-2}
work=$(mktemp -d) && work=$(cd -P -- "$work" && pwd)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/course/checks.sh
. "$course_root/tests/course/checks.sh"
folder=01_safe_softmax
file=safe_softmax.cpp
solution=$course_root/solutions/$folder/$file
all="$work/handed in"
mkdir "$all"

# ---- submissions, and the points that each should have: "NAME POINTS" lines in $work/expected ----

expect() { printf '%s %s\n' "$1" "$2" >>"$work/expected"; }

# submit NAME POINTS <TEXT
submit() {
  mkdir -p "$all/$1/lessons/$folder"
  cat >"$all/$1/lessons/$folder/$file"
  expect "$1" "$2"
}

submit_right() {
  local path number
  for number in 1 2 3 4 5; do submit "right$number" 100 <"$solution"; done
  for path in "$build"/candidates/lesson01/variant/*.cpp; do submit "variant.$(basename "${path%.*}")" 100 <"$path"; done
  mkdir "$all/flat" && cp "$solution" "$all/flat/" && expect flat 100
}

# mistakes.md says which tasks a mistake fails; task 1 has 60 points, task 2 has 40.
submit_wrong() {
  local path id tasks points
  for path in "$build"/candidates/lesson01/mutant/*.cpp; do
    id=$(basename "$path" .cpp)
    tasks=$(sed -n "/^## ${id%.*}\$/,/^- tasks:/s/^- tasks: //p" "$course_root/tests/$folder/mistakes.md")
    points=100
    case $tasks in *1*) points=$((points - 60)) ;; esac
    case $tasks in *2*) points=$((points - 40)) ;; esac
    submit "mutant.$id" "$points" <"$path"
  done
}

# The attack, and the solution with a task that depends on it; or a file that is a whole submission.
hostile_text() {
  local with
  with=$(sed -n 's/^\/\/ with: //p' "$1")
  [ -z "$with" ] || cat "$course_root/tests/grader/hostile/$with"
  sed "s#@ROOT@#$course_root#g" "$1"
  grep -q '^namespace lesson' "$1" || sed 's#^  //> task 1$#  if (!::attack()) return;#' "$solution"
}

# An attack that is refused before it runs costs the lesson; one that runs costs the task that it runs in.
submit_hostile() {
  local path graded points
  for path in "$course_root"/tests/grader/hostile/solo/*.cpp; do
    graded=$(sed -n 's/^\/\/ graded: //p' "$path")
    points=40
    case $graded in *'no answer to this lesson needs'* | *'may find another answer'* | *compile* | *'No such file'* | *'may not be included'* | *definition* | *instruction*) points=0 ;; esac
    hostile_text "$path" | submit "hostile.$(basename "${path%.cpp}")" "$points"
  done
}

submit_odd() {
  "$build/bin/cut-skeleton" "$solution" "$work/skeleton.cpp"
  submit skeleton 0 <"$work/skeleton.cpp"
  echo 'int broken(' | submit broken 0
  : | submit empty_file 0
  mkdir "$all/empty" && expect empty 0
  mkdir "$all/link" && ln -s "$solution" "$all/link/$file" && expect link 0
  mkdir "$all/pipe" && mkfifo "$all/pipe/$file" && expect pipe 0
  mkdir "$all/large" && truncate -s 100M "$all/large/$file" && expect large 0
  mkdir -p "$all/patched tests/tests/$folder" && cp "$solution" "$all/patched tests/" &&
    echo '#error' >"$all/patched tests/tests/$folder/judge.cpp" && expect 'patched tests' 100
}

# ---- grading ----

results="$work/results"

echo '{"03": {"1": 5}}' >"$work/points.json" # one file serves assignments of other lessons, too

grade() {
  COURSE_ROOT=$course_root COURSE_BUILD=$build "$build/bin/course-program" grade 01 --submissions "$all" --output "$results" --seed 20261121 \
    --jobs "$jobs" --points "$work/points.json" --prepared >"$work/out" 2>"$work/err" </dev/null
}

interrupt_it() {
  grade &
  local grader=$! count
  for _ in $(seq 600); do
    count=$(find "$results" -name '*.json' 2>/dev/null | wc -l)
    [ "$count" -lt 8 ] || break
    sleep 0.2
  done
  kill -9 "$grader"
  wait "$grader" 2>/dev/null
  while pgrep -f "$all" >/dev/null; do sleep 0.2; done # those in hand come to their end
}

graded_before() { find "$results" -name '*.json' -newer "$work/interrupted" | wc -l; }

submit_right
submit_wrong
submit_hostile
submit_odd
code='' out='' err=''
interrupt_it
done_before=$(find "$results" -name '*.json' ! -name run.json ! -name points.json -printf '%f\n' | sort -u | wc -l)
touch "$work/interrupted"
sleep 1
grade
code=$?
out=$(tail -n 3 "$work/out")
err=$(cat "$work/err")
check 'the run ends with exit code 0' is "$code" 0
check 'at least fifty were handed in' test "$(wc -l <"$work/expected")" -ge 50
check 'the second run keeps what the first had graded' has "$err" "already graded in $results: $done_before"
sort "$work/expected" >"$work/expected.sorted"
tail -n +2 "$results/grades.csv" | sed 's/^"\([^"]*\)",\([0-9]*\),.*/\1 \2/' | sort >"$work/points"
check 'every submission has the points that it should' diff "$work/expected.sorted" "$work/points"
check 'nothing is left of those who attacked' is "$(pgrep -c course-orphan)" 0

# ---- a judge that fails costs no other lesson its grade, and is not forgotten ----

broken="$work/broken build"
mkdir "$broken"
ln -s "$build"/* "$broken/"
rm "$broken/bin"
mkdir "$broken/bin"
ln -s "$build"/bin/* "$broken/bin/"
rm "$broken/bin/judge_lesson01"
printf '#!/bin/sh\nexit 2\n' >"$broken/bin/judge_lesson01" && chmod +x "$broken/bin/judge_lesson01"
mkdir -p "$work/two/flat" && cp "$course_root"/solutions/0[12]_*/*.cpp "$work/two/flat/"
out=$(COURSE_ROOT=$course_root COURSE_BUILD=$broken "$broken/bin/course-program" grade 01 02 --submission "$work/two/flat" --prepared 2>/dev/null)
check 'a judge that fails is exit code 1' is $? 1
check 'its lesson is skipped' has "$out" 'lesson 01 safe_softmax: skipped'
check 'the report says why' has "$out" 'cannot grade on this machine: the judge of lesson 01 ended with exit code 2'
check 'another lesson has its grade' has "$out" 'lesson 02 online_softmax: passed, 100 of 100 points'
for again in first second; do
  COURSE_ROOT=$course_root COURSE_BUILD=$broken "$broken/bin/course-program" grade 01 --submissions "$work/two" --prepared >"$work/out" 2>"$work/err"
  check "a folder of submissions with a judge that fails is exit code 1, the $again time" is $? 1
  err=$(cat "$work/err")
  check "what could not be graded is graded again, the $again time" lacks "$err" 'already graded'
done
conclude
