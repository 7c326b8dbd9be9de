#!/usr/bin/env bash
# Grades right answers on machines that lack something: a grade is then full, or the lesson is skipped with the cause, and
# never has no points. Also with the modes that a strict umask leaves.
#   machine_test.sh BUILD      BUILD: where the programs, judge and player of lesson 01 were built; no other
#                              test may use it meanwhile
set -u
course_root=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd -P -- "$1" && pwd)
work=$(mktemp -d) && work=$(cd -P -- "$work" && pwd)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/course/checks.sh
. "$course_root/tests/course/checks.sh"
export COURSE_ROOT=$course_root COURSE_BUILD=$build
mkdir "$work/mounted" "$work/answer"
cp "$course_root"/solutions/0[13]_*/*.cpp "$work/answer/"

# Grades lesson $1 in what the rest of the words make of this machine; sets out, err and code.
grade() {
  local lesson=$1
  shift
  out=$("$@" "$build/bin/course-program" grade "$lesson" --prepared --submission "$work/answer" 2>"$work/err" </dev/null)
  code=$?
  err=$(cat "$work/err")
}

# shellcheck disable=SC2016  # expanded by the inner shell
mounted() { unshare --mount sh -c 'mount -t tmpfs -o "$1" tmpfs "$2" && export TMPDIR="$2" && shift 2 && exec "$@"' mounted "$1" "$work/mounted" "${@:2}"; }
named() { unshare --uts sh -c 'hostname "$1" && shift && exec "$@"' named "$@"; }
strict() { (umask 077 && "$@"); }

# What the machine $1 is: lesson 01 is skipped, since $2.
skipped() {
  check "$1: the exit code is not 0" test "$code" != 0
  check "$1: the lesson is skipped" has "$out" ': skipped'
  check "$1: the cause is in the report" has "$out" "cannot grade on this machine: $2"
  check "$1: the answer has not failed" lacks "$out" ': failed'
}

grade 01 strict
check 'umask 077: exit 0' is "$code" 0
check 'umask 077: all points' has "$out" 'passed, 100 of 100 points'

grade 01 env TMPDIR="$work/nowhere"
skipped 'no TMPDIR' "TMPDIR is $work/nowhere, which is not there"

mkdir "$work/broken build" && ln -s "$build"/* "$work/broken build/" && rm "$work/broken build/compile_commands.json"
sed 's/"command": "[^"]*c++ /"command": "\/bin\/false /' "$build/compile_commands.json" >"$work/broken build/compile_commands.json"
grade 01 env COURSE_BUILD="$work/broken build"
skipped 'no compiler' 'the compiler fails on an empty file, too'

# What answers are linked with: built by a grade, and where a grade that builds nothing lacks it, that is the machine's failure.
library=common/liblinear_algebra.a
mv "$build/$library" "$work/library.a"
out=$("$build/bin/course-tools" grade 01 --submission "$work/answer" 2>"$work/err" </dev/null)
check 'a library that is not built: exit 0' is "$?" 0
check 'a library that is not built is built' test -e "$build/$library"
check 'a library that is not built: all points' has "$out" 'passed, 100 of 100 points'
[ -e "$build/$library" ] || mv "$work/library.a" "$build/$library"

mkdir "$work/part" && ln -s "$build"/* "$work/part/" && rm "$work/part/common"
mkdir "$work/part/common" && ln -s "$build"/common/* "$work/part/common/" && rm "$work/part/$library"
grade 01 env COURSE_BUILD="$work/part"
skipped 'no library' "what every answer is linked with is not built: $library"
hash_of() { COURSE_BUILD=$1 "$build/bin/course-program" grade 01 --prepared --seed 1 --format json --submission "$work/answer" 2>/dev/null | grep -m 1 '"judges"'; }
check 'a grade without the library is not on the terms of one with it' test "$(hash_of "$work/part")" != "$(hash_of "$build")"
ln -s "$build/$library" "$work/part/$library" && rm "$work/part/build.ninja"
sed 's/-Wl,--no-undefined/-Wl,--no-such-option/' "$build/build.ninja" >"$work/part/build.ninja"
grade 01 env COURSE_BUILD="$work/part"
skipped 'a linker that links nothing' "the lesson's skeleton does not link: "
check 'a linker that links nothing says why' has "$out" 'no-such-option'

mkdir "$work/lacking"
sed 's/\bsoftmax\b\(.*{\)$/soft_max\1/' "$work/answer/safe_softmax.cpp" >"$work/lacking/safe_softmax.cpp"
out=$("$build/bin/course-program" grade 01 --prepared --submission "$work/lacking" 2>/dev/null </dev/null)
check 'a function that is misspelt: exit 0' is "$?" 0
check 'a function that is misspelt: the answer has failed' has "$out" ': failed'
check 'a function that is misspelt is named' has "$out" \
  ', of the contract, is not defined: it is missing, or has other parameters than in the header'
check 'a function that is misspelt: the compiler driver has nothing to add' lacks "$out" 'collect2'

if unshare --mount true 2>/dev/null; then
  grade 01 mounted size=200k
  skipped 'TMPDIR without room' "the folder for temporary files, $work/mounted, has"
  git -C "$work/answer" init --quiet
  git -C "$work/answer" add --all
  git -C "$work/answer" -c user.name=a -c user.email=a@localhost commit --quiet --message softmax
  mkdir "$work/answer/tests"
  echo '// mine' >"$work/answer/tests/mine.cpp"
  grade 01 mounted size=4k
  skipped 'TMPDIR without any room, for a clone' "the folder for temporary files, $work/mounted, has"
  check 'what lies beside the answers was not looked at, which is said' has "$err" 'files beside the answers were not looked at: '
  rm -r "$work/answer/.git" "$work/answer/tests"
  grade 01 mounted noexec
  skipped 'TMPDIR without programs' "the folder for temporary files, $work/mounted, is on a file system that runs no programs"
fi
if [ -e "$build/bin/judge_lesson03" ] && unshare --uts true 2>/dev/null; then
  grade 03 named "$(printf 'a%.0s' {1..63})"
  [ "$code" = 0 ] || skipped 'a long name' 'this machine could not start'
  check 'a long name: the answer has not failed' lacks "$out" ': failed'
fi
conclude
