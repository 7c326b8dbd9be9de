#!/usr/bin/env bash
# Grades submissions to lessons 09 and 12, whose files are CUDA sources, as an instructor would.
#   cuda_test.sh BUILD      BUILD: where the program was built, and judges and players of these lessons
#                           prints a line a check and the totals; exit 1 when one fails, 77 where nothing can be isolated
set -u
course_root=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd -P -- "$1" && pwd)
# shellcheck source=tests/course/checks.sh
. "$course_root/tests/course/checks.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
solution=$course_root/solutions/09_cuda_softmax/cuda_softmax.cu

# Sets out to what is said of the text on stdin.
grade() {
  mkdir -p "$work/submission"
  cat >"$work/submission/cuda_softmax.cu"
  out=$(COURSE_ROOT=$course_root COURSE_BUILD=$build "$build/bin/course-program" grade 09 --submission "$work/submission" --prepared 2>"$work/err")
  [ $? -ne 3 ] || exit 77
}

grade <"$solution"
check 'a right answer has all points' has "$out" 'lesson 09 cuda_softmax on the simulated GPU: passed, 100 of 100 points'
grade < <(awk '!/__syncthreads/ || ++seen != 1' "$solution")
check 'one without a barrier has the points of the other task' has "$out" 'lesson 09 cuda_softmax on the simulated GPU: failed, 50 of 100 points'
check 'and is told of it' has "$out" 'a barrier belongs between the writes and the reads'
grade < <(sed 's/__shfl_xor_sync/__shfl_xor_sink/' "$solution")
check 'what does not compile is told with its own line' has "$out" "does not compile: cuda_softmax.cu:18:"
grade < <(sed 's/^__global__ void softmax_rows/__constant__ float c[4];\n&/' "$solution")
check 'so is what the simulator does not have' has "$out" 'the simulator does not have __constant__'

COURSE_ROOT=$course_root COURSE_BUILD=$build "$build/bin/course-program" grade 12 --submission "$course_root/solutions/12_cuda_ring" \
  --prepared >"$work/out" 2>"$work/err"
check 'a ring over NCCL has all points, too' has "$(cat "$work/out")" 'lesson 12 cuda_ring on the simulated GPU: passed, 100 of 100 points'
conclude
