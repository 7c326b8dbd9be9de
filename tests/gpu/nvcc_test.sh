#!/usr/bin/env bash
# Compiles a lesson's CUDA sources as they are, for sm_80 and sm_90, and says what the assembler says of their kernels.
#   nvcc_test.sh NVCC OPTION... -- FILE...    NVCC: the compiler; OPTION: for it, such as where headers are
#                                             prints a line a kernel and a line a check; exit 1 when a file does not compile
#                                             without a warning, or when a kernel's registers are more than a multiprocessor
#                                             has for one block of the file's `block_threads` threads, or of 1024 where there
#                                             is no such constant; 77 where there is no nvcc
set -u
course_root=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=tests/course/checks.sh
. "$course_root/tests/course/checks.sh"
nvcc=$1 options=(-std=c++20 -O2 -Werror=all-warnings '-Xcompiler=-Wall,-Wextra,-Wno-unused-parameter' -Xptxas=-v
  '-gencode=arch=compute_80,code=sm_80' '-gencode=arch=compute_90,code=sm_90')
shift
while [ "$1" != -- ]; do options+=("$1") && shift; done
shift
[ -x "$nvcc" ] || { echo "nvcc, or NCCL's header, was not found when this tree was configured: nothing is compiled for a GPU" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# compile NUMBER FILE: leaves what is said of the file, and the exit code, under its number.
compile() {
  local unused=()
  case $2 in */skeletons/*) unused=(--diag-suppress=177) ;; esac # a skeleton uses none of its constants yet
  "$nvcc" "${options[@]}" "${unused[@]}" -c "$2" -o "$work/$1.o" >"$work/$1" 2>&1
  echo $? >"$work/$1.code"
}

# A line a kernel: architecture, name, registers, bytes spilled.
kernels() {
  c++filt -p <"$1" | awk -F"'" '
    /Compiling entry function/ { kernel = $2; architecture = $4 }
    match($0, /[0-9]+ bytes spill stores/) { spilled = $0; sub(/.*frame, /, "", spilled); sub(/ .*/, "", spilled) }
    match($0, /Used [0-9]+ registers/) { print architecture, substr($0, RSTART + 5, RLENGTH - 15), spilled, kernel }'
}

block_threads() { sed -n 's/^ *constexpr int block_threads = \([0-9]*\);.*/\1/p' "$1" | head -n 1; }

# A warp takes registers in units of 256. Source: CUDA Programming Guide 13, compute capabilities; the occupancy calculator.
report() {
  local architecture registers spilled kernel threads needed
  threads=$(block_threads "$2") threads=${threads:-1024}
  while read -r architecture registers spilled kernel; do
    printf '      %s %s: %s registers a thread, %s bytes spilled\n' "$architecture" "${kernel##*::}" "$registers" "$spilled"
    : $((++looked_at))
    needed=$(((registers * 32 + 255) / 256 * 256 * ((threads + 31) / 32)))
    check "a block of $threads threads of ${kernel##*::} fits $architecture" test "$needed" -le 65536
  done < <(kernels "$1")
}

i=0 looked_at=0
for file; do
  : $((++i))
  compile "$i" "$file" &
  [ $((i % 2)) -eq 1 ] || wait # two at a time
done
wait
i=0
for file; do
  : $((++i))
  code=$(cat "$work/$i.code") out=$(cat "$work/$i") err=''
  check "nvcc compiles ${file#"$course_root/"} without a warning" is "$code" 0
  out=''
  report "$work/$i" "$file"
done
check 'the assembler told of kernels' test "$looked_at" -gt 0
conclude
