#!/usr/bin/env bash
# Makes Gradescope's image, once, as root and with a network: installs the packages, builds what grades, and tries it on the
# course's own solutions. Ends with another code than 0, and says why, when these do not get all points.
#   AUTOGRADER_ROOT      where it works instead of /autograder
set -euo pipefail
root=${AUTOGRADER_ROOT:-/autograder}
source=$root/source
course=$(CDPATH='' cd -P -- "$source/course" && pwd)
trial=$(mktemp -d)
trap 'rm -rf "$trial"' EXIT

lessons=()
[ ! -s "$source/lessons.txt" ] || read -r -d '' -a lessons <"$source/lessons.txt" || true
points=()
[ ! -s "$source/points.json" ] || points=(--points "$source/points.json")
chmod +x "$course/course" "$source/run_autograder"

# As run_autograder does: where other users could read the solutions, nothing is graded.
chmod go-rwx "$source"
# The image is used on other machines than the one that makes it.
export COURSE_PORTABLE=1
find "$course/solutions" \( -name '*.cpp' -o -name '*.cu' \) -exec cp -t "$trial" {} +
(cd "$course" && ./course grade ${lessons[@]+"${lessons[@]}"} ${points[@]+"${points[@]}"} \
  --submission "$trial" --output "$trial/report.txt")
cat "$trial/report.txt"
if ! awk '/ of [0-9]+ points$/ && $(NF - 3) != $(NF - 1) { wrong = 1 } END { exit wrong }' "$trial/report.txt"; then
  echo 'setup.sh: the solutions do not get all points in this image: it cannot grade' >&2
  exit 1
fi
