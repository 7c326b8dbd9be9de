#!/usr/bin/env bash
# Tests ./course handout and ./course release: what students get and what they don't, updates over their edits, and the
# commands in a handout. The program, the judge, the player and the compile of the student's file are the real ones.
#   handout_test.sh BUILD      BUILD: where the program, judge_lesson01 and player_solo were built
#                              prints a line a check and the totals; exit 1 when one fails, 77 where it cannot run
set -u
course_root=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd -P -- "$1" && pwd)
# shellcheck source=tests/course/checks.sh
. "$course_root/tests/course/checks.sh"
# shellcheck source=tests/handout/instructor.sh
. "$course_root/tests/handout/instructor.sh"
export COURSE_MINIATURE_FROM=$build
handout="$work/for students"
student="$work/a student"
softmax=lessons/01_safe_softmax/safe_softmax.cpp

# Runs the program in the checkout $1 with the other words and, where it is set, $programs for its PATH; sets code, out
# and err.
course_in() {
  local root=$1
  shift
  COURSE_ROOT=$root timeout 90 env PATH="${programs:-$PATH}" "$build/bin/course-program" "$@" \
    >"$work/out" 2>"$work/err" </dev/null
  code=$?
  out=$(cat "$work/out")
  err=$(cat "$work/err")
}

instructor() { course_in "$instructor" "$@"; }
in_handout() { course_in "$student" "$@"; }

# Updates the clone $1; other options for git pull follow.
pull() {
  out=$(git -C "$1" pull --autostash "${@:2}" 2>&1)
  code=$?
}

commits() { git -C "$1" rev-list --count --all; }

# ---- what discloses ----

# The lines of the solutions' marked regions and of their reasons.
solution_lines() {
  sed -n '/^ *\/\/> /,/^ *\/\/< /p' "$instructor"/solutions/*/*.c[pu]* | grep -v '^ *//[>|<]'
  cat "$instructor"/solutions/*/why.md
}

# Three lines in a row that say something, on one line: a single one may be an idiom that stands elsewhere for good reasons.
passages() {
  sed 's/^[+ ]*//; s/ *$//' | grep -E '.{12}' | awk 'NR > 2 { print a " / " b " / " $0 } { a = b; b = $0 }' | sort -u
}

# Prints the passages of solutions that are in the file $1.
disclosed() { comm -12 <(solution_lines | passages) <(passages <"$1"); }

# Everything that was ever committed in the repository $1, in $work/history.
read_history() { git -C "$1" log --all --patch --format='%an %s' >"$work/history"; }

ever_there() { git -C "$1" log --all --format= --name-only | grep -E "$2"; }

plant_secrets() {
  echo '// a secret: the instructor wrote this answer and committed it' >>"$instructor/$softmax"
  mkdir -p "$instructor/tests/grader"
  echo '// a secret' | tee "$instructor/tests/01_safe_softmax/hidden.cpp" >"$instructor/tests/grader/submission.cpp"
  commit_all "$instructor" 'secrets'
  echo '// a secret that is not committed' >>"$instructor/$softmax"
}

# Prints the modes of the files and folders of the handout $1, each once.
modes() { find "$1" -name .git -prune -o -printf '%y%m\n' | sort -u | xargs; }

test_modes() {
  local here="$work/with a mask"
  umask 077
  instructor handout "$here" --lessons 01
  check 'whatever the mask: folders, programs and other files have one mode each' is "$(modes "$here")" 'd755 f644 f755'
  check 'and programs are those of the course' is "$(find "$here" -name .git -prune -o -type f -perm 755 -print | wc -l)" \
    "$(git -C "$here" ls-files --stage | grep -c '^100755')"
  instructor handout "$here" --lessons 02
  umask 022
  check 'an update keeps them' is "$(modes "$here")" 'd755 f644 f755'
  rm -rf "$here"
}

