#!/usr/bin/env bash
# Builds a judge, a player and answers as somebody does who has -ffast-math in CXXFLAGS, with which a compiler takes it that
# no number is NaN or infinite: NaN must fail all the same.
#   fast_math_test.sh BUILD      BUILD: whose compiler to use
set -u
course_root=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$1/CMakeCache.txt")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/build
# shellcheck source=tests/course/checks.sh
. "$course_root/tests/course/checks.sh"

configure() {
  CXXFLAGS=$1 CXX=$compiler cmake --fresh -S "$course_root" -B "$tree" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >"$work/out" 2>&1 || cat "$work/out"
}

# The commands that do not undo it. Options of the course come after those of CXXFLAGS.
still_fast() { grep '"command"' "$tree/compile_commands.json" | grep -vE -- '-fno-fast-math' || true; }

judge() {
  "$tree/bin/judge_lesson01" --registry "$course_root/lessons/registry.json" --player "$tree/bin/player_solo" \
    --subject "$tree/lib/lesson01_$1.so" >"$work/out" 2>&1 </dev/null
  code=$?
  out=$(cat "$work/out")
}

for flags in -Ofast -ffast-math; do
  configure "$flags"
  check "$flags: each command has it" has "$(grep -m1 '"command"' "$tree/compile_commands.json")" " $flags "
  check "$flags: and then the contrary" is "$(still_fast)" ''
done
cmake --build "$tree" --target judge_lesson01 player_solo lesson01_solution lesson01_mutant_masked_row_nan -j 2 >"$work/out" 2>&1 || cat "$work/out"
judge solution
check 'a right answer passes' is "$code" 0
judge mutant_masked_row_nan
check 'NaN fails' is "$code" 1
check 'and is told' has "$out" 'is nan'
conclude
