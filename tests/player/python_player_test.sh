#!/usr/bin/env bash
# Tests the Python player as the judge meets it, and what the judge makes of a player that keeps no status page.
#   python_player_test.sh BUILD PYTHON     BUILD: where judge_lesson01 and judge_lesson03 were built; PYTHON: with mpi4py
#                                          prints a line a check and the totals; exit 1 when one fails
set -u
course_root=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd -P -- "$1" && pwd)
python=$2
player=$course_root/common/player/python/player.py
work=$(mktemp -d) && work=$(cd -P -- "$work" && pwd)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/course/checks.sh
. "$course_root/tests/course/checks.sh"
softmax=$work/01_safe_softmax/safe_softmax.py
ring=$work/03_ring_softmax/ring_softmax.py
mkdir -p "${softmax%/*}" "${ring%/*}"

# judge LESSON SUBJECT TESTS [PLAYER...]; sets out and code.
judge() {
  local lesson=$1 subject=$2 tests=$3 words=()
  shift 3
  [ $# -gt 0 ] || set -- "$python" "$player"
  while [ $# -gt 0 ]; do words+=("--player=$1") && shift; done
  out=$(timeout 120 "$build/bin/judge_lesson$lesson" --registry "$course_root/lessons/registry.json" --subject "$subject" \
    "${words[@]}" "--gtest_filter=$tests" 2>&1 </dev/null)
  code=$?
}

# The solution of lesson 01 with the body of softmax replaced by what stands on stdin.
softmax_that() {
  { echo 'import os, sys' && echo 'import numpy as np' && echo 'def softmax(x, p):' && sed 's/^/    /' &&
    echo 'def logsumexp(x, lse):' && echo '    raise NotImplementedError("task 2, logsumexp")'; } >"$softmax"
}

# No process has the submission's path among its arguments.
nobody_left() {
  local arguments
  for arguments in /proc/[0-9]*/cmdline; do
    if has "$(tr '\0' ' ' <"$arguments" 2>/dev/null)" "$work"; then return 1; fi
  done 2>/dev/null
}

test_exceptions() {
  softmax_that <<<'raise RuntimeError("no idea")'
  judge 01 "$softmax" '*'
  check 'an exception: exit 1' is "$code" 1
  check 'its text, its type and its line' has "$out" 'threw: RuntimeError: no idea (safe_softmax.py, line 4)'
  check 'another task is judged by itself' has "$out" 'TODO  lesson01.2   threw: task 2, logsumexp is not written yet'
  softmax_that <<<'sys.exit(0)'
  judge 01 "$softmax" '*'
  check 'sys.exit is an exception, and no pass' has "$out" 'FAIL  lesson01.1   threw: SystemExit: 0'
  softmax_that <<<'os._exit(0)'
  judge 01 "$softmax" '*'
  check 'a process that ends is no pass' has "$out" 'FAIL  lesson01.1   the program ended with exit code 0'
  softmax_that <<<'np.add(1, 2, out=3'
  judge 01 "$softmax" '*'
  check 'a file that is no Python: exit 1' is "$code" 1
  check 'it says where' has "$out" 'threw: SyntaxError'
  check 'with the line' has "$out" 'safe_softmax.py, line 4'
  softmax_that <<<'pass'
  judge 01 "$softmax" 'lesson01.1'
  check 'what is not written is said to be so' has "$out" 'was never written, should be'
}

test_wrong_calls() {
  out=$("$python" "$player" 2>&1)
  code=$?
  check 'no arguments: exit 2' is "$code" 2
  out=$("$python" "$player" --subject "$work/99_nothing" "$work" 2>&1)
  code=$?
  check 'a subject that is not there: exit 2' is "$code" 2
  check 'it is named' has "$out" "there is no $work/99_nothing"
  check 'in one line' lacks "$out" Traceback
  judge 01 "$work/99_nothing" '*'
  check 'the judge shows what the player said' has "$out" "there is no $work/99_nothing"
  out=$("$python" -S "$player" --subject "$course_root/solutions/01_safe_softmax" "$work" 2>&1)
  code=$?
  check 'without NumPy: exit 3' is "$code" 3
  check 'it is named, with its package' has "$out" 'python3-numpy'
  judge 01 "$softmax" '*' /bin/true
  check 'a player that does nothing has not started' is "$code" 3
}

test_deadlock() {
  cat >"$ring" <<'PYTHON'
import numpy as np
def chain_softmax(x, p, steps, comm):
    comm.Send(np.zeros(2, dtype=np.float32), (comm.rank + 1) % comm.size)
    comm.Recv(np.empty(2, dtype=np.float32), source=(comm.rank - 1) % comm.size)
def rotation_softmax(x, p, steps, comm):
    raise NotImplementedError("task 2, a rotation")
PYTHON
  judge 03 "$ring" 'lesson03.1.ranks3:lesson03.2.ranks3'
  check 'a deadlock that buffering would hide: exit 1' is "$code" 1
  check 'the clock ends it' has "$out" 'FAIL  lesson03.1.ranks3   stuck, in compute or in MPI: nothing happened for 10 s'
  check 'it says which ranks have not reported' has "$out" 'no report from rank 0, 1, 2'
  check 'another task is judged by itself' has "$out" 'TODO  lesson03.2.ranks3'
  check 'nobody is left' nobody_left
}

test_ranks() {
  sed '/^def rotation_softmax/a\    if comm.rank == 1: raise ValueError("only here")' \
    "$course_root/solutions/03_ring_softmax/ring_softmax.py" >"$ring"
  judge 03 "$ring" 'lesson03.2.ranks3'
  check 'a rank that throws while others wait: its exception is the verdict' has "$out" 'rank 1 threw: ValueError: only here'
  sed '/^def rotation_softmax/a\    comm.Send(np.zeros(2, dtype=np.float32), dest=comm.size)' \
    "$course_root/solutions/03_ring_softmax/ring_softmax.py" >"$ring"
  judge 03 "$ring" 'lesson03.2.ranks2'
  check 'what mpi4py refuses is an exception' has "$out" 'threw: Exception: MPI_ERR_RANK'
}

# The judge believes a player that says it has counted.
test_counting() {
  local counting=$work/counting/common/player/python
  mkdir -p "$counting"
  cp "${player%/*}"/*.py "$counting"
  ln -s "$course_root/tests" "$work/counting/tests"
  sed -i 's/"collective_bytes": -1/"collective_bytes": 0/' "$counting/player.py"
  judge 03 "$course_root/solutions/03_ring_softmax" 'lesson03.*ranks3' "$python" "$counting/player.py"
  check 'who counts, and counts nothing sent, has sent nothing' has "$out" 'sent nothing to rank 1'
}

test_exceptions
test_wrong_calls
test_deadlock
test_ranks
test_counting
conclude
