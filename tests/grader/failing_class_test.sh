#!/usr/bin/env bash
# A class on a machine that fails: no grade is lost, none is made up, and table, CSV, terminal and exit code say what could not
# be graded. Also what a class's results remember between runs.
#   failing_class_test.sh BUILD      BUILD: where course-tools and the judges of lessons 01 and 03 were built
# Needs git and python3: 77 without them.
set -u
course_root=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd -P -- "$1" && pwd)
work=$(mktemp -d) && work=$(cd -P -- "$work" && pwd)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/course/checks.sh
. "$course_root/tests/course/checks.sh"
for tool in git python3; do
  command -v "$tool" >/dev/null || { echo "there is no $tool" && exit 77; }
done
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 COURSE_ROOT=$course_root COURSE_BUILD=$build
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
all=$work/class
results=$all.grades

# grade ARGUMENT ...: sets out, err and code; the words in the array machine go before the command.
machine=()
grade() {
  out=$(${machine[@]+"${machine[@]}"} "$build/bin/course-tools" grade "$@" --prepared --submissions "$all" 2>"$work/err" </dev/null)
  code=$?
  err=$(cat "$work/err")
}

# The field of a student's row of grades.csv in the column named $2.
field() {
  python3 - "$results/grades.csv" "$1" "$2" <<'PYTHON'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
print(next(row[sys.argv[3]] for row in rows if row["submission"] == sys.argv[2]))
PYTHON
}

seed_of() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["seeds"].get(sys.argv[2]))' "$results/run.json" "$1"; }

commit() {
  git -C "$1" add --all &&
    GIT_COMMITTER_DATE=$2 git -C "$1" -c user.name=a -c user.email=a@localhost commit --quiet --message "$3"
}

# Grades while the grader of student $1 is killed.
grade_killing() {
  local student=$1 pid=''
  shift
  "$build/bin/course-tools" grade "$@" --prepared --jobs 1 --submissions "$all" >"$work/out" 2>"$work/err" </dev/null &
  local grader=$!
  for _ in $(seq 600); do
    pid=$(pgrep -f -- "--output $results/parts/$student.json" | head -n 1)
    [ -z "$pid" ] || break
    sleep 0.05
  done
  kill -9 "$pid"
  wait $grader
  code=$?
  out=$(cat "$work/out")
  err=$(cat "$work/err")
}

nowhere=(env TMPDIR=/nonexistent)
mkdir -p "$all/ada" "$all/ben"
git init --quiet "$all/ada"
cp "$course_root"/solutions/0[13]_*/*.cpp "$all/ada/"
cp "$course_root"/solutions/0[13]_*/*.cpp "$all/ben/"
commit "$all/ada" 2026-10-01T10:00:00+02:00 softmax

# ---- a machine that fails from the first ----

machine=("${nowhere[@]}")
grade 01
machine=()
check 'nothing graded: exit 1' is "$code" 1
check 'nothing graded: no points, and none is not 0' is "$(field ada points),$(field ada max_points),$(field ada lesson01),$(field ada 01.1)" ',0,,'
check 'nothing graded: the note says so' has "$(field ada note)" 'not graded: see ada.log | 01.1, 01.2: cannot grade on this machine: TMPDIR is /nonexistent'
check 'nothing graded: so does the terminal' has "$err" 'ada: not graded: 01: cannot grade on this machine: TMPDIR is /nonexistent'
check 'nothing graded: the table has no number' has "$(printf '%s' "$out" | tr -s ' ')" 'ada - 0 - not graded'
check 'nothing graded: nobody has a seed' is "$(seed_of 01)" None

# ---- a grade, and then a machine that fails ----

grade 01 --seed 7
check 'a good machine: exit 0' is "$code" 0
check 'a good machine: points' is "$(field ada points),$(field ada note)" '100,'
grade_killing ada 03
check 'an added lesson whose grader dies: exit 1' is "$code" 1
check 'an added lesson: its cell is empty' is "$(field ada lesson01),$(field ada lesson03),$(field ada 03.1)" '100,,'
check 'an added lesson: what could not be graded is not of the sum' is "$(field ada points),$(field ada max_points)" '100,100'
check 'an added lesson: the note says so' has "$(field ada note)" 'not graded in full: see ada.log | 03.1, 03.2: cannot grade on this machine: the grader was ended by signal 9'
check 'an added lesson: so does the terminal' has "$err" 'ada: not graded: 03: cannot grade on this machine: the grader was ended by signal 9'
check 'an added lesson: others have theirs' is "$(field ben lesson03)" 100
grade 01
check 'a run of another lesson does not hide it' is "$code,$(field ada lesson03)" '1,'
check 'nor is it silent' has "$err" 'ada: not graded: 03: '
grade 03
check 'the same command again grades it' is "$code,$(field ada lesson03),$(field ada note)" '0,100,'

