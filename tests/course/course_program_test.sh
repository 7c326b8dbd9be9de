#!/usr/bin/env bash
# Tests the course program as a student meets it, in a copy of the course whose CMakeLists.txt is tests/course/miniature:
# program, judge, player and the compile of the student's file are the real ones.
#   course_program_test.sh BUILD [TEST...]      BUILD: where the program, judge_lesson01 and player_solo were built;
#                                               TEST: status, todo ..., by default all
# Prints a line a check and the totals; exit 1 when one fails.
set -u
# shellcheck source=tests/course/student_copy.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/student_copy.sh"

# Whether the JSON $2 has the shape that the ledger has under the name $1.
has_shape() { printf '%s' "$2" | "$build/bin/json_shape" "$course_root/tests/ledger/json/$1.json"; }

# ---- where the student is ----

test_status() {
  course
  check 'status of a fresh copy: exit 0' is "$code" 0
  check 'it says what to do' has "$out" 'next: lesson 01: read lessons/01_safe_softmax/README.md'
  check 'no colour outside a terminal' lacks "$out" $'\033'
  course --json
  check 'status as JSON: exit 0' is "$code" 0
  check 'one object' is "${out:0:1}${out: -1}" '{}'
  check 'with the lesson as todo' has "$out" '"status": "todo"'
  check 'in the recorded shape' has_shape lessons "$out"
  check 'and nothing on stderr' is "$err" ''
}

last_line() { printf '%s\n' "$out" | tail -n 1; }

# Whether ./course says that the same is next as the command before it.
is_next_too() {
  local next
  next=$(last_line)
  course
  has "$next" 'next: lesson ' && is "$(last_line)" "$next"
}

test_next() {
  course check 03
  check 'after a lesson further on, ./course goes on there' is_next_too
  break_student
  course check 01
  check 'after a failure, ./course says the same' is_next_too
  solve
  course check 01
  check 'after a pass, ./course says the same' is_next_too
  course reset 01
}

# ---- trace and lab, as far as they need no ranks ----

test_refused_runs() {
  course trace 01 --ranks 2
  check 'ranks for a lesson on one rank: exit 2' is "$code" 2
  check 'it says so' has "$err" '--ranks 2: lesson 01 runs on one rank'
  course trace 05.1 --ranks 2
  check 'ranks for a task on one rank: exit 2' is "$code" 2
  check 'it says so' has "$err" '--ranks 2: task 1 of lesson 05 runs on one rank'
  course trace 09
  check 'trace of a simulated GPU: exit 3' is "$code" 3
  check 'and says why' has "$err" 'the simulated GPU has no time'
  course trace 99
  check 'trace of no lesson: exit 2' is "$code" 2
  course lab slow-network --bandwidth 5
  check 'a bandwidth without a unit: exit 2' is "$code" 2
  check 'what was expected' has "$err" '--bandwidth 5: expected a number and Mbit or Gbit'
  course lab slow-network --latency 2
  check 'a latency without a unit: exit 2' is "$code" 2
  check 'what was expected' has "$err" '--latency 2: expected a number and us, ms or s'
  course lab two-hosts --ranks 1
  check 'one rank makes no ring: exit 2' is "$code" 2
  check 'it says so' has "$err" '--ranks: Value 1 not in range'
  course lab moon
  check 'no such laboratory: exit 2' is "$code" 2
}

# ---- check ----

test_todo() {
  course check 01
  check 'check of a skeleton: exit 1' is "$code" 1
  check 'it names the file' has "$out" 'lessons/01_safe_softmax/safe_softmax.cpp'
  check 'and the task' has "$out" 'task 1 (softmax)'
  echo '// a comment' >>"$student"
  course check 1
  check 'a comment makes no answer' has "$out" 'is still the skeleton'
}

test_pass() {
  solve
  course check 01
  check 'check of the solution: exit 0' is "$code" 0
  check 'every test is shown' has "$out" $'PASS  lesson01.1\nPASS  lesson01.2\n'
  check 'with the points' has "$out" '2 of 2 tasks passed, 100 of 100 points'
  check 'and the next lesson' has "$out" 'next: lesson 0'
  course check safe_softmax --json
  check 'check as JSON: exit 0' is "$code" 0
  check 'one object' is "${out:0:1}${out: -1}" '{}'
  check 'no diagnosis' has "$out" '"diagnosis": null'
  check 'in the recorded shape' has_shape lessons "$out"
  check 'no test lines beside it' lacks "$out" PASS
  course
  check 'status knows it' has "$out" '100 of 100  passed'
  echo '// one more thought' >>"$student"
  course
  check 'a change is seen' has "$out" 'not checked since it changed'
  course --json
  check 'and earns nothing until checked' lacks "$out" '"status": "passed"'
  sed -i 's/return m;/return n;/' "$student"
  course check 01
  check 'nor when it does not compile' is "$code" 1
  solve
  course
  check 'put back as it was when it passed, it is passed' has "$out" '100 of 100  passed'
}

