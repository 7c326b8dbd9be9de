#!/usr/bin/env bash
# Tests a judge as the program that graders and ctest call.
#   judge_program_test.sh BUILD       BUILD: where judge_lesson01, player_solo and lesson01_solution.so were built
#                                     prints a line a check and the totals; exit 1 when one fails
set -u
course_root=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd -P -- "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
registry=$course_root/lessons/registry.json
report=$work/report.json
# shellcheck source=tests/course/checks.sh
. "$course_root/tests/course/checks.sh"

utf8() { iconv -f UTF-8 -t UTF-8 "$1" >/dev/null 2>&1; }

# Runs the judge with the player $1, the registry $2 and what follows; sets code, out and err.
judge() {
  local player=$1 from=$2
  shift 2
  timeout 60 "$build/bin/judge_lesson01" --subject "$build/lib/lesson01_solution.so" --player "$player" --registry "$from" \
    "$@" >"$work/out" 2>"$work/err" </dev/null
  code=$?
  out=$(cat "$work/out")
  err=$(cat "$work/err")
}

# Makes a player of the shell commands $1, a registry or the lesson's mistakes changed by the sed command $1.
player_that() { printf '#!/bin/sh\n%s\n' "$1" >"$work/player" && chmod +x "$work/player"; }
registry_with() { sed "$1" "$registry" >"$work/lessons/registry.json"; }
mistakes_with() { sed "$1" "$course_root/tests/01_safe_softmax/mistakes.md" >"$work/tests/01_safe_softmax/mistakes.md"; }

test_nothing_can_be_played() {
  judge "$work/no player" "$registry"
  check 'no player: exit 3' is "$code" 3
  check 'the cause' has "$err" 'judge: the player did not start'
  judge "$work/no player" "$registry" --report "$report"
  check 'no player, and a report: exit 3' is "$code" 3
  check 'the report has the cause' has "$(cat "$report")" '"failure": "the player did not start'
  check 'and no test' has "$(cat "$report")" '"tests": []'
  judge "$work/no player" "$registry" --expect todo
  check 'nor is it expected: exit 3' is "$code" 3
}