echo '// handed in anew' | tee -a "$all/ada/safe_softmax.cpp" >>"$all/ada/ring_softmax.cpp"
grade_killing ada 01
check 'files that changed: exit 1' is "$code" 1
check 'files that changed: the old points are not theirs' is "$(field ada lesson01),$(field ada points)" ',100'
check 'files that changed: the note says so' has "$(field ada note)" 'not graded in full'
grade 01
check 'files that changed: graded by the same command' is "$code,$(field ada lesson01)" '0,100'

machine=("${nowhere[@]}")
grade 01 --seed 8
machine=()
check 'files that did not change: exit 1' is "$code" 1
check 'files that did not change keep their grade' is "$(field ada lesson01),$(field ben lesson01)" 100,100
check 'with a note' has "$(field ben note)" '01: graded before and kept; now: cannot grade on this machine: TMPDIR is /nonexistent'
check 'with a line on the terminal' has "$err" 'ben: 01: graded before and kept; now: cannot grade'
check 'and the seed is the one that they were graded with' is "$(seed_of 01)" 7
grade 01
check 'on a good machine the note goes' is "$code,$(field ben note)" 0,

if unshare --mount true 2>/dev/null; then
  : >"$work/no program"
  # shellcheck disable=SC2016  # expanded by the inner shell
  machine=(unshare --mount sh -c 'mount --bind "$1" "$2" && shift 2 && exec "$@"' lacking "$work/no program" "$(readlink -f "$(command -v mpirun)")")
  grade 03
  machine=()
  check 'no mpirun: exit 1' is "$code" 1
  check 'no mpirun: what was graded stays' is "$(field ben lesson03)" 100
  check 'no mpirun: the note says so' has "$(field ben note)" '03: graded before and kept; now: there is no mpirun'
  check 'no mpirun: a file that changed has no grade' is "$(field ada lesson03)" ''
  grade 03
  check 'with it all is as before' is "$code,$(field ben note),$(field ada lesson03)" 0,,100
fi

# ---- what is remembered ----

echo '{"01": {"1": 10, "2": 20}}' >"$work/points.json"
grade 01 --points <(cat "$work/points.json")
check 'points are taken, as from a pipe' is "$(field ben lesson01),$(field ben 01.1)" 30,10
grade 01
check 'points are remembered' is "$(field ben lesson01),$(field ben 01.1)" 30,10
check 'and nobody is graded again' has "$err" "already graded in $results: 2"
echo '{"01": {"1": 30}}' >"$work/points.json"
grade 01 --points "$work/points.json"
check 'until others are given' is "$(field ben lesson01)" 70

# ---- a clone that is cut off ----

mkdir "$work/origin" && git init --quiet "$work/origin"
cp "$course_root"/solutions/01_*/*.cpp "$work/origin/"
commit "$work/origin" 2026-10-01T10:00:00+02:00 softmax
echo later >"$work/origin/notes.txt"
commit "$work/origin" 2026-10-20T10:00:00+02:00 notes
git clone --quiet --depth 1 "file://$work/origin" "$all/cleo"
grade 01 --due 2026-10-12
check 'a shallow clone: no lateness' is "$code,$(field cleo 01_late_hours),$(field cleo 01_handed_in)" 0,,
check 'a shallow clone: a note' has "$(field cleo note)" '01: when it was handed in is not known, since the clone is shallow'
check 'a shallow clone: in words for the student' grep -q 'is not known' "$results/reports/cleo.md"
git -C "$all/cleo" fetch --quiet --unshallow
grade 01
check 'a clone that was made full is in time' is "$(field cleo 01_late_hours),$(field cleo note)" '0,03: not graded yet'
check 'which needs no grader' has "$err" "already graded in $results: 3"

# ---- an interruption ----

rm "$results/reports/ben.json"
"$build/bin/course-tools" grade 01 --prepared --submissions "$all" >"$work/out" 2>"$work/err" </dev/null &
grader=$!
for _ in $(seq 600); do
  ! pgrep -f -- "--output $results/parts/ben.json" >/dev/null || break
  sleep 0.05
done
kill -INT $grader
wait $grader
code=$?
err=$(cat "$work/err")
check 'an interruption: exit 130' is "$code" 130
check 'says how to go on' has "$err" 'the same command goes on'
check 'and leaves no grader' is "$(pgrep -f -- "$results/parts")" ''
conclude