test_compile_error() {
  solve
  sed -i 's/return m;/return n;/' "$student"
  course check 01
  check 'a file that does not compile: exit 1' is "$code" 1
  check 'the compiler is quoted with a path from the root' has "$err" $'\nlessons/01_safe_softmax/safe_softmax.cpp:'
  check 'without the build tool' lacks "$err$out" ninja
  check 'or its command' lacks "$err$out" FAILED
  course check 01 --json
  check 'as JSON: a diagnosis' has "$out" '"diagnosis": "does not compile: lessons/01_safe_softmax/safe_softmax.cpp:'
  solve
  sed -i 's/^void softmax(.*{$/&\n  std::cout << x;/; 1s/^/#include <iostream>\n/' "$student"
  course check 01
  check 'pages of errors: exit 1' is "$code" 1
  local place
  place=lessons/01_safe_softmax/safe_softmax.cpp:$(grep -n 'cout <<' "$student" | cut -d: -f1):
  check 'the first error is there with its line' has "$err" "${place}13: error: no match for"
  check 'and little else' lines "$(printf '%s\n' "$err" | tail -n +2 | head -n 13)" "$(printf '%s\n' "$err" | tail -n +2 | wc -l)"
  check 'all of it is where that says' has "$(cat "$copy/$(printf '%s' "$err" | sed -n 's/^all .* lines of the compiler: //p')")" 'note: '
  solve
  sed -i 's/void logsumexp/void log_sum_exp/' "$student"
  course check 01
  check 'a function that is missing: exit 1' is "$code" 1
  check 'it is named' has "$err" 'error: lesson01::logsumexp('
  check 'as a part of the contract' has "$err" 'of the contract, is not defined: it is missing, or has other parameters'
  check 'without the linker' lacks "$err" collect2
}

test_failure() {
  break_student
  course check 01
  check 'a wrong answer: exit 1' is "$code" 1
  check 'it is named' has "$out" 'looks like: the softmax runs down the columns'
  check 'the other task has its points' has "$out" '1 of 2 tasks passed, 40 of 100 points'
  check 'the case is kept' test -f "$copy/.course/cases/lesson01.1/case.json"
  course check 01 --task 2
  check 'the task that is right, alone: exit 0' is "$code" 0
  course check 01.1
  check 'the task that is wrong, alone: exit 1' is "$code" 1
  course check 01 --seed 7 --json
  check 'another seed, as JSON: exit 1' is "$code" 1
  check 'the diagnosis names the mistake' has "$out" 'looks like: the softmax runs down the columns'
  check 'in the recorded shape' has_shape lessons "$out"
}

crash_in_softmax() {
  solve
  sed -i 's/^void softmax(.*{$/&\n  std::abort();/; s/#include <cmath>/&\n#include <cstdlib>/' "$student"
}

test_violence() {
  crash_in_softmax
  course check 01
  check 'a crash: exit 1' is "$code" 1
  check 'it is a verdict' has "$out" 'FAIL  lesson01.1   '
  check 'and harms no other task' has "$out" 'PASS  lesson01.2'
  check 'it says what names the line' has "$out" './course check 01 --sanitize names the line'
  rm "$student"
  course check 01
  check 'a file that is gone: exit 1' is "$code" 1
  check 'with the way back' has "$out" './course reset 01'
}

# Where a line stands in the student's file.
line_of() { grep -n -F -m 1 -- "$1" "$student" | cut -d: -f1; }

test_locate() {
  solve
  course locate 01
  check 'locate where nothing fails: exit 2' is "$code" 2
  check 'it says so' has "$err" 'no task of lesson 01 that is written fails'
  sed -i 's/std::exp(x(i, j) - m)/std::exp(x(i, j) + m)/' "$student"
  sed -i '1i static float twice(float x) { return 2 * x; }' "$student" # above the includes, which do not stand by themselves
  sed -i 's/softmax(course::MatrixView<const float> x, course::MatrixView<float> p) {/&\n  (void)twice;/' "$student"
  cp "$student" "$work/wrong.cpp"
  course locate 01
  check 'locate of a slip: exit 0' is "$code" 0
  check 'the line, as a compiler would' has "$out" "lessons/01_safe_softmax/safe_softmax.cpp:$(line_of '+ m)'): look here:"
  check 'what is there' has "$out" '^'
  check 'and not what should be' lacks "$out" 'the change:'
  check 'the file stays as it is' cmp -s "$student" "$work/wrong.cpp"
  course locate 01 --spoil
  check 'asked for, the change' has "$out" 'the change: -'
  echo 'void softmax(' >>"$student"
  course locate 01
  check 'what does not compile: exit 1' is "$code" 1
  check 'it says who says where' has "$err" 'lesson 01 does not compile: ./course check 01'
  course reset 01
  course locate 01
  check 'of a skeleton: exit 2' is "$code" 2
  check 'of a skeleton nothing is built' is "$err" 'course: no task of lesson 01 that is written fails: ./course check 01 says how it stands'
  course locate 01 --seconds 0
  check 'no time: exit 2' is "$code" 2
  check 'no time: it says what is expected' has "$err" "--seconds: expected more than 0 seconds, found '0'"
  solve
}