test_nothing_is_disclosed() {
  check 'three lessons: exit 0' is "$code" 0
  check 'it says which' has "$out" 'lessons 01, 03, 04'
  check 'it warns of a lesson that others build on, and says how to add it, and of nothing else' is "$err" \
    "course: these lessons build on lesson 02, which the handout does not hold; ./course handout '$handout' --lessons 02 adds it"
  check 'and how students get it, as a shell takes it' has "$out" "git clone '$handout'"
  check 'one commit' is "$(commits "$handout")" 1
  check 'that is whole' is "$(git -C "$handout" status --porcelain)" ''
  check 'no solution, variant or hidden test' is "$(ever_there "$handout" '(^|/)solutions/|variants|hidden')" ''
  check 'every mistake' is "$(grep '^## [^+]*$' "$handout/tests/03_ring_softmax/mistakes.md")" \
    "$(grep '^## [^+]*$' "$course_root/tests/03_ring_softmax/mistakes.md" | grep -v '^## unnamed$')"
  check 'but no edit that makes one' is "$(cd "$handout/tests" && grep -rE '^```|^## .* \+ ' -- *.md */mistakes.md)" ''
  check 'no test but those of the tools and the lessons' is \
    "$(cd "$handout/tests" && echo *)" '01_safe_softmax 03_ring_softmax 04_blockwise_attention CMakeLists.txt bench common course demo mistakes.md'
  check 'no page for instructors' is "$(ever_there "$handout" 'instructor|adding-a-lesson|contributing')" ''
  check 'no other lesson' is "$(ever_there "$handout" '(^|/)0[25]_')" ''
  check 'a registry of these' is "$(grep -oE '"id": "[0-9]{2}"' "$handout/lessons/registry.json" | tr -dc 0-9)" 010304
  read_history "$handout"
  check 'no secret' is "$(grep 'a secret' "$work/history")" ''
  check 'no mark' is "$(grep -E '^\+ *//> ' "$work/history" | grep -vE '"|R"|task 1$')" ''
  check 'no passage of a solution' is "$(disclosed "$work/history")" ''
  check 'which would be found' test "$(disclosed "$instructor/solutions/05_ring_attention/ring_attention.cpp" | wc -l)" -gt 20
  check 'the skeleton is cut anew' is "$(tail -n 1 "$handout/$softmax")" '}  // namespace lesson01'
  check 'and kept' cmp "$handout/$softmax" "$handout/skeletons/01_safe_softmax/safe_softmax.cpp"
  check 'the launcher can be called' test -x "$handout/course"
  check 'nothing is left beside it' is "$(cd "$work" && echo .[!.]*)" '.[!.]*'
  local target
  while IFS= read -r target; do
    check "README.md links to $target, which is there" test -e "$handout/$target"
  done < <(grep -oE '\]\([^):#]+' "$handout/README.md" | cut -c 3-)
}

# ---- what is refused ----

refused() {
  local name=$1 expected=$2 text=$3
  shift 3
  instructor "$@"
  check "$name: exit $expected" is "$code" "$expected"
  check "$name: it says why" has "$err" "$text"
  check "$name: in one line" lines "$err" 1
  check "$name: nothing on stdout" is "$out" ''
}

