#!/usr/bin/env bash
# Tests ./course watch and ./course drill as a student meets them, in a copy of the course (student_copy.sh). What they
# print is waited for, for two minutes at most; nothing else depends on the time.
#   watch_and_drill_test.sh BUILD      BUILD: where the program, judge_lesson01 and player_solo were built
#                                      prints a line a check and the totals; exit 1 when one fails
set -u
# shellcheck source=tests/course/student_copy.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/student_copy.sh"
drilled="$copy/.course/drill/01_safe_softmax/safe_softmax.cpp"

# ---- a command that goes on while files are saved ----

start() {
  COURSE_ROOT=$copy "$build/bin/course-program" "$@" >"$work/out" 2>"$work/err" </dev/null &
  running=$!
  code='it runs'
}

read_streams() {
  out=$(cat "$work/out")
  err=$(cat "$work/err")
}

# Waits until the command $@ succeeds.
wait_until() {
  local tries
  for ((tries = 0; tries < 1200; ++tries)); do
    if "$@"; then return 0; fi
    sleep 0.1
  done
  return 1
}

said() { [ "$(grep -cF -- "$1" "$work/out")" -ge "${2:-1}" ]; }
complained() { grep -qF -- "$1" "$work/err"; }

# Waits until stdout has $1 (in $2 lines).
says() {
  wait_until said "$@"
  local result=$?
  read_streams
  return $result
}

complains() {
  wait_until complained "$1"
  local result=$?
  read_streams
  return $result
}

ended() { ! kill -0 "$running" 2>/dev/null; }

# Waits for the end; sets code, out and err.
await_end() {
  wait_until ended || kill -KILL "$running"
  wait "$running"
  code=$?
  read_streams
}

interrupt() {
  kill -INT "$running"
  await_end
}

# ---- saves, as editors make them ----

save_in_place() { cat >"$1"; }

save_by_renaming() {
  cat >"$1.new"
  mv "$1.new" "$1"
}

solution() { sed '/^ *\/\/[>|<]/d' "$copy/solutions/01_safe_softmax/safe_softmax.cpp"; }
wrong_answer() { cat "$build/candidates/lesson01/mutant/along_columns.cpp"; }
broken_answer() { solution | sed 's/return m;/return n;/'; }

# Its compiler waits for somebody to write into $work/gate.
gated_answer() {
  [ -p "$work/gate" ] || mkfifo "$work/gate"
  printf '#include "%s"\n' "$work/gate"
  wrong_answer
}

# The processes of this copy of the course, by what they were started with.
of_this_copy() { grep -lzF -- "$copy" /proc/[0-9]*/cmdline 2>/dev/null; }
compiler_runs() { of_this_copy | xargs -r grep -lzF cc1plus >/dev/null 2>&1 && [ -n "$(of_this_copy | xargs -r grep -lzF cc1plus 2>/dev/null)" ]; }
nothing_left() { [ -z "$(of_this_copy)" ]; }

# ---- watch ----

test_watch() {
  start watch
  check 'watch says what it watches' says 'watching lessons/01_safe_softmax/safe_softmax.cpp'
  check 'and that it is a skeleton' says 'is still the skeleton'
  wrong_answer | save_in_place "$student"
  check 'a save in place is checked' says 'looks like: the softmax runs down the columns'
  broken_answer | save_by_renaming "$student"
  check 'a save by renaming is checked' complains 'error:'
  check 'to the end' says 'next: lesson 01: lessons/01_safe_softmax/safe_softmax.cpp does not compile'
  wrong_answer | save_in_place "$student"
  check 'the next one too' says 'looks like: the softmax runs down the columns' 2
  gated_answer | save_by_renaming "$student"
  check 'a check is under way' wait_until compiler_runs
  solution | save_by_renaming "$student"
  echo >"$work/gate"
  check 'a save during a check leads to one more' says 'lesson 01 passed:'
  check 'after a pass the next lesson is watched' says 'watching lessons/02_online_softmax/online_softmax.cpp'
  check 'no colour outside a terminal' lacks "$out" $'\033'
  interrupt
  check 'Ctrl-C ends it: exit 130' is "$code" 130
}