# The program with which lesson 01's README opens.
opening_program() {
  printf '#include "safe_softmax.hpp"\n#include <cmath>\nnamespace lesson01 {\n'
  sed -n '/^void softmax(/,/^}/p' "$copy/lessons/01_safe_softmax/README.md"
  printf 'void logsumexp(course::MatrixView<const float>, std::span<float>) {}\n}\n'
}

# What a check, whose output is in $out, said of the test $1.
said_of() { printf '%s\n' "$out" | sed -n "/^FAIL  $1 /,/^      kept in /p" | sed '$d'; }

test_replay() {
  local said
  break_student
  course check 01
  said=$(said_of lesson01.1)
  course replay lesson01.1
  check 'replay of a wrong answer: exit 1' is "$code" 1
  check 'it says all that the check said' has "$out" "$said"
  check 'and the name' has "$said" 'looks like: the softmax runs down the columns'
  check 'and shows the numbers side by side' has "$(printf '%s' "$out" | tr -s ' ')" 'right yours'
  check 'in the words of the contract' has "$out" '* p[row '
  check 'it says where the outputs are' has "$out" "$copy/.course/cases/lesson01.1/out"
  check 'and they are there' test -f "$copy/.course/cases/lesson01.1/out/rank0/p.npy"
  opening_program >"$student"
  course check 01
  said=$(said_of lesson01.1)
  course replay lesson01.1
  check 'one case alone says no cause that the check did not say' lacks "$out" 'as if'
  check 'and the one that it said' has "$said" 'looks like: the row maximum is not subtracted'
  check 'with all else' has "$out" "$said"
  echo >>"$student"
  echo 'int other;' >>"$student"
  course replay lesson01.1
  check 'which is not said of other files' lacks "$out" 'looks like: '
  break_student
  course check 01
  check 'the inputs are kept' test -f "$copy/.course/cases/lesson01.1/rank0/x.npy"
  course replay "$copy/.course/cases/lesson01.1" --subject solution
  check 'on the solution: exit 0' is "$code" 0
  mv "$copy/solutions" "$work/"
  course replay lesson01.1 --subject solution
  check 'on a solution that is not given out: exit 3' is "$code" 3
  check 'it says so' has "$err" 'the solution of lesson 01 is not given out yet'
  mv "$work/solutions" "$copy/"
  solve
  sed -i 's/^void softmax(.*{$/&\n  std::puts("here I am");/; 1s/^/#include <cstdio>\n/' "$student"
  course replay lesson01.1
  check 'replay of a right answer: exit 0' is "$code" 0
  check 'with what it prints' has "$out" 'here I am'
  check 'and the verdict' has "$out" 'PASS  lesson01.1'
  crash_in_softmax
  course replay lesson01.1
  check 'replay of a crash: exit 1' is "$code" 1
  check 'with its signal' has "$out" 'the function died of signal 6'
  check 'and no outputs of before' test ! -e "$copy/.course/cases/lesson01.1/out"
  rm "$copy/.course/cases/lesson01.1/drawn.json"
  course replay lesson01.1
  check 'a case of an older version: exit 3' is "$code" 3
  check 'it is said' has "$err" 'drawn.json'
  course replay lesson01.9
  check 'a case that is not there: exit 2' is "$code" 2
  check 'it names those that are' has "$err" lesson01.1
  course replay lesson01.1 --limit 0
  check 'replay in no time: exit 2' is "$code" 2
  check 'replay in no time: it says what is expected' has "$err" "--limit: expected more than 0 seconds, found '0'"
  course replay lesson01.1 --gdb 3
  check 'a rank that is not there: exit 2' is "$code" 2
  check 'it says which are, and builds nothing first' has "$err" 'course: --gdb: the case has the ranks 0 to 0, not 3'
}