test_refusals() {
  mkdir "$work/mine"
  echo precious >"$work/mine/file"
  refused 'a folder with something in it' 2 'neither empty nor an earlier handout' handout "$work/mine"
  check 'it is left alone' is "$(ls -A "$work/mine")$(cat "$work/mine/file")" fileprecious
  refused 'a file' 2 'is a file' handout "$work/mine/file"
  refused 'a place that is not there' 2 'there is no folder' handout "$work/nowhere/handout"
  refused 'a lesson that is not there' 2 "there is no lesson '99'" handout "$work/new" --lessons 01,99
  refused 'a range that runs backwards' 2 'runs backwards' handout "$work/new" --lessons 04-01
  refused 'a list without a lesson' 2 "there is no lesson ''" handout "$work/new" --lessons ''
  refused 'no folder' 2 'dir is required' handout
  refused 'the course itself' 2 'neither empty nor' handout "$instructor"
  programs=/nonexistent refused 'no git' 3 'there is no git' handout "$work/new"
  refused 'release into a folder that is no handout' 2 'neither empty nor' release 01 "$work/mine"
  refused 'release into nothing' 2 'is no handout' release 01 "$work/new"
  refused 'release of a lesson that is not held' 2 "does not hold lesson 05; ./course handout '$handout' --lessons 05 adds it" release 05 "$handout"
  refused 'release of a lesson that is not there' 2 "there is no lesson '99'" release 99
  git -C "$instructor" rm -rq --cached solutions/02_online_softmax
  git -C "$instructor" commit --quiet --message 'lesson 02 is not done'
  refused 'a lesson without a committed solution' 3 'lesson 02 cannot be handed out' handout "$work/new"
  refused 'release of a solution that is not committed' 3 'not given out yet' release 02
  check 'nothing was made' test ! -e "$work/new"
  check 'nothing is left beside' is "$(cd "$work" && echo .[!.]*)" '.[!.]*'
  git -C "$instructor" reset --quiet --mixed HEAD~1
  mv "$instructor/.git" "$work/history of the course"
  refused 'a course without its history' 3 'git knows no commit' handout "$work/new"
  mv "$work/history of the course" "$instructor/.git"
}

# Ctrl-C while git commits.
test_interruption() {
  mkdir -p "$work/git that is interrupted" "$work/scratch"
  # shellcheck disable=SC2016  # expanded by the script
  printf '#!/bin/sh\ncase "$*" in *" commit --quiet "*) kill -INT $PPID ;; esac\nexec "%s" "$@"\n' "$(command -v git)" \
    >"$work/git that is interrupted/git"
  chmod +x "$work/git that is interrupted/git"
  TMPDIR="$work/scratch" programs="$work/git that is interrupted:$PATH" \
    instructor handout "$work/new"
  check 'interrupted' is "$code" 130
  check 'nothing was made' test ! -e "$work/new"
  check 'nothing is left beside' is "$(cd "$work" && echo .[!.]*)" '.[!.]*'
  check 'nor in memory' is "$(ls -A "$work/scratch")" ''
}

# ---- a student's commands ----

make_student() {
  git clone --quiet "$handout" "$student"
  (cd "$student" && cmake --preset student >/dev/null) || exit 1
  out=$(ctest --test-dir "$student/build" -N)
  check 'it configures, with a test of each skeleton' is "$(grep -oE 'skeleton\.lesson[0-9]+' <<<"$out" | tr -dc 0-9)" 010304
  check 'and none of what is not there' is "$(grep -E '(solution|mutant|variant|combination)\.|course\.program' <<<"$out")" ''
  cp "$course_root/tests/course/miniature/CMakeLists.txt" "$student/"
  (cd "$student" && cmake --fresh --preset student >/dev/null) || exit 1
}

solve() { sed '/^ *\/\/[>|<]/d' "$instructor/solutions/01_safe_softmax/safe_softmax.cpp" >"$student/$softmax"; }

test_a_student() {
  in_handout check 01
  check 'check of the skeleton: exit 1' is "$code" 1
  check 'it is one' has "$out" 'still the skeleton'
  in_handout hint 01
  check 'hint: exit 0' is "$code" 0
  solve
  in_handout check 01
  check 'check of a right answer: exit 0' is "$code" 0
  in_handout show 01
  check 'show: exit 3' is "$code" 3
  check 'it says that it comes later' has "$err" 'the solution of lesson 01 is not given out yet'
  in_handout demo
  check 'demo without its lessons: exit 3' is "$code" 3
  check 'it says so' has "$err" 'runs the lesson of the blocking ring, and this handout does not hold it'
  in_handout reset 01
  check 'reset: exit 0' is "$code" 0
  check 'from the kept skeleton' cmp "$student/$softmax" "$student/skeletons/01_safe_softmax/safe_softmax.cpp"
  in_handout handout "$work/new"
  check 'a handout of a handout: exit 3' is "$code" 3
  check 'it says why' has "$err" 'is a handout itself'
  in_handout new-lesson mine --family softmax
  check 'a lesson of their own: exit 3' is "$code" 3
  check 'it says why' has "$err" 'is a handout itself; lessons are added to the whole course'
}

