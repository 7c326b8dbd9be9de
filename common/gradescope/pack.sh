#!/usr/bin/env bash
# Makes the zip that is uploaded to Gradescope: setup.sh, run_autograder, what to grade, and the course as committed.
#   pack.sh autograder.zip [--points FILE] [LESSON ...]      without lessons, all
set -euo pipefail
here=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
course=$(cd -P -- "$here/../.." && pwd)

quit() {
  echo "pack.sh: ${*:2}" >&2
  exit "$1"
}

usage='usage: pack.sh autograder.zip [--points FILE] [LESSON ...]'
[ $# -gt 0 ] || quit 2 "$usage"
case $1 in *.zip) zip=$(cd -- "$(dirname -- "$1")" && pwd)/$(basename -- "$1") ;; *) quit 2 "expected a name that ends in .zip, not '$1'; $usage" ;; esac
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
lessons=() points=''
while [ $# -gt 0 ]; do
  case $1 in
    --points)
      [ -f "${2:-}" ] || quit 2 "--points: there is no file '${2:-}'"
      points=$2
      shift
      ;;
    -*) quit 2 "there is no option '$1'; $usage" ;;
    *) lessons+=("$1") ;;
  esac
  shift
done

# Who packs may be somebody else than the owner of the course, as root in a container is.
git() { command git -c safe.directory='*' "$@"; }
git -C "$course" rev-parse --git-dir >/dev/null 2>&1 || quit 3 "$course is no git checkout: there is no commit to pack"
[ -z "$(git -C "$course" status --porcelain)" ] || echo 'pack.sh: what is not committed is not packed' >&2
packed=$(git -C "$course" ls-tree --name-only HEAD lessons/ | sed -n 's#^lessons/\([0-9][0-9]_\)#\1#p')

# Whether $1 names a lesson that is packed: 05, 5, ring_attention or lessons/05_ring_attention.
is_lesson() {
  local folder id name=${1#./}
  name=${name#lessons/} && name=${name%%/*}
  for folder in $packed; do
    id=${folder%%_*}
    case $name in "$folder" | "$id" | "${id#0}" | "${folder#*_}") return 0 ;; esac
  done
  return 1
}

for argument in ${lessons[@]+"${lessons[@]}"}; do
  IFS=,- read -ra names <<<"$argument"
  for name in "${names[@]-}"; do
    is_lesson "$name" || quit 2 "there is no lesson '$name'; there are: ${packed//$'\n'/, }"
  done
done
# Has the grader read the points, as for a submission of nothing: what it refuses there would fail every student's grade.
look_at_points() {
  local said code=0
  echo "pack.sh: the grader looks at $points" >&2
  mkdir "$work/nobody"
  said=$("$course/course" --no-install grade ${lessons[@]+"${lessons[@]}"} --points "$points" --prepared --isolation none \
    --submission "$work/nobody" 2>&1 >/dev/null </dev/null) || code=$?
  rmdir "$work/nobody"
  said=${said##*$'\n'}
  [ $code != 2 ] || quit 2 "${said#course: }"
  [ $code = 0 ] || echo "pack.sh: the points were not looked at: ${said#course: }" >&2
  cp -- "$points" "$work/points.json"
}

[ -z "$points" ] || look_at_points
git clone --quiet --depth 1 --upload-pack "git -c safe.directory='*' upload-pack" "file://$course" "$work/course"
# Gradescope unpacks without run bits, which is no change of the course: reports name its commit without "-dirty".
git -C "$work/course" config core.fileMode false
cp "$here/setup.sh" "$here/run_autograder" "$work/"
printf '%s\n' "${lessons[*]-}" >"$work/lessons.txt"
(cd "$work" && cmake -E tar cf "$work.zip" --format=zip -- *)
mv -f "$work.zip" "$zip"
echo "$zip: lessons ${lessons[*]:-all}, commit $(git -C "$work/course" rev-parse --short=12 HEAD)"