test_own_player() {
  local folder="$work/own players"
  mkdir -p "$folder"
  printf '#!/bin/sh\necho own >"%s/ran"\nexec "%s/bin/player_solo" --subject "%s" "$@"\n' \
    "$folder" "$build" "$copy/build/lib/lesson01_solution.so" >"$folder/good"
  # It ends after the submission was loaded, as far as the judge can see.
  # shellcheck disable=SC2016  # expanded by the player
  printf '#!/bin/sh\nwhile [ "$1" != --status ]; do shift; done\nrm "$2.sealed"\nexit 7\n' >"$folder/bad"
  chmod +x "$folder/good" "$folder/bad"
  course check 01 --player "'$folder/good' --one"
  check 'a player that is wrongly called is no failure of mine: exit 3' is "$code" 3
  check 'its words are told' has "$err" 'the player did not start: player: unknown option --one'
  # shellcheck disable=SC2016  # expanded by the player
  printf '#!/bin/sh\necho "$1" >"%s/ran"\nshift 3\nexec "%s/bin/player_solo" --subject "%s" "$@"\n' \
    "$folder" "$build" "$copy/build/lib/lesson01_solution.so" >"$folder/good"
  course check 01 --player "'$folder/good' --one"
  check 'a player of my own: exit 0' is "$code" 0
  check 'it got its own option' is "$(cat "$folder/ran")" --one
  check 'the verdict is about that player' has "$out" 'lesson 01 with your own player: 2 of 2 tasks passed'
  course check 01 --player "'$folder/bad'"
  check 'a player that ends at once: exit 1' is "$code" 1
  check 'what is next is no matter of C++ files' lacks "$out" safe_softmax.cpp
  local again
  again=$(printf '%s\n' "$out" | sed -n 's/.* play it again: \.\/course //p' | head -n 1)
  check 'it says how to play the case again' has "$again" 'replay lesson01.1 --player '
  eval "course $again"
  check 'which plays it with that player: exit 1' is "$code" 1
  check 'and its exit code' has "$out" 'the program ended with exit code 7'
  course replay lesson01.1 --player "'$folder/good' --one"
  check 'replay with a player of my own: exit 0' is "$code" 0
  check 'it has written outputs' test -f "$copy/.course/cases/lesson01.1/out/rank0/p.npy"
  course replay lesson01.1 --player "'$folder/bad'"
  check 'replay with one that ends at once: exit 1' is "$code" 1
  course replay lesson01.1 --player "'$folder/good'" --gdb 0
  check 'replay with a player of my own under gdb: exit 2 or, without gdb, 3' has '2 3' "$code"
  course check 01 --player /nonexistent
  check 'a player that is not there: exit 3' is "$code" 3
  course check 01 --player ''
  check 'an empty command: exit 2' is "$code" 2
}

test_backend() {
  course check 01 --backend sim
  check 'a backend for a lesson that needs no GPU: exit 2' is "$code" 2
  check 'it says so' has "$err" '--backend is for lessons that need a GPU; lesson 01 needs none'
  course check 01 --backend tpu
  check 'a backend that is not there: exit 2' is "$code" 2
  check 'those that are' has "$err" "--backend: tpu not in {sim,cuda}"
  course check 12 --transport host
  check 'a transport without devices: exit 2' is "$code" 2
  check 'it says what is expected' has "$err" 'expected --backend cuda and a lesson on several ranks'
  [ ! -e /dev/nvidia0 ] || return 0
  sed -i.kept '0,/"needs": \[\]/s//"needs": ["gpu"]/' "$copy/lessons/registry.json"
  course check 01 --backend cuda
  check 'no device: exit 3' is "$code" 3
  check 'it says what does without' has "$err" '--backend sim needs none'
  course check 01 --backend cuda --player true
  check 'a backend and a player of my own: exit 2' is "$code" 2
  mv "$copy/lessons/registry.json.kept" "$copy/lessons/registry.json"
}

test_sanitize() {
  solve
  course check 01 --sanitize
  check 'check --sanitize: exit 0' is "$code" 0
  check 'it has a build of its own' test -f "$copy/build/sanitize/lib/lesson01_student.so"
  # The first row is read one column too far.
  solve
  sed -i 's/^void softmax(.*{$/&\n  std::vector<float> row(x.cols());\n  for (course::Index j = 0; j <= x.cols(); ++j) p(0, 0) += row.data()[j];/; s/#include <limits>/&\n#include <vector>/' "$student"
  course check 01 --sanitize
  check 'a read out of bounds: exit 1' is "$code" 1
  check 'in the words of the sanitizer' has "$out" 'AddressSanitizer: heap-buffer-overflow, READ of size 4'
  check 'with the line' has "$out" " lessons/01_safe_softmax/safe_softmax.cpp:$(grep -n 'row.data' "$student" | cut -d: -f1)"
  check 'the other task passes' has "$out" 'PASS  lesson01.2'
  solve
  sed -i 's/^void logsumexp(.*{$/&\n  int large = std::numeric_limits<int>::max() - 1;\n  large += static_cast<int>(x.rows() + x.cols());\n  lse[0] = large;/' "$student"
  course check 01 --sanitize
  check 'a signed overflow: exit 1' is "$code" 1
  check 'in the words of the sanitizer, with the line' has "$out" \
    "lessons/01_safe_softmax/safe_softmax.cpp:$(grep -n 'large +=' "$student" | cut -d: -f1):9: runtime error: signed integer overflow"
  sed -i.kept '0,/"needs": \[\]/s//"needs": ["gpu"]/' "$copy/lessons/registry.json"
  course check 01 --sanitize
  check 'a lesson that needs a GPU: exit 3' is "$code" 3
  mv "$copy/lessons/registry.json.kept" "$copy/lessons/registry.json"
}

