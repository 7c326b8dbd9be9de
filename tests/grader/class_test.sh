#!/usr/bin/env bash
# A class over several runs of ./course grade --submissions: what a run adds, what it keeps, what it says of each student and
# in which forms; and what the command refuses.
#   class_test.sh BUILD      BUILD: where course-tools and the judges of lessons 01 and 02 were built
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
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
all="$work/handed in"
results="$all.grades"
root=$course_root

before=''

# grade ARGUMENT ...: sets out, err and code. $before goes before the command's name.
grade() {
  out=$(COURSE_ROOT=$root COURSE_BUILD=$build "$build/bin/course-tools" $before grade "$@" 2>"$work/err" </dev/null)
  code=$?
  err=$(cat "$work/err")
}

grade_class() { grade "$@" --prepared --submissions "$all"; }

# The field of a student's row of grades.csv in the column named $2; no field here holds a comma within quotes but the note.
field() {
  python3 - "$results/grades.csv" "$1" "$2" <<'PYTHON'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
print(next(row[sys.argv[3]] for row in rows if row["submission"] == sys.argv[2]))
PYTHON
}

# The seed that is kept of a lesson.
seed_of() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["seeds"].get(sys.argv[2]))' "$results/run.json" "$1"; }

commit() {
  git -C "$1" add --all &&
    GIT_COMMITTER_DATE=$2 git -C "$1" -c user.name=a -c user.email=a@localhost commit --quiet --message "$3"
}

lessons01=lessons/01_safe_softmax
solution=$course_root/solutions/01_safe_softmax/safe_softmax.cpp
skeleton() { "$build/bin/cut-skeleton" "$course_root/solutions/$1" "$2"; }

# Ada works in a clone, hands in after the deadline and then writes about it; Ben's file lies in a folder of his own; Cleo
# edits the registry and a test.
mkdir -p "$all/ada/$lessons01" "$all/ben/week 1" "$all/cleo/$lessons01" "$all/cleo/tests/01_safe_softmax"
git init --quiet "$all/ada"
skeleton 01_safe_softmax/safe_softmax.cpp "$all/ada/$lessons01/safe_softmax.cpp"
commit "$all/ada" 2026-10-01T10:00:00+02:00 begin
cp "$solution" "$all/ada/$lessons01/"
commit "$all/ada" 2026-10-12T20:30:00+02:00 softmax
echo 'It works.' >"$all/ada/notes.txt"
commit "$all/ada" 2026-10-20T20:30:00+02:00 notes
cp "$solution" "$all/ben/week 1/Safe_Softmax.cpp"
skeleton 01_safe_softmax/safe_softmax.cpp "$all/cleo/$lessons01/safe_softmax.cpp"
sed 's/"points": 60/"points": 99/' "$course_root/lessons/registry.json" >"$all/cleo/lessons/registry.json"
sed 's/$/\r/' "$course_root/$lessons01/safe_softmax.hpp" >"$all/cleo/$lessons01/safe_softmax.hpp"
cp "$course_root/tests/01_safe_softmax/"*.cpp "$all/cleo/tests/01_safe_softmax/"
echo '// mine' >>"$all/cleo/tests/01_safe_softmax/judge.cpp"
printf 'submission,id\nada,1001\nben,1002\ncleo,1003\nzoe,1004\n' >"$work/roster.csv"

# ---- what is refused before anything is graded ----

grade_class 01 --format json
check '--format of many is refused' has "$code $err" '2 course: --format json is of one submission'
before=--json
grade_class 01
check 'so is --json' has "$code $err" '2 course: --json is of one submission'
grade 01 --prepared --format junit
check '--json contradicts another format' has "$code $err" '2 course: --json contradicts --format junit'
before=''
grade 01 --prepared --submission "$all/ada" --roster "$work/roster.csv"
check '--roster of one submission is refused' has "$code $err" '2 course: --roster needs --submissions'
grade 01 --prepared --submission "$all/ada" --due 2026-10-12
check '--due of one submission is refused' has "$code $err" '2 course: --due needs --submissions'
grade 01 --prepared --submission "$all/ada" --jobs 2
check '--jobs of one submission is refused' has "$code $err" '2 course: --jobs needs --submissions'
grade_class 01 --due tomorrow
check 'a deadline that is no date is refused' has "$code $err" "2 course: --due: 'tomorrow' is no date"
mkdir "$work/others" && echo mine >"$work/others/notes.txt"
for place in "$all" "$all/ada" "$all/ada/grades" "$all/grades/of" "$work/others" "$work/roster.csv"; do
  before_refusal=$(find "$work" | sort)
  grade_class 01 --output "$place"
  check "results do not go to $place" has "$code $err" "2 course: --output: $place "
  check 'which stays as it is' is "$(find "$work" | sort)" "$before_refusal"
