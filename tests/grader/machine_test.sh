#!/usr/bin/env bash
# Grades right answers on machines that lack something: a grade is then full, or the lesson is skipped with the cause, and
# never has no points. Also with the modes that a strict umask leaves.
#   machine_test.sh BUILD      BUILD: where the program, judge and player of lesson 01 were built
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

if unshare --mount true 2>/dev/null; then
  grade 01 mounted size=200k
  skipped 'TMPDIR without room' "the folder for temporary files, $work/mounted, has"
  grade 01 mounted noexec
  skipped 'TMPDIR without programs' "the folder for temporary files, $work/mounted, is on a file system that runs no programs"
fi
if [ -e "$build/bin/judge_lesson03" ] && unshare --uts true 2>/dev/null; then
  grade 03 named "$(printf 'a%.0s' {1..63})"
  [ "$code" = 0 ] || skipped 'a long name' 'this machine could not start'
  check 'a long name: the answer has not failed' lacks "$out" ': failed'
fi
conclude