# Judges with TMPDIR or the subject on a file system that is mounted with the options $1, and is $2 in the judge's command.
judge_mounted() {
  mkdir -p "$work/mounted"
  out=$(unshare --mount bash -c '
    mount -t tmpfs -o "$1" tmpfs "$2/mounted" && cp "$3/lib/lesson01_solution.so" "$2/mounted/" 2>/dev/null
    [ "$5" != TMPDIR ] || export TMPDIR=$2/mounted
    [ "$5" = TMPDIR ] && subject=$3/lib/lesson01_solution.so || subject=$2/mounted/lesson01_solution.so
    timeout 60 "$3/bin/judge_lesson01" --subject "$subject" --player "$3/bin/player_solo" --registry "$4"
  ' mounted "$1" "$work" "$build" "$registry" "$2" 2>&1 </dev/null)
  code=$?
}

# What the machine lacks is not told as the answer's failure.
test_temporary_files() {
  TMPDIR=$work/nowhere judge "$build/bin/player_solo" "$registry"
  check 'no TMPDIR: exit 3' is "$code" 3
  check 'the path' has "$err" "TMPDIR is $work/nowhere, which is not there"
  unshare --mount true 2>/dev/null || return 0
  judge_mounted size=200k TMPDIR
  check 'TMPDIR without room: exit 3' is "$code" 3
  check 'how much there is' has "$out" 'KiB left, expected at least'
  judge_mounted noexec subject
  check 'a file system without programs: exit 3' is "$code" 3
  check 'the cause' has "$out" "the file system is mounted noexec that holds $work/mounted/lesson01_solution.so"
}

test_any_bytes() {
  # It plays what was submitted, as far as the judge can see.
  player_that 'while [ "$1" != --status ]; do shift; done; rm "$2.sealed"; printf '"'no \\377\\376 text\\n'; exit 3"
  judge "$work/player" "$registry" --report "$report"
  check 'bytes that are no text: exit 1' is "$code" 1
  check 'the report has them' has "$(cat "$report" 2>&1)" 'it printed:\nno '
  check 'as UTF-8' utf8 "$report"
}

test_expectations() {
  judge "$build/bin/player_solo" "$registry" --expect pass
  check 'as expected: exit 0' is "$code" 0
  check 'it is said' is "$(printf '%s\n' "$out" | tail -n 1)" 'as expected: pass'
  judge "$build/bin/player_solo" "$registry" --expect todo
  check 'not as expected: exit 1' is "$code" 1
  check 'it is said' has "$out" 'expected todo, but with seed 1: task 1 is not todo'
}

test_registry() {
  mkdir -p "$work/lessons" "$work/tests/01_safe_softmax"
  cp "$registry" "$work/lessons/"
  mistakes_with 's/^## no_maximum$/## no_maximun/'
  judge "$build/bin/player_solo" "$work/lessons/registry.json"
  check "a mistake that the judge does not compute: exit 2" is "$code" 2
  check 'its name' has "$err" 'mistakes.md of lesson 01 has no_maximun, told by its answer, which the judge computes for none of its tasks'
  mistakes_with 's/^ *```$//'
  judge "$build/bin/player_solo" "$work/lessons/registry.json"
  check 'a fence without an end: exit 2' is "$code" 2
  check 'its line' has "$err" "01_safe_softmax/mistakes.md: line $(grep -nm1 '^```' "$work/tests/01_safe_softmax/mistakes.md" | cut -d: -f1): the fence is not closed"
  mistakes_with ''
  registry_with '0,/"title": /s/"title": "Safe softmax",//'
  judge "$build/bin/player_solo" "$work/lessons/registry.json"
  check 'no title: exit 2' is "$code" 2
  check 'it is said' is "$err" "judge: $work/lessons/registry.json: (/lessons/0) key 'title' not found"
  registry_with 's/"name": "logsumexp", "points": 40,/"name": "logsumexp",/'
  judge "$build/bin/player_solo" "$work/lessons/registry.json"
  check 'no points' is "$err" "judge: $work/lessons/registry.json: (/lessons/0/tasks/1) key 'points' not found"
  registry_with '$d'
  judge "$build/bin/player_solo" "$work/lessons/registry.json"
  check 'no JSON: exit 2' is "$code" 2
  check 'in one line' lines "$err" 1
}

# Judges the ring of lesson 03 in which every rank sends first; sets code and out.
judge03() {
  out=$(timeout 60 "$build/bin/judge_lesson03" --player "$build/bin/player_mpi" --registry "$registry" \
    --subject "$build/lib/lesson03_mutant_every_rank_sends_first.so" "$@" 2>&1)
  code=$?
}

# Whether the page $1 shows this failure, $2, as it is printed.
shows() { has "$2" 'FAIL  ' && has "$(cat "$course_root/$1")" "$2"; }

# What the pages show of verdicts is what is printed.
test_samples() {
  judge "$build/bin/player_solo" "$registry" --subject "$build/lib/lesson01_mutant_masked_row_nan.so"
  check "README's NaN is as printed" shows README.md "${out%%FAIL  lesson01.2*}"
  judge03 --gtest_filter='lesson03.2.*'
  check "README's deadlock is as printed" shows README.md "${out#PASS  lesson03.2.ranks1?}"
  judge03 --gtest_filter=lesson03.2.ranks3
  check "lesson 03's deadlock is as printed" shows lessons/03_ring_softmax/README.md "$out"
}

# Keeps the case of test $2 and plays it again with the judge function $1 and what follows; compares what is said of it.
same_when_played_again() {
  local run=$1 name=$2 said
  shift 2
  "$run" "$@" --keep "$work/said" --gtest_filter="$name"
  said=${out%%      kept in *}
  said=${said%$'\n'}
  check "$name: the check says" has "$said" "FAIL  $name "
  "$run" "$@" --replay "$work/said/$name" --as-checked
  check "$name: again all that the check said" has "$out" "$said"
  check "$name: and once" is "$(printf '%s\n' "$out" | grep -c "^FAIL  ")" 1
}

judge01() { judge "$build/bin/player_solo" "$registry" "$@"; }

# What is said of a case that is played again is what the check said of it and all other inputs.
test_replay_says_what_the_check_said() {
  local one=$build/lib/lesson01_mutant_masked_row_nan.so
  same_when_played_again judge03 lesson03.2.ranks3
  same_when_played_again judge01 lesson01.1 --subject "$one"
  check 'a name, too' has "$out" 'looks like: '
  check 'and the numbers' has "$out" 'right  yours'
  judge01 --subject "$one" --replay "$work/said/lesson01.1"
  check 'of files that may be others: only what shows of it alone' lacks "$out" 'looks like: '
  check 'which is wrong, too' has "$out" 'FAIL  lesson01.1 '
  judge01 --replay "$work/said/lesson01.1" --as-checked
  check 'right when it is played alone: exit 0' is "$code" 0
  check 'which is said' has "$out" 'PASS  lesson01.1'
  check 'and what the check said' has "$out" 'the check, which played other inputs as well, said:'
  rm "$work/said/lesson01.1/diagnosis.txt"
  judge01 --subject "$one" --replay "$work/said/lesson01.1" --as-checked
  check 'a case of before this was kept: what shows of it alone' has "$out" 'FAIL  lesson01.1 '
}

# A case of lesson 03 on three ranks: deadlocks, kept and played again.
test_replay_of_a_deadlock() {
  local began
  judge03 --keep "$work/cases" --gtest_filter=lesson03.2.ranks3
  began=$SECONDS
  judge03 --replay "$work/cases/lesson03.2.ranks3"
  check 'replay of a deadlock: exit 1' is "$code" 1
  check 'within five seconds' test $((SECONDS - began)) -le 5
  check 'who waits for whom' has "$out" 'rank 2 waits in MPI_Send to rank 0'
  check 'the cycle' has "$out" 'a cycle: 0 → 1 → 2 → 0'
  check 'the name' has "$out" 'looks like: every rank sends before anyone receives'
  cp "$work/cases/lesson03.2.ranks3/rank0/x.npy" "$work/cases/lesson03.2.ranks3/rank1/x.npy"
  judge03 --replay "$work/cases/lesson03.2.ranks3"
  check 'a case with other inputs: exit 2' is "$code" 2
  check 'it is said' has "$out" 'other inputs than the course draws now: check again'
}

test_nothing_can_be_played
test_temporary_files
if [ -e "$build/bin/judge_lesson03" ]; then # a tree with sanitizers has no lessons with ranks to judge
  test_samples
  test_replay_says_what_the_check_said
  test_replay_of_a_deadlock
fi
test_any_bytes
test_expectations
test_registry
conclude