done
grade_class 01 --output /proc/x
check 'nor where nothing can be written' has "$code $err" '2 course: --output: cannot write /proc/x: '
grade 01 --prepared --submission "$all/ada" --output /proc/x
check 'nor does a report' has "$code $err" '2 course: --output: cannot write /proc/x: '
ln -s "$all" "$work/link to all"
grade_class 01 --output "$work/link to all/grades"
check 'nor there by a link' has "$code $err" '2 course: --output: '
grade 01 --prepared --submissions "$all/cleo"
check 'one copy of the course is no folder of submissions' has "$code $err" 'is a copy of the course; that is one submission: --submission'
grade 01 --prepared --submissions "$all/nobody"
check 'a folder that is not there is named' has "$code $err" "2 course: --submissions: $all/nobody is not a folder"
grade 01 --prepared --submission "$all/ada" --seed -1
check 'a seed below 0 is refused' has "$code $err" "2 course: --seed: expected a whole number from 0, at most 19 digits, found '-1'"
cp -r "$all/ada" "$all/eve"
grade 01 --isolation none --submission "$all"
check 'a folder of submissions is no submission' has "$code $err" '2 course: --submission: '
check 'the other option is named' has "$err" "for a folder of submissions: --submissions '$all'"
rm -r "$all/eve"
grade_class 02-01
check 'a range that runs backwards is refused' has "$code $err" "2 course: '02-01' runs backwards"
mkdir "$work/nobody" && mkdir "$work/nobody/__MACOSX" "$work/nobody/.hidden"
grade 01 --prepared --submissions "$work/nobody"
check 'a folder without submissions: exit 2' is "$code" 2
check 'a folder without submissions is named' has "$err" "course: --submissions: there is no folder in $work/nobody"
check 'it gets no results' test ! -e "$work/nobody.grades"
check 'nothing was graded' test ! -e "$results/grades.csv"

# ---- the first lesson ----

mkdir "$all/__MACOSX" "$all/.hidden" && echo mine >"$all/notes.txt"
grade_class 01 --seed 7 --roster <(cat "$work/roster.csv") --due 2026-10-12T18:00+02:00
check 'a class is graded' is $code 0
check 'what is no submission is passed over, which is said once' has "$err" \
  "not graded: .hidden (hidden), __MACOSX (a Mac's), notes.txt (no folder)"
check 'and has no row' lacks "$(cat "$results/grades.csv")" MACOSX
check 'who of the roster has no folder is said' has "$err" 'in the roster, and no folder of that name: zoe'
rm -r "$all/__MACOSX" "$all/.hidden" "$all/notes.txt"
grade 01 --prepared --submissions "$all/"
check 'a slash at the end makes no other class' has "$err" 'already graded in '"$results: 3"
check "ada's points" is "$(field ada points)" 100
check 'by tasks' is "$(field ada 01.1) $(field ada 01.2)" '60 40'
check 'her id' is "$(field ada id)" 1001
check 'when her file was committed' is "$(field ada 01_handed_in)" 2026-10-12T20:30:00+02:00
check 'with which commit' is "$(field ada 01_commit)" "$(git -C "$all/ada" rev-parse --short HEAD~1)"
check 'how late that was' is "$(field ada 01_late_hours)" 2.5
check 'a file elsewhere is found' has "$(field ben note)" \
  "01.1, 01.2: not handed in: safe_softmax.cpp, found at week 1/Safe_Softmax.cpp: move it to $lessons01/safe_softmax.cpp"