test_skipped() {
  mv "$copy/tests/05_ring_attention" "$work/"
  course check 05
  check 'a lesson without a judge: exit 3' is "$code" 3
  check 'it says why' has "$err" 'lesson 05 is skipped: this checkout has no judge for it'
  course check 05 --json
  check 'as JSON: exit 3' is "$code" 3
  check 'skipped' has "$out" '"status": "skipped"'
  check 'in the recorded shape' has_shape lessons "$out"
  mv "$work/05_ring_attention" "$copy/tests/"
}

test_together() {
  solve
  course check 01
  break_student
  (course check 01; echo "$code" >"$work/first") &
  course check 01
  wait
  check 'two checks at once: the one' is "$code" 1
  check 'two checks at once: the other' is "$(cat "$work/first")" 1
}

# ---- help on the way ----

# The lines that the check just made said of what failed first, and the hint after it does not say. A check in which no such line
# is found is a line, too.
unsaid() {
  local said line
  said=$(awk '/^FAIL / { if (seen++) exit } /^(PASS|TODO|lesson 01)/ { if (seen) exit } seen' <<<"$out" |
    sed -E 's/^FAIL  [a-z0-9.]* +//; s/^ {6}//; s|\.?   \./course hint .*||; /^kept in |^\.\/course |^ *$/d')
  course hint 01 --again
  while IFS= read -r line; do has "$out" "$line" || printf '%s\n' "$line"; done <<<"${said:-no line was found in what the check said}"
}

test_hint_says_no_less() {
  local edit
  for edit in 's/lse\[i\] = m + std::log(l)/lse[i] = std::log(l)/' 's/- m)/)/' 's/if (m == minus_infinity)/if (false)/' \
    's/return m;/__builtin_trap();/' 's/lse\[i\] = m/lse[i + 100000000] = m/' 's/lse\[i\] = m.*/while (true) {}/'; do
    solve
    sed -i "$edit" "$student"
    course check 01
    check "$edit: the check fails" is "$code" 1
    check "$edit: the hint says no less than the check" is "$(unsaid)" ''
  done
}

# The lines of $1 that have more than $2 characters and a blank to be broken at, behind what they are indented by. Awk may count
# bytes: what follows the first byte of a character in UTF-8 is taken away.
too_wide() { LC_ALL=C tr -d '\200-\277' <<<"$1" | LC_ALL=C awk -v width="$2" 'length($0) > width && /[^ ] +[^ ]/'; }

# Where a terminal is narrow lines break between words, and elsewhere only if COLUMNS asks for it.
test_wrapping() {
  local narrow
  break_student
  course check 01
  check 'no line is broken where it goes to a file' has "$out" '   looks like: '
  check 'some are wider than 50 there' test -n "$(too_wide "$out" 50)"
  narrow=$(COLUMNS=50 COURSE_ROOT=$copy "$build/bin/course-program" check 01)
  check 'with COLUMNS none is, but of one word' is "$(too_wide "$narrow" 50)" ''
  check 'and every word is there' is "$(tr -s ' \n' '\n' <<<"$narrow")" "$(tr -s ' \n' '\n' <<<"$out")"
}