test_watch_of_a_passed_lesson() {
  solution | save_in_place "$student"
  course check 01
  start watch 1
  check 'a passed lesson can be watched' says 'watching lessons/01_safe_softmax/safe_softmax.cpp'
  rm "$student"
  wrong_answer | save_in_place "$student"
  check 'a file that was gone for a while' says 'looks like: the softmax runs down the columns'
  gated_answer | save_in_place "$student"
  check 'a check is under way' wait_until compiler_runs
  interrupt
  check 'Ctrl-C during a check: exit 130' is "$code" 130
  check 'no process is left' wait_until nothing_left
  solution | save_in_place "$student"
  course check 01
  check 'and the next check works' is "$code" 0
}

test_watch_to_the_end() {
  mkdir "$work/others"
  mv "$copy"/tests/{0[2-9],[1-9][0-9]}_* "$work/others/"
  wrong_answer | save_in_place "$student"
  start watch 01 --problems
  check 'a wrong answer is checked at once' complains 'safe_softmax.cpp:'
  check 'as a problem' has "$err" ': error: lesson01.1: '
  solution | save_by_renaming "$student"
  await_end
  check 'when all is passed: exit 0' is "$code" 0
  check 'it says so' has "$out" 'there is nothing to watch'
  course watch
  check 'nothing to watch: exit 0' is "$code" 0
  course watch 05
  check 'a lesson without a judge: exit 3' is "$code" 3
  mv "$work"/others/* "$copy/tests/"
  course watch 01.1
  check 'watch of a task: exit 2' is "$code" 2
}

# ---- drill ----

test_drill() {
  echo '// mine' >"$student"
  start drill 01.2
  check 'drill says where to write' says 'write it in .course/drill/01_safe_softmax/safe_softmax.cpp'
  check 'and when it starts' says 'the clock runs'
  check 'with the contract' has "$out" '/// Task 2. lse_i = log sum_j exp(x_ij)'
  check 'and the declaration' has "$out" 'void logsumexp(course::MatrixView<const float> x, std::span<float> lse);'
  check 'the body is empty' has "$(cat "$drilled")" 'throw course::NotImplemented("task 2, logsumexp");'
  check 'the other task is not shown' lacks "$(cat "$drilled")" 'void softmax('
  cp "$drilled" "$work/given"
  check 'and can be called' has "$(cat "$drilled")" '// softmax is written elsewhere and can be called.'
  solution | sed 's/return m;/return n;/' | save_in_place "$drilled"
  check 'what does not compile' complains '.course/drill/01_safe_softmax/safe_softmax.cpp:'
  solution | sed 's/lse\[i\] = m + std::log(l)/lse[i] = std::log(l)/' | save_by_renaming "$drilled"
  check 'what is wrong' says 'FAIL  lesson01.2'
  wait_until kept_for_hint
  printf '## Task 2\n### Hint 1\nThink.\n' >"$copy/lessons/01_safe_softmax/hints.md"
  hint_of_drill=$(COURSE_ROOT=$copy "$build/bin/course-program" hint 01)
  check 'a hint knows of it' has "$hint_of_drill" 'the last drill said: '
  check 'and of all that was said' has "$hint_of_drill" "$(sed -n 's/^ *\(lse\[row.*\)/\1/p' "$work/out" | head -n 1)"
  check 'and sends to no file of mine' lacks "$hint_of_drill" './course replay'
  answer_with_neighbour | save_by_renaming "$drilled"
  await_end
  check 'what is right ends it: exit 0' is "$code" 0
  check 'with the time' has "$out" 'drill 01.2 passed in '
  check 'and the checks' has "$out" ' 3 checks'
  check 'no other task was played' lacks "$out" 'lesson01.1'
  check 'my own file is as it was' is "$(cat "$student")" '// mine'
  check 'no case is kept' test ! -e "$copy/.course/cases/lesson01.2"
}

kept_for_hint() { grep -q '"drilled": *{ *"01"' <(tr -d '\n' <"$copy/.course/results.json"); }

# The drill as it was given, with a body that calls the neighbour and a helper under the name of one that the neighbour has:
# both the solution's, since handouts hold this file and no answer.
answer_with_neighbour() {
  solution >"$work/solved"
  sed -n '/^namespace {/,/^}.*namespace$/p' "$work/solved" >"$work/helper"
  echo 'std::vector<float> p(x.rows() * x.cols()); softmax(x, {p.data(), x.rows(), x.cols()});' >"$work/body"
  sed -n '/^void logsumexp(/,/^}/p' "$work/solved" | sed '1d;$d' >>"$work/body"
  printf '#include <algorithm>\n#include <cmath>\n#include <limits>\n#include <vector>\n'
  sed -e "/^namespace lesson01 {/r $work/helper" -e "/throw course::NotImplemented/{r $work/body" -e 'd;}' "$work/given"
}

test_drill_given_up() {
  start drill 01.2
  check 'another drill keeps what was written' says 'your last drill of lesson 01 is kept in .course/backup/01_safe_softmax/drill-'
  check 'and starts anew' says 'the clock runs'
  gated_answer | save_in_place "$drilled"
  check 'a check is under way' wait_until compiler_runs
  interrupt
  check 'giving up: exit 130' is "$code" 130
  check 'it is said' has "$out" 'drill 01.2 given up after'
  check 'the earlier time is beside it' has "$out" ' 3 checks'
  check 'no process is left' wait_until nothing_left
  course drill --history
  check 'the history: exit 0' is "$code" 0
  check 'two tries, one passed' grep -qE '^01\.2 +logsumexp +2 +1 +[0-9]+ .* given up ' "$work/out"
  course drill 01.1 --history
  check 'of a task never drilled' has "$out" 'no drill yet'
}

test_drill_by_chance() {
  solution | save_in_place "$student"
  course check 01
  start drill
  check 'a task of a passed lesson' says 'the clock runs'
  check 'it is named' grep -qE '^drill 01\.[12], ' "$work/out"
  interrupt
}

test_drill_without_solutions() {
  mv "$copy/solutions" "$work/"
  solve_from_backup
  course check 01
  start drill 01.1
  check 'my own answer serves' says 'the clock runs'
  check 'with the body empty' grep -q 'NotImplemented("task 1, softmax")' "$drilled"
  check 'and without my other task, which is compiled in' lacks "$(cat "$drilled")" 'std::log(l)'
  check 'my own file is whole' lacks "$(cat "$student")" NotImplemented
  cp "$student" "$drilled"
  await_end
  check 'it can be passed: exit 0' is "$code" 0
  wrong_answer | save_in_place "$student"
  course drill 01.1
  check 'with neither: exit 3' is "$code" 3
  mv "$work/solutions" "$copy/"
}
solve_from_backup() { sed '/^ *\/\/[>|<]/d' "$work/solutions/01_safe_softmax/safe_softmax.cpp" | save_in_place "$student"; }

test_unreadable_history() {
  echo 'not json' >"$copy/.course/drill.json"
  course drill --history
  check 'an unreadable history: exit 0' is "$code" 0
  check 'it is said' has "$err" 'what was remembered of your drills is unreadable'
  check 'and kept' is "$(find "$copy/.course" -name 'drill.json.unreadable-*' | wc -l)" 1
}

make_copy
test_watch
test_watch_of_a_passed_lesson
test_watch_to_the_end
test_drill
test_drill_given_up
test_drill_by_chance
test_drill_without_solutions
test_unreadable_history
conclude