check 'a roster is read once, as from a pipe' is "$(field cleo id)" 1003
check 'who handed in nothing has a row' is "$(field zoe note) $(field zoe id)" 'nothing handed in 1004'
check 'edits without effect are reported, line ends are none' is "$(field cleo edited_beside)" \
  'lessons/registry.json, tests/01_safe_softmax/judge.cpp'
check 'on the screen, too' has "$err" \
  'cleo: edited beside the answer, without effect: lessons/registry.json, tests/01_safe_softmax/judge.cpp'
check 'a report is there to read' grep -q 'edited beside the answer' "$results/reports/cleo.html"
check 'as Markdown' grep -q '^### 01.1 softmax: not written, 0 of 60 points' "$results/reports/cleo.md"
check 'with the id' grep -q '<h1>ada, 1001</h1>' "$results/reports/ada.html"
check 'and the lateness' grep -q '2.5 hours late' "$results/reports/ada.md"
check 'no report for reading has the seed' lacks "$(grep -lw 7 "$results"/reports/*.html)" ada

# ---- a skeleton that nobody touched ----

git init --quiet "$all/dan"
mkdir -p "$all/dan/$lessons01/mine"
cp "$all/cleo/$lessons01/safe_softmax.cpp" "$all/dan/$lessons01/"
commit "$all/dan" 2026-10-20T10:00:00+02:00 begin
grade_class 01
check 'has no date' is "$(field dan 01_handed_in)$(field dan 01_late_hours)" ''
check 'and is not written' is "$(field dan note)" '01.1, 01.2: not written yet'
cp "$solution" "$all/dan/$lessons01/mine/"
rm "$results/reports/dan.json"
grade_class 01
check 'an answer beside it is named' is "$(field dan note)" \
  "01.1, 01.2: not written yet; safe_softmax.cpp, found at $lessons01/mine/safe_softmax.cpp: move it to $lessons01/safe_softmax.cpp"
rm -r "$all/dan" "$results/reports"/dan.*

# ---- texts decide nothing ----