# ---- updates ----

test_updates() {
  instructor handout "$handout"
  check 'nothing new: exit 0' is "$code" 0
  check 'it says so' has "$out" 'up to date'
  check 'and makes no commit' is "$(commits "$handout")" 1

  solve # not committed, as the CMakeLists.txt of this test
  git clone --quiet "$handout" "$work/committed"
  echo '// my answer' >>"$work/committed/$softmax"
  commit_all "$work/committed" 'my answer'
  echo '// and a thought' >>"$work/committed/lessons/03_ring_softmax/ring_softmax.cpp"

  echo 'A sentence more.' >>"$instructor/lessons/01_safe_softmax/README.md"
  sed -i 's|//. throw course::NotImplemented("task 1, one block");|//\| // A thought more.\n  &|' \
    "$instructor/solutions/04_blockwise_attention/blockwise_attention.cpp"
  commit_all "$instructor" 'a sentence and a thought'
  echo 'Not committed.' >>"$instructor/lessons/01_safe_softmax/README.md"
  instructor handout "$handout"
  check 'an update: exit 0' is "$code" 0
  check 'it warns of what is not committed' has "$err" 'lessons/01_safe_softmax/README.md'
  check 'which stays out' lacks "$(cat "$handout/lessons/01_safe_softmax/README.md")" 'Not committed.'
  git -C "$instructor" checkout --quiet -- lessons/01_safe_softmax/README.md
  check 'a second commit on the first' is "$(git -C "$handout" rev-list --count HEAD)" 2
  check 'with the same lessons' is "$(git -C "$handout" diff --name-only HEAD~1 | tr '\n' ' ')" \
    "handout.json lessons/01_safe_softmax/README.md lessons/04_blockwise_attention/blockwise_attention.cpp skeletons/04_blockwise_attention/blockwise_attention.cpp "

  pull "$student"
  check 'pulled over an edited file: exit 0' is "$code" 0
  check 'the edit is there' lacks "$(cat "$student/$softmax")" NotImplemented
  check 'and the sentence' has "$(cat "$student/lessons/01_safe_softmax/README.md")" 'A sentence more.'
  check 'and a skeleton that was not edited is the new one' has \
    "$(cat "$student/lessons/04_blockwise_attention/blockwise_attention.cpp")" 'A thought more.'
  in_handout check 01
  check 'the edit still passes' is "$code" 0
  pull "$work/committed" --no-rebase --no-edit
  check 'pulled over a committed edit: exit 0' is "$code" 0
  check 'the commit is there' has "$(tail -n 1 "$work/committed/$softmax")" 'my answer'
  check 'the edit beside it, too' has "$(cat "$work/committed/lessons/03_ring_softmax/ring_softmax.cpp")" 'and a thought'
  check 'and the sentence' has "$(cat "$work/committed/lessons/01_safe_softmax/README.md")" 'A sentence more.'

  instructor handout "$handout" --lessons 05
  check 'a lesson more: exit 0' is "$code" 0
  check 'beside the others' is "$(cd "$handout/skeletons" && echo *)" '01_safe_softmax 03_ring_softmax 04_blockwise_attention 05_ring_attention'
  pull "$student"
  check 'pulled: exit 0' is "$code" 0
  in_handout demo
  check 'demo with lessons to write: exit 3' is "$code" 3
  check 'it names the first' has "$err" 'lesson 04 (blockwise_attention) is not passed'
}

