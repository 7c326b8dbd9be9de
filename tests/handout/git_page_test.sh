#!/usr/bin/env bash
# Does what docs/git.md tells students to do, each command as it stands there, with a handout that grows meanwhile.
#   git_page_test.sh BUILD      BUILD: where the program was built; exit 77 where it cannot run
set -u
course_root=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd -P -- "$1" && pwd)
# shellcheck source=tests/course/checks.sh
. "$course_root/tests/course/checks.sh"
# shellcheck source=tests/handout/instructor.sh
. "$course_root/tests/handout/instructor.sh"
page=$course_root/docs/git.md
softmax=lessons/01_safe_softmax/safe_softmax.cpp
contradicted=docs/notation.md

instructor() { COURSE_ROOT=$instructor "$build/bin/course-program" "$@" >"$work/out" 2>&1 </dev/null; }

# Prints the commands that stand under the heading $1 of the page.
commands() {
  awk -v heading="$1" '/^#/ { here = ($0 ~ "^#+ " heading "$") } /^```/ { code = ($0 == "```sh"); next } here && code' "$page" |
    sed "s#HANDOUT#'$work/handout'#; s#MINE#'$work/mine.git'#; s#FILE#$contradicted#"
}

# Runs them in this shell, which they may lead into another folder; sets out and code.
follow() {
  local text
  text=$(commands "$1")
  check "$1: there are commands" test -n "$text"
  eval "set -e; $text" >"$work/out" 2>&1
  code=$?
  set +e
  out=$(cat "$work/out")
}

make_instructor
instructor handout "$work/handout" --lessons 01
git init --quiet --bare --initial-branch=main "$work/mine.git"
cd "$work" || exit 1

follow 'Getting the course'
check 'the course is there' test -e "$softmax"
follow 'A repository of your own'
check 'it has what was handed out' is "$(git -C "$work/mine.git" rev-parse main)" "$(git -C "$work/handout" rev-parse main)"

echo '// my answer' >>"$softmax"
follow 'Committing'
check 'the commit is pushed' is "$(git -C "$work/mine.git" log -1 --format=%s)" 'The safe softmax passes'
mine=$(git rev-parse HEAD)

instructor handout "$work/handout" --lessons 02
follow 'Updating'
check 'another lesson is there' test -e lessons/02_online_softmax/online_softmax.cpp
check 'the answer, too' has "$(tail -n 1 "$softmax")" 'my answer'
check 'the commit is the same' git merge-base --is-ancestor "$mine" HEAD
check 'and it is pushed' is "$(git -C "$work/mine.git" rev-parse main)" "$(git rev-parse HEAD)"

sed -i '1s/.*/My title/' "$contradicted"
git commit --quiet --all --message 'My title'
sed -i '1s/.*/Another title/' "$instructor/$contradicted"
commit_all "$instructor" 'another title'
instructor handout "$work/handout"
git pull --no-rebase --no-edit upstream main >"$work/out" 2>&1
check 'an update that contradicts is told' has "$(cat "$work/out")" CONFLICT
git merge --abort
check 'and can be given up' is "$(head -n 1 "$contradicted")" 'My title'
git pull --no-rebase --no-edit upstream main >/dev/null 2>&1
sed -i '/^<<<<<<<\|^=======\|^>>>>>>>\|^Another title/d' "$contradicted"
follow 'When an update contradicts you'
check 'what was decided is pushed' is "$(git -C "$work/mine.git" rev-parse main)" "$(git rev-parse HEAD)"

follow 'Handing in'
check 'nothing is left to hand in' has "$out" '## main...origin/main'
check 'not a commit' lacks "$out" '[ahead'
check 'the date is told' has "$out" "$(git rev-parse --short HEAD) "
check 'the archive has the answer where it is looked for' is "$(git ls-files lessons | wc -l)" \
  "$(cmake -E tar tf ../answers.zip | grep -vc '/$')"
check 'and git has nothing to say of it' is "$(git status --short)" ''

echo '// unfinished' >>"$softmax"
check 'what is not committed is seen' has "$(git status --short --branch)" " M $softmax"
conclude
