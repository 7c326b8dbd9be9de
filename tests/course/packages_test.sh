#!/usr/bin/env bash
# Tests common/packages.tsv: its form, and on Debian and Ubuntu with package lists at hand that every name is known there.
#   packages_test.sh           prints what is wrong; exit 1 when something is
set -u
course_root=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
packages=$course_root/common/packages.tsv
header=$'group\tdebian\tfedora\tarch\tbrew\tprobe\twhy'
wrong=0

complain() {
  echo "packages.tsv: $*"
  wrong=1
}

rows() { grep -v '^#' "$packages" | tail -n +2; }

[ "$(grep -v '^#' "$packages" | head -n 1)" = "$header" ] || complain "the first row should be: $header"
[ "$(rows | wc -l)" -ge 10 ] || complain 'it has fewer than ten rows'

while IFS= read -r row; do
  IFS=$'\t' read -r -a cell <<<"$row"
  [ ${#cell[@]} = 7 ] || complain "expected 7 cells, found ${#cell[@]}: $row"
  case ${cell[0]} in core | gpu | grade | bench | lab | all | docs | browser | editor) ;; *) complain "the group should be core, gpu, grade, bench, lab, all, docs, browser or editor: $row" ;; esac
  for text in "${cell[@]}"; do [ -n "$text" ] || complain "a cell is empty; - means none: $row"; done
done < <(rows)

grep -q $'^grade\tbubblewrap\t' "$packages" || complain 'bubblewrap, which ./course grade isolates with, is not in group grade'

twice=$(rows | cut -f 1,2 | sort | uniq -d)
[ -z "$twice" ] || complain "listed twice: $twice"

# .devcontainer installs all of them: its own script, with an apt-get that only writes down what it is asked for.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '#!/bin/sh\necho "$*" >>"%s/calls"\n' "$work" >"$work/apt-get"
printf '#!/bin/sh\necho "rm $*" >>"%s/calls"\n' "$work" >"$work/rm"
chmod +x "$work/apt-get" "$work/rm"
PATH="$work:$PATH" sh "$course_root/.devcontainer/install-packages.sh" "$packages" || complain 'install-packages.sh fails'
asked=$(sed -n 's/^install -y --no-install-recommends //p' "$work/calls" | tr ' ' '\n' | sort)
listed=$(rows | cut -f 2 | tr ' ' '\n' | grep -vx -- - | sort)
[ "$asked" = "$listed" ] || complain "the devcontainer installs: $asked; listed are: $listed"
[ "$(head -n 1 "$work/calls")" = update ] || complain 'the devcontainer does not refresh its package lists first'
for line in 'COPY common/packages.tsv .devcontainer/install-packages.sh /tmp/course/' \
  'RUN sh /tmp/course/install-packages.sh /tmp/course/packages.tsv'; do
  grep -qF "$line" "$course_root/.devcontainer/Dockerfile" || complain "the Dockerfile lacks: $line"
done

if command -v apt-cache >/dev/null && ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1; then
  grep -q '^ID=ubuntu' /etc/os-release && without=browser # ./course leaves them out there, too
  for name in $(rows | awk -F '\t' -v without="${without:-}" '$1 != without { print $2 }' | tr ' ' '\n' | grep -vx -- -); do
    apt-cache show "$name" >/dev/null 2>&1 || complain "there is no package $name for this system"
  done
fi

[ $wrong = 0 ] && echo "packages.tsv: $(rows | wc -l) rows are as they should be"
exit $wrong
