#!/usr/bin/env bash
# Takes a student who works in a handout as it was when the ledger was begun to today's: tests/ledger/handout.tar.xz,
# which has no tensors, is laid down, every lesson is answered in a clone of it, half of them committed, and the
# handout is updated from this tree and pulled. Nothing that the student wrote may be lost or in conflict.
#   handout_update_test.sh BUILD [configure]     BUILD: where the program was built; configure: also with a build folder
#                                                of the old handout, which has to build what the new one has
#                                                prints a line a check and the totals; exit 1 when one fails, 77 where it
#                                                cannot run
set -u
course_root=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd -P -- "$1" && pwd)
ledger=$course_root/tests/ledger
# shellcheck source=tests/course/checks.sh
. "$course_root/tests/course/checks.sh"
# shellcheck source=tests/handout/instructor.sh
. "$course_root/tests/handout/instructor.sh"
handout="$work/handout"
student="$work/a student"

# Runs a command; sets code, out and err.
try() {
  "$@" >"$work/out" 2>"$work/err" </dev/null
  code=$?
  out=$(cat "$work/out")
  err=$(cat "$work/err")
}

instructor() { try env COURSE_ROOT="$instructor" "$build/bin/course-program" "$@"; }

lay_down_the_old_handout() {
  mkdir "$handout"
  (cd "$handout" && cmake -E tar xf "$ledger/handout.tar.xz")
  git init --quiet --initial-branch=main "$handout"
  commit_all "$handout" 'Update 1'
  git clone --quiet "$handout" "$student"
}

# The student's file of a lesson, from the root: lessons/05_ring_attention/ring_attention.cpp.
file_of() { echo "lessons/$1/${1#[0-9][0-9]_}.cpp"; }

# Those of the handout as it is: those of the old one, and once it is updated all.
lessons() { (cd "$handout/lessons" && echo [0-9]*); }

# Every other answer is committed, the rest is not; nor are a file of the student's own and a save.
answer_everything() {
  local lesson
  answered=$(lessons)
  for lesson in $answered; do
    cp "$ledger/answers/$lesson/right.cpp" "$student/$(file_of "$lesson")"
    case $lesson in *[13579]_*) commit_all "$student" "my answer to $lesson" ;; esac
  done
  echo '# my thought' >>"$student/lessons/01_safe_softmax/safe_softmax.py"
  echo 'my notes' >"$student/notes.md"
  mkdir -p "$student/.course/saves"
  echo 'a save' >"$student/.course/saves/mine"
}

# What the student wrote into the old skeleton of a lesson and is not in the file any more. The update may have changed the
# lines around it.
lost_lines() {
  git -C "$handout" show "HEAD~1:$(file_of "$1")" >"$work/skeleton"
  grep -vxFf "$work/skeleton" "$ledger/answers/$1/right.cpp" | grep -vxFf "$student/$(file_of "$1")"
}

# Makes the build folder of the old handout and builds the smallest program in it.
configure_the_old_handout() {
  (cd "$student" && cmake --preset student && cmake --build build --target cut-skeleton) >/dev/null
  check 'the old handout builds' test -x "$student/build/bin/cut-skeleton"
}

test_the_build_folder() {
  rm "$student/build/bin/cut-skeleton"
  try cmake --build "$student/build" --target cut-skeleton
  check 'the old build folder builds the new handout: exit 0' is "$code" 0
  check 'and configures itself anew' has "$out" 'Configuring done'
  try ctest --test-dir "$student/build" -N
  check 'with the tests of every lesson' is "$(grep -oE ' skeleton\.lesson[0-9]+' <<<"$out" | tr -dc 0-9)" "$(lessons | grep -oE '[0-9]{2}_' | tr -dc 0-9)"
}

test_the_update() {
  local last
  last=$(grep -o '"id": "[0-9][0-9]"' "$instructor/lessons/registry.json" | tail -n 1 | tr -dc 0-9)
  instructor handout --lessons "01-$last" "$handout"
  check 'the update, with every lesson there is since: exit 0' is "$code" 0
  check 'is one' has "$out" 'is at update 2'
  try git -C "$student" pull --rebase --autostash
  check 'pulled over answers that are committed and answers that are not: exit 0' is "$code" 0
  check 'without a conflict' is "$(git -C "$student" ls-files --unmerged)$(git -C "$student" stash list)" ''
  check 'it is what a new handout is' is "$(diff -rq --exclude=.git --exclude=handout.json "$handout" "$work/new")" ''
  local lesson
  for lesson in $answered; do
    check "no line of the answer to $lesson is lost" is "$(lost_lines "$lesson")" ''
  done
  check 'the thought, too' is "$(tail -n 1 "$student/lessons/01_safe_softmax/safe_softmax.py")" '# my thought'
  check 'and the notes' is "$(cat "$student/notes.md" "$student/.course/saves/mine")" $'my notes\na save'
}

# Of all lessons, or of one: COURSE_RECORD_LEDGER=lesson05.
record_files() {
  case ${COURSE_RECORD_LEDGER:-} in
  '') ;;
  lesson*)
    grep "/${COURSE_RECORD_LEDGER#lesson}_" "$work/files" | LC_ALL=C sort -u -o "$ledger/handout_files.txt" - "$ledger/handout_files.txt"
    ;;
  *) cp "$work/files" "$ledger/handout_files.txt" ;;
  esac
}

test_the_files() {
  instructor handout "$work/new"
  check 'a new handout: exit 0' is "$code" 0
  git -C "$work/new" ls-files | LC_ALL=C sort >"$work/files"
  record_files
  check 'has every file that is recorded' is "$(LC_ALL=C comm -23 "$ledger/handout_files.txt" "$work/files")" ''
}

make_instructor
test_the_files
lay_down_the_old_handout
answer_everything
[ "${2:-}" != configure ] || configure_the_old_handout
test_the_update
[ "${2:-}" != configure ] || test_the_build_folder
conclude
