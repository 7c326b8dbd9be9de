# An instructor's checkout of this course, $instructor, in a folder $work that goes away: the tracked files and the new
# ones as they lie here, committed. Sourced by the tests of this folder; ends them with 77 where there is no git history.
# shellcheck shell=bash disable=SC2154
work=$(mktemp -d) && work=$(cd -P -- "$work" && pwd)
trap 'rm -rf "$work"' EXIT
instructor="$work/the course"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=someone GIT_AUTHOR_EMAIL=someone@localhost
export GIT_COMMITTER_NAME=someone GIT_COMMITTER_EMAIL=someone@localhost
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE

commit_all() { git -C "$1" add --all && git -C "$1" commit --quiet --message "$2"; }

make_instructor() {
  if ! git -c safe.directory='*' -C "$course_root" rev-parse --git-dir >/dev/null 2>&1; then
    echo 'this checkout has no git history, or there is no git'
    exit 77
  fi
  mkdir "$instructor"
  (cd "$course_root" && git -c safe.directory='*' ls-files -z --cached --others --exclude-standard |
    while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done |
    tar --null --files-from=- -c) | tar -x -C "$instructor"
  git init --quiet --initial-branch=main "$instructor"
  commit_all "$instructor" 'the course'
}
