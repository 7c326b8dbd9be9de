# shellcheck shell=bash
# Sourced by tests of the course program: a copy of the course whose CMakeLists.txt is tests/course/miniature, with the real
# program, judge and player, and the real compile of the student's file. The caller's first argument is the build that they
# come from. Sets copy, student (the file of lesson 01) and work, a folder that is removed at the end.
course_root=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd -P -- "$1" && pwd)
work=$(mktemp -d) && work=$(cd -P -- "$work" && pwd)
trap 'rm -rf "$work"' EXIT
copy="$work/my course"
export COURSE_MINIATURE_FROM=$build
student="$copy/lessons/01_safe_softmax/safe_softmax.cpp"

# shellcheck source=tests/course/checks.sh
. "$course_root/tests/course/checks.sh"

# ---- a student's machine ----

make_copy() {
  mkdir -p "$copy/tests" "$copy/docs"
  cp -r "$course_root/common" "$course_root/lessons" "$course_root/solutions" "$course_root/CMakePresets.json" "$copy/"
  cp -r "$course_root/docs/primers" "$copy/docs/" # whose rows of mistakes several lessons share
  cp "$course_root/tests/course/miniature/CMakeLists.txt" "$copy/"
  local folder
  for folder in "$course_root"/tests/[0-9]* "$course_root"/tests/mistakes.md; do cp -r "$folder" "$copy/tests/"; done
  rm -f "$copy/lessons/01_safe_softmax/hints.md"
  course reset 01 # the checkout's own file may be a student's answer by now
  rm -rf "$copy/.course"
  (cd "$copy" && cmake --preset student >/dev/null) || exit 1
}

# Runs the program in the copy; sets code, out and err. Nothing may hang.
course() {
  COURSE_ROOT=$copy timeout 600 "$build/bin/course-program" "$@" \
    >"$work/out" 2>"$work/err" </dev/null
  code=$?
  out=$(cat "$work/out")
  err=$(cat "$work/err")
}

solve() { sed '/^ *\/\/[>|<]/d' "$copy/solutions/01_safe_softmax/safe_softmax.cpp" >"$student"; }

# A mistake that lesson 01 knows.
break_student() { cp "$build/candidates/lesson01/mutant/along_columns.cpp" "$student"; }
