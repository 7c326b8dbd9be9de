#!/usr/bin/env bash
# The programs of docs/primers: each compiles by the command that its page shows and prints what the page shows.
#   primers_test.sh attention            attention.cpp
#   primers_test.sh mpi                  ring.cpp; and hang.cpp, which hangs as its page says, and is ended
#   primers_test.sh simulated PROGRAM    row_sums.cu on the simulated GPU; skipped where PROGRAM is empty, unless nothing may be
#   primers_test.sh cuda NVCC            row_sums.cu with nvcc, and on a device where there is one; skipped without nvcc
# A page's comment <!-- output of: WORDS --> names the fenced block below it, and <!-- part of: FILE --> one with lines of FILE.
set -uo pipefail
course_root=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=tests/course/checks.sh
. "$course_root/tests/course/checks.sh"
primers=$course_root/docs/primers
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$primers"/*.cpp "$primers"/*.cu "$work"
cd "$work" || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl=^tcp,uct,openib,ofi

# The fenced block below the comment <!-- $2 --> of page $1, or the one after NUMBER - 1 others with that comment.
block() {
  awk -v comment="<!-- $2 -->" -v number="${3:-1}" '
    inside && /^```$/ { exit }
    inside { print }
    $0 == comment { ++seen; next }
    seen == number && /^```/ { inside = 1 }' "$primers/$1"
}

# Runs a command that the page shows in a line of its own; sets code, out and err.
run_of_page() {
  check "$1 shows: $2" has "
$(cat "$primers/$1")
" "
$2
"
  run "$2"
}
run() {
  code=0
  out=$(timeout 60 bash -c "$1" 2>"$work/err") || code=$?
  err=$(cat "$work/err")
}
sorted() { sort <<<"$1"; }

shows_part() {
  local number part count
  count=$(grep -cF "<!-- part of: $2 -->" "$primers/$1")
  check "$1 shows $2" test "$count" -gt 0
  for ((number = 1; number <= count; ++number)); do
    part=$(block "$1" "part of: $2" $number)
    check "block $number of $1 with lines of $2 is there" test -n "$part"
    check "block $number of $1 has lines of $2" has "$(cat "$2")" "$part"
  done
}

# A rank prints its lines in order, but those of several ranks mix.
shows_output() {
  local expected
  expected=$(block "$1" "output of: $2")
  check "$1 shows what $2 prints" test -n "$expected"
  check "$2 prints what $1 shows" is "$(sorted "$out")" "$(sorted "$expected")"
}

attention() {
  shows_part attention.md attention.cpp
  run_of_page attention.md 'g++ -std=c++20 -O2 attention.cpp -o attention && ./attention'
  check 'attention ends' is "$code" 0
  check 'attention prints what attention.md shows' is "$out" "$(block attention.md 'output of: attention')"
}

# Starts hang.cpp with many numbers, waits until each of the four ranks has said that it sends, and a second more.
start_and_watch() {
  timeout --kill-after=5 60 mpirun -n 4 "$@" >"$work/hanging" 2>"$work/err" &
  local started=$! patience=200
  while [ "$(grep -c sends "$work/hanging")" != 4 ] && [ $((--patience)) -gt 0 ] && kill -0 $started 2>/dev/null; do sleep 0.1; done
  sleep 1
  still_runs=no
  kill -0 $started 2>/dev/null && still_runs=yes
  kill $started 2>/dev/null
  wait $started 2>/dev/null
  code=$? out=$(cat "$work/hanging") err=$(cat "$work/err")
}

nobody_is_left() {
  local tries=50
  while pgrep -f "^$work/" >/dev/null && [ $((--tries)) -gt 0 ]; do sleep 0.1; done
  [ $tries -gt 0 ]
}

mpi() {
  shows_part mpi.md ring.cpp
  run_of_page mpi.md 'mpicxx ring.cpp -o ring && mpirun -n 4 ./ring'
  check 'ring ends' is "$code" 0
  shows_output mpi.md ring
  check 'mpi.md has the option for few cores' has "$(cat "$primers/mpi.md")" 'mpirun --oversubscribe -n 4 ./ring'
  check 'mpi.md has the option for root' has "$(cat "$primers/mpi.md")" 'mpirun --allow-run-as-root -n 4 ./ring'
  run 'env -u OMPI_MCA_rmaps_base_oversubscribe mpirun --oversubscribe --allow-run-as-root -n 4 ./ring'
  shows_output mpi.md ring

  shows_part mpi.md hang.cpp
  run_of_page mpi.md 'mpicxx hang.cpp -o hang && mpirun -n 4 ./hang 10'
  check 'hang ends with few numbers' is "$code" 0
  shows_output mpi.md 'hang 10'

  check 'mpi.md shows how to let it hang' has "$(cat "$primers/mpi.md")" '
mpirun -n 4 ./hang 1000000
'
  start_and_watch "$work/hang" 1000000
  check 'hang hangs with many numbers' is $still_runs yes
  shows_output mpi.md 'hang 1000000'
  check 'what hung is gone' nobody_is_left

  sed 's/MPI_Send(/MPI_Ssend(/' hang.cpp >synchronous.cpp
  run 'mpicxx synchronous.cpp -o synchronous'
  start_and_watch "$work/synchronous" 10
  check 'with MPI_Ssend it hangs with few numbers, too' is $still_runs yes
  check 'no rank has received' lacks "$out" 'has what'
  check 'what hung is gone' nobody_is_left

  block mpi.md 'cure of: hang.cpp' >cure
  sed -e '/^  MPI_Send(/{r cure
d}' -e '/^  MPI_Recv(/d' hang.cpp >cured.cpp
  check 'the cure takes the place of both lines' is "$(grep -c 'MPI_Sendrecv(\|MPI_Send(\|MPI_Recv(' cured.cpp)" 1
  run 'mpicxx cured.cpp -o cured && mpirun -n 4 ./cured 1000000'
  check 'the cured program ends with many numbers' is "$code" 0
  check 'all have received' is "$(grep -c 'has what' <<<"$out")" 4
}

simulated() {
  shows_part cuda.md row_sums.cu
  check 'cuda.md shows how to run it' has "$(cat "$primers/cuda.md")" 'cmake --build build --target row_sums && build/bin/row_sums'
  run "$1"
  check 'row_sums ends on the simulated GPU' is "$code" 0
  check 'it prints what cuda.md shows' is "$out" "$(block cuda.md 'output of: row_sums')"
  check 'nothing was found' is "$err" ''
}

cuda() {
  check 'cuda.md shows the command' has "$(cat "$primers/cuda.md")" '
nvcc row_sums.cu -o row_sums && ./row_sums
'
  run "'$1' -Werror=all-warnings row_sums.cu -o row_sums"
  check 'nvcc compiles row_sums.cu' is "$code" 0
  if ! nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then
    echo 'there is no device to run it on'
    return
  fi
  run ./row_sums
  check 'it prints what cuda.md shows' is "$out" "$(block cuda.md 'output of: row_sums')"
}

case $1 in
  simulated)
    if [ -z "${2:-}" ]; then
      echo 'there is no simulated GPU in this build: libboost-context-dev and libdw-dev are missing'
      [ -z "${COURSE_NO_SKIP:-}${CI:-}" ] && exit 77
      exit 1
    fi
    ;;
  cuda) [ -x "${2:-}" ] || { echo 'nvcc was not found when this tree was configured' && exit 77; } ;;
esac
"$@"
conclude
