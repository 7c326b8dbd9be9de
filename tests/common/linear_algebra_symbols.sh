#!/usr/bin/env bash
# The Eigen inside linear_algebra shares no function with a lesson's own, which may be compiled with other options: the
# linker would keep one of two functions of a name.
#   linear_algebra_symbols.sh NM LIBRARY [SUBJECT]      SUBJECT: a lesson that calls gemm beside its own Eigen's product
set -u
nm=$1
library=$2
subject=${3:-}
failed=0

# check WHAT PATTERN COUNT NAMES: COUNT is none or some
check() {
  local found
  found=$(grep -E -c -- "$2" <<<"$4")
  if { [ "$3" = none ] && [ "$found" -eq 0 ]; } || { [ "$3" = some ] && [ "$found" -gt 0 ]; }; then return; fi
  printf 'FAILED  %s: %d symbols, expected %s\n' "$1" "$found" "$3"
  grep -E -- "$2" <<<"$4" | head -3
  failed=1
}

plain='(^|[^_[:alnum:]])Eigen::'
names=$("$nm" -C "$library")
check 'the library holds an Eigen of its own name' 'course_eigen::' some "$names"
check 'the library holds none of the name that lessons use' "$plain" none "$names"
if [ -n "$subject" ]; then
  names=$("$nm" -C "$subject")
  check "the subject holds gemm's Eigen" 'course_eigen::' some "$names"
  check 'the subject holds its own Eigen' "$plain" some "$names"
  check "the subject shows gemm's Eigen to nobody" 'course_eigen::' none "$("$nm" -DC --defined-only "$subject")"
fi
exit "$failed"
