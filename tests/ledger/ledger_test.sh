#!/usr/bin/env bash
# Holds the ledger's tables that need no run against the tree.
#   ledger_test.sh      prints a line a check and the totals; exit 1 when one fails
set -u
ledger=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/course/checks.sh
. "$ledger/../course/checks.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The first lines "// key: value" of a hostile submission say what has to come of it; tests/grader/hostile_test.cpp reads them.
hostile_expectations() {
  (cd "$ledger/../grader/hostile" && awk '
    FNR == 1 { first_lines = 1 }
    !/^\/\/ [^:]*: / { first_lines = 0 }
    first_lines && match($0, /^\/\/ (graded|public|namespaces|user|none): /) {
      attack = substr(FILENAME, 3)
      sub(/[.][^.]*$/, "", attack)
      print attack "\t" substr($0, 4, RLENGTH - 5) "\t" substr($0, RLENGTH + 1)
    }' ./*/*.cpp ./*/*.cu) | LC_ALL=C sort
}

hostile_expectations >"$work/hostile"
if [ -n "${COURSE_RECORD_LEDGER:-}" ]; then
  cp "$work/hostile" "$ledger/hostile.tsv"
fi
check 'hostile submissions are recorded' test -s "$ledger/hostile.tsv"
check 'none is expected to come out otherwise than recorded' is "$(LC_ALL=C comm -23 "$ledger/hostile.tsv" "$work/hostile")" ''

# Without its file a lesson's verdicts would be compared with nothing.
while IFS= read -r lesson; do
  check "$lesson has its verdicts" test -s "$ledger/verdicts/$lesson.tsv"
done < <(sed -n 's/^skeleton\.\(lesson[0-9]*\)\t.*/\1/p' "$ledger/tests.tsv")
conclude