test_hints() {
  course reset 01
  course hint 01
  check 'a lesson without hints: exit 3' is "$code" 3
  printf '## Task 1\n### Hint 1\nfirst thought\n### Hint 2\nsecond thought\n## Task 2\n### Hint 1\nfor the other\n' \
    >"$copy/lessons/01_safe_softmax/hints.md"
  course hint 01
  check 'the first hint: exit 0' is "$code" 0
  check 'alone' is "$(printf '%s' "$out" | tail -n 1)" 'first thought'
  course hint 01
  check 'the second' has "$out" 'second thought'
  course hint 01
  check 'there are no more' has "$out" 'no more hints'
  course hint 01 --again
  check 'the last again' has "$out" 'second thought'
  course hint 01.2
  check 'a task of my choice' has "$out" 'for the other'
  course hint 01 --task 2 --again
  check 'as check takes it' has "$out" 'for the other'
  break_student
  course check 01
  course hint 01 --again
  check 'the last mistake comes first' has "$out" 'the last check said: looks like: the softmax runs down the columns'
  check 'with the input that shows it' has "$out" ': it shows on any matrix with more than one row and column'
  local row
  row=$(grep -n '<!-- along_columns -->' "$copy/lessons/01_safe_softmax/README.md" | cut -d: -f1)
  check 'and where it is explained' has "$out" "explained in lessons/01_safe_softmax/README.md:$row"
  check 'in the words of that row' has "$out" 'what you see: Columns add up to 1, rows do not'
  check 'and of its other cell' has "$out" 'what it is: The loops are the wrong way round'
  check 'without its comment' lacks "$out" '<!--'
  check 'then the last hint' has "$out" 'second thought'
  course reset 01
  sed -i 's/throw course::NotImplemented("task 2, logsumexp");/for (float\& value : lse) value = 0;/' "$student"
  course check 01
  check 'what was not attempted is apart from what failed' has "$out" '0 of 2 tasks passed, 1 todo, 0 of 100 points'
  course
  check 'in the status too' has "$out" 'not there yet: task 2 failed, task 1 todo'
  course --json
  check 'and in JSON' has "$(printf '%s' "$out" | tr -d ' \n')" '"id":"1","name":"softmax","status":"todo"'
  course hint 01
  check 'of a new failure what the check said' has "$out" 'the last check said: lse is 0 everywhere'
  check 'and what to do next' has "$out" './course replay lesson01.2 plays that input again'
  check 'and how to get a hint' is "$(printf '%s' "$out" | tail -n 1)" './course hint 01 again gives general hint 1 of 1 for task 2'
  course hint 01
  check 'a hint is for the task that failed' has "$out" 'task 2, logsumexp: hint 1'
  check 'and starts with what the check said' has "$out" 'the last check said: lse is 0 everywhere'
  check 'in one line' lacks "$out" './course replay'
  echo '// another thought' >>"$student"
  course hint 01 --again
  check 'also when the file has changed since' has "$out" 'task 2, logsumexp: hint 1'
  crash_in_softmax
  course check 01
  course hint 01
  check 'another failure is explained first' has "$out" 'the last check said: the function died of signal 6'
  check 'a crash: the sanitizers' has "$out" './course check 01 --sanitize names the line'
  check 'and the debugger' has "$out" './course replay lesson01.1 --gdb 0'
  check 'and no hint yet' lacks "$out" 'first thought'
  course hint 01
  check 'then the first hint' has "$out" 'task 1, softmax: hint 1 of 2'
  break_student
  course check 01
  course hint 01
  check 'a change of the failure is explained first' has "$out" 'what it is: The loops are the wrong way round'
  check 'without a hint' lacks "$out" 'second thought'
  course hint 01
  check 'and the hints go on where they were' has "$out" 'task 1, softmax: hint 2 of 2'
  course check 01 --seed 7
  course hint 01
  check 'the same mistake in other numbers is no news' has "$out" 'there are no more hints for 01.1'
  sed -i '/"guided"/,/}/d; s/"ending": "[a-z]*",//' "$copy/.course/results.json"
  course hint 01
  check 'results of an older version are read: exit 0' is "$code" 0
  check 'without a word' is "$err" ''
  check 'and the mistake is explained' has "$out" 'what it is: The loops are the wrong way round'
  solve
  course check 01
  course hint 01
  check 'after a pass' has "$out" 'lesson 01 is passed'
}

test_show() {
  break_student
  course check 01
  course show 01
  check 'show before a pass: exit 1' is "$code" 1
  check 'nothing is given away' is "$out" ''
  course show 01 --spoil
  check 'with --spoil: exit 0' is "$code" 0
  check 'the solution is there' has "$out" 'minus_infinity'
  check 'without its marks' lacks "$out" '//>'
  solve
  course check 01
  COLUMNS=100 course show 01
  check 'after a pass: exit 0' is "$code" 0
  check 'no line is wider than the terminal' is "$(printf '%s\n' "$out" | grep -cE '^.{101,}$')" 0
  mv "$copy/solutions" "$work/"
  course show 01
  check 'without solutions: exit 3' is "$code" 3
  course reset 01
  check 'and so does reset' is "$code" 3
  course check 01
  check 'but check works' is "$code" 0
  course demo
  check 'and the demo wants my own lessons: exit 3' is "$code" 3
  check 'it names the one to pass' has "$err" 'lesson 04 (blockwise_attention) is not passed'
  mv "$work/solutions" "$copy/"
}

test_reset() {
  solve
  echo '// precious' >>"$student"
  course reset 01
  check 'reset: exit 0' is "$code" 0
  local backup
  backup=$(printf '%s\n' "$out" | sed -n 's/^yours is kept in //p')
  check 'what was there is kept' has "$(cat "$copy/$backup")" '// precious'
  check 'the skeleton is back' has "$(cat "$student")" 'NotImplemented("task 1, softmax")'
  check 'it has no marks' lacks "$(cat "$student")" '//>'
  course reset 01
  check 'a second reset changes nothing' has "$out" 'already the skeleton'
  rm "$student"
  course reset 01
  check 'a file that is gone comes back' test -f "$student"
  echo '# precious' >>"${student%.cpp}.py"
  course reset 01
  check 'an answer in Python is reset too' has "$out" 'safe_softmax.py is the skeleton again'
  course reset 01.1
  check 'reset of a task: exit 2' is "$code" 2
}