copy=$work/copy
mkdir "$copy"
ln -s "$course_root"/* "$copy/"
rm "$copy/lessons" "$copy/tests"
cp -r "$course_root/lessons" "$course_root/tests" "$copy/"
echo 'A typo.' | tee -a "$copy/$lessons01/hints.md" >>"$copy/$lessons01/README.md"
sed -i 's/^- what: .*/- what: other words/' "$copy/tests/01_safe_softmax/mistakes.md"
root=$copy
grade_class 01
check 'a hint, a page and the words of a mistake make no report stale' has "$err" 'already graded in '"$results: 3"
check 'the seed is the first one' is "$(seed_of 01)" 7
root=$course_root
written() { stat -c '%n %i' "$results"/reports/*.{json,html,md}; }
before_again=$(written)
grade_class 01
check 'a report that says the same is not written again' is "$(written)" "$before_again"
rm "$copy/common" && mkdir "$copy/common" && ln -s "$course_root"/common/* "$copy/common/"
rm "$copy/common/audit" && cp -r "$course_root/common/audit" "$copy/common/"
echo getpid >>"$copy/common/audit/allowed_symbols.txt"
root=$copy
grade_class 01
check 'what submissions may use does' lacks "$err" 'already graded'
root=$course_root

# ---- another lesson, and a lesson handed in anew ----

mkdir -p "$results/parts"
echo '{"les' >"$results/parts/gone.json.part1"
rm "$results/grades.csv"
grade_class 01
check 'what an interrupted run has left keeps no table from being written' is "$code $(field ada points)" '0 100'
check 'and is taken away' test ! -e "$results/parts"
cp "$course_root/solutions/02_online_softmax/online_softmax.cpp" "$all/ada/"
grade_class 02
check 'another lesson is added' is "$(field ada lesson01) $(field ada lesson02)" '100 100'
check 'that is said' has "$out" 'kept from earlier runs: 01'
check 'the roster and the deadline are kept' is "$(field ada id) $(field ada 01_late_hours)" '1001 2.5'
seed02=$(seed_of 02)
check 'a lesson has a seed of its own, which nobody knows' test "$(seed_of 01) $seed02" != '7 7'
grade_class 01 --seed 8
check 'a seed that is given is the seed of the lessons that are asked for' is "$(seed_of 01) $(seed_of 02)" "8 $seed02"
grade_class 02
check 'and makes no report of another lesson stale' has "$err" 'already graded in '"$results: 3"
grade_class 01-02
check 'of a range each keeps its own' is "$(seed_of 01) $(seed_of 02)" "8 $seed02"
check 'so nothing is stale' has "$err" 'already graded in '"$results: 3"
rm "$results/reports/ada.json"
grade_class 01 02
check 'lessons with two seeds are graded at once' is "$code $(field ada lesson01) $(field ada lesson02)" '0 100 100'
grade_class 02
check 'with the seed of each' has "$err" 'already graded in '"$results: 3"
check 'a file that is not committed has no date' is "$(field ada 02_commit)" ''
sed -i 's/return /return 2 * /' "$all/ada/$lessons01/safe_softmax.cpp"
grade_class 02
check 'a lesson that was not asked for keeps its points' is "$(field ada lesson01)" 100
check 'that it was handed in anew is said' has "$err" 'ada: handed in anew since it was graded: 01'
grade_class 01
check 'asked for, it is graded' test "$(field ada lesson01)" != 100
check 'what is not committed is told from it' is "$(field ada 01_commit)" \
  "$(git -C "$all/ada" rev-parse --short HEAD~1)-changed"
check 'and has no lateness' is "$(field ada 01_late_hours)" ''
printf '{"01": {"2": 7}}' >"$work/points.json"
grade_class 02 --points "$work/points.json"
check 'that its points are others now is said' has "$err" \
  'points of lesson 01 changed; ./course grade 01 --submissions ... applies them'
rm "$results/points.json"

# ---- reports that lack something, as another version of the course may write them ----

# without FIELD: takes it, as "terms.scope", from the entry for lesson 02 of ada's report.
without() {
  python3 - "$results/reports/ada.json" "$1" <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1]))
part = next(lesson for lesson in report["lessons"] if lesson["id"] == "02")
*folders, field = sys.argv[2].split(".")
for folder in folders:
    part = part[folder]
del part[field]
json.dump(report, open(sys.argv[1], "w"))
PYTHON
}
points01=$(field ada lesson01)
for gone in points tasks commit terms.scope; do
  without "$gone"
  grade_class 01
  check "a report without the $gone of a lesson ends no run" is "$code $(field ada lesson01)" "0 $points01"
  check 'the lesson is named' has "$err" 'ada: the report lacks something of lesson 02, which counts as not graded'
  grade_class 02
  check 'asked for, it is graded anew' is "$code $(field ada lesson02)" '0 100'
done

# ---- a repository that would run a command ----

git init --quiet "$all/mallory"
cp "$solution" "$all/mallory/"
commit "$all/mallory" 2026-10-12T10:00:00+02:00 softmax
for key in core.fsmonitor core.sshCommand core.pager gpg.program; do
  git -C "$all/mallory" config "$key" "touch '$work/run by git'; false"
done
git -C "$all/mallory" config log.showSignature true
ln -s "$all/ada/.git" "$all/ben/.git"
grade_class 01
check 'runs none' test ! -e "$work/run by git"
check 'and is read all the same' is "$(field mallory 01_late_hours)" 0
check "another's repository is nobody's own" is "$(field ben 01_commit)" ''

# ---- a checkout that submissions could read ----

if [ "$(id -u)" = 0 ]; then
  chmod 755 "$work" "$all"
  grade 01 --isolation user --submissions "$all"
  check 'is refused where another user can enter it' has "$code $err" '3 course: isolation: user'
  check 'with the cure' has "$err" 'chmod o-rwx '
  check 'which names the submissions, too' has "$err" "'$all'"
  # Nobody else can go by way of a closed folder; to the submissions there are other ways.
  mkdir -m 700 "$work/closed"
  cd "$work/closed" && grade 01 --isolation user --submissions "../handed in"
  check 'a relative path from a closed folder: exit 3' is "$code" 3
  check 'a relative path from a closed folder: the submissions are named' has "$err" "'$all'"
fi
conclude
