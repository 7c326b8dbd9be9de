#!/usr/bin/env bash
# Times an edit, in turns and in one run: the compiler alone on the lesson's file, and the whole of ./course check on it.
#   tests/course/edit_to_verdict.sh [05 ...]      the lessons given, or all; the machine should be idle
# The student's file holds the solution meanwhile and is put back at the end, also when this is interrupted. Prints the
# median of five rounds in seconds; check should stay under twice the compiler plus one second.
set -euo pipefail
cd "$(dirname "$0")/../.."

kept=$(mktemp -d)
put_back() {
  cp -a "$kept/lessons/." lessons/
  rm -r "$kept"
}
trap put_back EXIT
mkdir "$kept/lessons"

seconds() { # of the command given
  local begin=$EPOCHREALTIME
  "$@" >"$kept/said" 2>&1 || { cat "$kept/said" >&2; return 1; }
  echo "$begin $EPOCHREALTIME" | awk '{ print $2 - $1 }'
}

compile_alone() { # of a CUDA source what was last made of it
  (cd build && sh -c "$(ninja -t commands "lesson$1_student" | grep -E "/$2(\.cpp)?\$" | grep -v cuda-to-cpp)")
}

edit() { printf '// edit %s\n' "$EPOCHREALTIME" >>"$1"; }

median() { sort -n | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }

measure() {
  local id=$1 folder file round
  folder=$(basename lessons/"$id"_*)
  file=$(basename "$(find solutions/"$folder" -name '*.cpp' -o -name '*.cu' | head -n 1)")
  mkdir -p "$kept/lessons/$folder"
  cp -a "lessons/$folder/$file" "$kept/lessons/$folder/"
  cp "solutions/$folder/$file" "lessons/$folder/$file"
  ./course check "$id" >/dev/null
  for round in 1 2 3 4 5; do
    edit "lessons/$folder/$file"
    seconds compile_alone "$id" "lessons/$folder/$file" >>"$kept/compile.$id"
    edit "lessons/$folder/$file"
    seconds ./course check "$id" >>"$kept/check.$id"
  done
  printf '%-6s %12s %14s\n' "$id" "$(median <"$kept/compile.$id")" "$(median <"$kept/check.$id")"
}

printf '%-6s %12s %14s\n' lesson 'compiler' './course check'
[ $# -gt 0 ] || set -- $(cd lessons && printf '%s\n' */ | cut -d_ -f1)
for id in "$@"; do measure "$id"; done