test_unreadable_results() {
  local text
  for text in 'not json' '{"version": 0, "lessons": {}, "hints": {}}' '{"version": 1}' ''; do
    printf '%s' "$text" >"$copy/.course/results.json"
    course
    check "results '$text': exit 0" is "$code" 0
    check "results '$text': it is said" has "$err" 'unreadable'
    check "results '$text': in one line" lines "$err" 1
  done
  check 'all four are kept' is "$(find "$copy/.course" -name 'results.json.unreadable-*' | wc -l)" 4
}

# ---- the machine, the course's own tests, the demo ----

test_doctor() {
  course doctor
  check 'doctor, where CMake has not looked for the libraries: exit 3' is "$code" 3
  check 'it names the compiler' has "$out" 'yes C++ compiler'
  check 'and what is missing' has "$out" 'CMake has not found Eigen3'
  course doctor --json
  check 'doctor as JSON: one object' is "${out:0:1}${out: -1}" '{}'
  check 'in the recorded shape' has_shape doctor "$out"
}

test_test() {
  BROKEN=0 course test
  check 'a lesson that is not whole: exit 1' is "$code" 1
  check 'what it lacks' has "$out" 'lesson 01: hints: lessons/01_safe_softmax/hints.md: task 1 has 2, expected at least 3'
  check 'the tests ran all the same' is "$(printf '%s\n' "$out" | tail -n 1)" '3 passed, 1 failed, 1 skipped: common.odd'
  course test --lesson 01
  check 'at work on that lesson: nothing else' is "$(printf '%s\n' "$out" | tail -n 1)" '0 passed, 1 failed, 0 skipped'
  cp "$course_root/lessons/01_safe_softmax/hints.md" "$copy/lessons/01_safe_softmax/"
  BROKEN=0 course test
  check 'test, all well: exit 0' is "$code" 0
  check 'the last line' is "$(printf '%s\n' "$out" | tail -n 1)" '4 passed, 0 failed, 1 skipped: common.odd'
  check 'a skipped test says why' has "$out" 'SKIP  common.odd: there is no such device here'
  check 'the table' has "$out" '01 safe_softmax                  1      1     1'
  BROKEN=1 course test -j 2
  check 'test, one broken: exit 1' is "$code" 1
  check 'the last line' is "$(printf '%s\n' "$out" | tail -n 1)" '3 passed, 1 failed, 1 skipped: common.odd'
  check 'its output is shown' has "$out" 'this is what went wrong'
  check 'a student is left alone' lacks "$out" "a student's test ran"
  BROKEN=1 course test --lesson 01
  check 'test of one lesson: exit 0' is "$code" 0
  check 'the last line' is "$(printf '%s\n' "$out" | tail -n 1)" '3 passed, 0 failed, 0 skipped'
  course test --lesson 5
  check 'no tests are no pass' is "$code" 1
  printf 'add_custom_target(impossible COMMAND false)\nadd_dependencies(course_tests impossible)\n' >>"$copy/CMakeLists.txt"
  course test
  check 'what does not build: exit 1' is "$code" 1
  check 'is a failure' is "$(printf '%s\n' "$out" | tail -n 1)" '1 passed, 1 failed, 0 skipped'
  cp "$course_root/tests/course/miniature/CMakeLists.txt" "$copy/"
}

test_demo() {
  mv "$copy/build/bin/ring_demo" "$work/"
  course demo --mine
  check 'demo --mine before a pass: exit 3' is "$code" 3
  check 'it names every lesson that it lacks' has "$err" \
    'lesson 04 (blockwise_attention) is not passed as it stands, nor is 05 (ring_attention): ./course check 04'
  check 'in one line' lines "$err" 1
  course demo --mine --causal
  check 'of a causal ring, too' has "$err" 'lesson 04 (blockwise_attention) is not passed as it stands, nor is 14 (striped_and_zigzag)'
  course demo --mine --backend=sim
  check 'and of one on GPUs' has "$err" 'lesson 12 (cuda_ring) is not passed as it stands: ./course check 12'
  check 'for which the program of the demo need not be built' lacks "$err" 'ring_demo'
  course demo --frobnicate
  check 'nor to refuse an option: exit 2' is "$code" 2
  check 'it says which' is "$err" 'course: ./course demo has no option --frobnicate; ./course demo --help says more'
  course demo --sinks -1 --rnaks=3
  check 'the option that it may have been meant for' has "$err" 'has no option --rnaks; did you mean --ranks?'
  course demo --ranks zwei
  check 'nor to refuse what is no number' is "$err" "course: --ranks: expected a whole number, found 'zwei'; ./course demo --help says more"
  mv "$work/ring_demo" "$copy/build/bin/"
  course demo --ranks 3 --help
  check 'demo --help needs no lesson: exit 0' is "$code" 0
  check 'it names its options' has "$out" '--ring'
  course demo --report nowhere
  check 'demo --report of nothing: exit 2' is "$code" 2
  check 'it says what it wants' has "$err" 'expected a folder of --prepare'
}