# Who works alone may write answers into the handout itself.
test_an_edited_handout() {
  echo '// my answer' >>"$handout/$softmax"
  commit_all "$handout" 'an answer in the handout'
  echo '// a thought' >>"$handout/lessons/03_ring_softmax/ring_softmax.cpp"
  echo 'Another sentence.' >>"$instructor/lessons/01_safe_softmax/README.md"
  commit_all "$instructor" 'another sentence'
  instructor handout "$handout"
  check 'an update of a handout with answers: exit 0' is "$code" 0
  check 'the committed answer is there' has "$(cat "$handout/$softmax")" 'my answer'
  check 'the other, too' has "$(cat "$handout/lessons/03_ring_softmax/ring_softmax.cpp")" 'a thought'
  check 'and the sentence' has "$(cat "$handout/lessons/01_safe_softmax/README.md")" 'Another sentence.'

  echo 'My remark.' >>"$handout/lessons/01_safe_softmax/README.md"
  echo 'A third sentence.' >>"$instructor/lessons/01_safe_softmax/README.md"
  commit_all "$instructor" 'a third sentence'
  local before
  before=$(git -C "$handout" rev-parse HEAD)
  instructor handout "$handout"
  check 'an update that contradicts an edit: exit 1' is "$code" 1
  check 'it names the file' has "$err" 'lessons/01_safe_softmax/README.md'
  check 'the edit is there' is "$(tail -n 1 "$handout/lessons/01_safe_softmax/README.md")" 'My remark.'
  check 'nothing was committed' is "$(git -C "$handout" rev-parse HEAD)" "$before"
  git -C "$handout" commit --quiet --all --message 'my remark'
  before=$(git -C "$handout" rev-parse HEAD)
  instructor handout "$handout"
  check 'contradicting a commit: exit 1' is "$code" 1
  check 'nothing was committed' is "$(git -C "$handout" rev-parse HEAD)" "$before"
  check 'what helps is said' has "$err" 'Undo it there, or make the same change in the course'
  check 'no merge is left open' is "$(git -C "$handout" status --porcelain)" ''
  git -C "$handout" revert --no-edit HEAD >/dev/null
  instructor handout "$handout"
  check 'after undoing it: exit 0' is "$code" 0
}

# ---- releases ----

test_release() {
  local before
  before=$(git -C "$handout" rev-parse HEAD)
  echo 'Not to come along.' >>"$instructor/lessons/03_ring_softmax/README.md"
  commit_all "$instructor" 'for a later update'
  instructor release 01 "$handout"
  check 'release: exit 0' is "$code" 0
  check 'exactly the solution' is "$(git -C "$handout" diff --name-only "$before" HEAD | tr '\n' ' ')" \
    'handout.json solutions/01_safe_softmax/safe_softmax.cpp solutions/01_safe_softmax/safe_softmax.py solutions/01_safe_softmax/why.md '
  check 'as it is in the course' diff -r "$instructor/solutions/01_safe_softmax" "$handout/solutions/01_safe_softmax"
  instructor release 01 "$handout"
  check 'a second time: nothing to do' has "$code $out" "0 $handout is up to date"
  in_handout show 01 --spoil
  check 'show before it is pulled: exit 3' is "$code" 3
  pull "$student"
  check 'pulled: exit 0' is "$code" 0
  in_handout show 01 --spoil
  check 'show: exit 0' is "$code" 0
  check 'with the solution' has "$out" 'minus_infinity'
  instructor handout "$handout"
  check 'an update afterwards: exit 0' is "$code" 0
  check 'does not take it back' test -f "$handout/solutions/01_safe_softmax/why.md"

  instructor release 03
  check 'release as a patch: exit 0' is "$code" 0
  pull "$student"
  git -C "$student" apply "$work/out"
  in_handout show 03 --spoil
  check 'show after applying it: exit 0' is "$code" 0
  check 'no byte is lost' diff -r "$instructor/solutions/03_ring_softmax" "$student/solutions/03_ring_softmax"
}

make_instructor
plant_secrets
instructor handout "$handout" --lessons 01,03-04
test_nothing_is_disclosed
test_modes
test_refusals
test_interruption
make_student
test_a_student
test_updates
test_an_edited_handout
test_release
conclude