# ---- wrong usage ----

# The ledger's table: an exit code and a command on each line. What was misused says why in one line.
test_exit_codes() {
  local expected arguments
  while IFS=$'\t' read -r expected arguments; do
    # shellcheck disable=SC2086  # one argument a word
    course $arguments
    check "'$arguments': exit $expected" is "$code" "$expected"
    [ "$expected" = 2 ] || continue
    check "'$arguments': one line" lines "$err" 1
    check "'$arguments': nothing on stdout" is "$out" ''
  done <"$course_root/tests/ledger/exit_codes.tsv"
}

test_quiz() {
  course quiz
  check 'a quiz without questions: exit 3' is "$code" 3
  check 'it says so' has "$err" 'this checkout has no questions in docs/interview'
  mkdir -p "$copy/docs"
  cp -r "$course_root/docs/interview" "$copy/docs/"
  course quiz 05
  check 'a quiz at the end of its input: exit 0' is "$code" 0
  check 'it has asked' has "$out" '1 of '
  check 'and answered nothing' lacks "$out" '[Enter: on the whiteboard'
  check 'nothing is remembered' test ! -e "$copy/.course/quiz.json"
  printf '\n\n\n\n3\n' | COURSE_ROOT=$copy timeout 60 "$build/bin/course-program" quiz --topic ring >"$work/out" 2>&1
  check 'a quiz with lines from a pipe' has "$(cat "$work/out")" '1 known, 0 half, 0 missed'
  check 'is remembered' has "$(cat "$copy/.course/quiz.json")" '"box": 2'
  course quiz --history
  check 'the history: exit 0' is "$code" 0
  check 'it counts by topic' grep -qE '^ring +[0-9]+ +1 +0$' "$work/out"
  course quiz --classic
  check 'an option misspelt: exit 2' is "$code" 2
  check 'it says which may be meant' has "$err" 'did you mean --classics?'
  course quiz --topic rng
  check 'a topic misspelt' has "$err" "there is no topic 'rng'; did you mean ring? There are: "
  course check safe_softmx
  check 'a lesson misspelt' has "$err" "there is no lesson 'safe_softmx'; did you mean safe_softmax? There are: "
  course quiz --difficulty 4
  check 'no such difficulty: exit 2' is "$code" 2
  course quiz --count 0
  check 'no question at all: exit 2' is "$code" 2
  course quiz 05.1
  check 'a quiz of a task: exit 2' is "$code" 2
  course quiz --topic weather
  check 'no such topic: exit 2' is "$code" 2
  check 'with those there are' has "$err" 'there are: backward, '
  sed -i '0,/^lesson: /s//lessons: /' "$copy/docs/interview/ring.md"
  course quiz
  check 'a malformed page: exit 2' is "$code" 2
  check 'its line is named' has "$err" 'docs/interview/ring.md:7: expected **In a line.** and got '
  check 'in one line' lines "$err" 1
  cp "$course_root/docs/interview/ring.md" "$copy/docs/interview/"
}

test_usage() {
  course --help
  check '--help: exit 0' is "$code" 0
  check 'on stdout' has "$out" 'check'
  check 'with the commands of course-tools' has "$out" "grade  "
  course check --help
  check 'check --help: exit 0' is "$code" 0
  local command
  for command in 'hint 01' 'show 01' 'reset 01' 'drill' 'quiz' 'replay x' 'watch'; do
    # shellcheck disable=SC2086
    course --json $command
    check "--json $command: exit 2" is "$code" 2
    check 'it is said' has "$err" "course: --json: ./course ${command%% *} prints none"
  done
  course check 01 --json --problems
  check 'check --json --problems: exit 2' is "$code" 2
  copy="$work/nowhere" course
  check 'no course there: exit 3' is "$code" 3
}

# course-program where course-tools, which lies beside it otherwise, was never built.
test_tools_not_built() {
  cp "$build/bin/course-program" "$work/"
  out='' err=$(COURSE_ROOT=$copy "$work/course-program" --json grade 01 2>&1)
  code=$?
  check 'a command of course-tools, not built: exit 3' is "$code" 3
  check 'it is said' is "$err" 'course: course-tools, which has this command, is not built: ./course grade builds it'
}

if [ $# -gt 1 ]; then
  make_copy
  for one in "${@:2}"; do "test_$one"; done
  conclude
  exit
fi
make_copy
test_status
test_next
test_refused_runs
test_todo
test_pass
test_compile_error
test_failure
test_violence
test_locate
test_replay
test_own_player
test_backend
test_sanitize
test_skipped
test_together
test_hints
test_hint_says_no_less
test_wrapping
test_show
test_reset
test_unreadable_results
test_doctor
test_test
test_demo
test_quiz # which brings the questions
test_exit_codes
test_usage
test_tools_not_built
conclude
