#!/usr/bin/env bash
# Holds the sheet against what it is made of, and the plans for an interview against the clock and against what there is to type.
set -uo pipefail
root=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=tests/course/checks.sh
. "$root/tests/course/checks.sh"
bank=$root/docs/interview
sheet=$bank/sheet/README.md
plans=$bank/README.md

# ---- the sheet ----

made=$("$bank/sheet/make.sh")
check 'the sheet is what make.sh prints (docs/interview/sheet/make.sh >docs/interview/sheet/README.md)' is \
  "$(diff <(printf '%s\n' "$made") "$sheet")" ''
check 'every lesson has its whiteboard on it' is "$(grep -cE '^### [0-9]{2} · ' "$sheet")" \
  "$(find "$root/lessons" -maxdepth 1 -type d -name '[0-9]*' | wc -l)"
check 'and no whiteboard is empty' is "$(awk '/^### / { if (name && lines < 4) print name; name = $0; lines = 0 } /./ { ++lines }' "$sheet")" ''
check 'six formulas' is "$(awk '/^## Six formulas/ { inside = 1; next } /^## / { inside = 0 } inside && /^[0-9]\. /' "$sheet" | wc -l)" 6
check 'four sketches' is "$(grep -c '^!\[' "$sheet")" 4
check "the H100's numbers" is "$(awk '/^## An H100/ { inside = 1; next } /^## / { inside = 0 } inside && /^- /' "$sheet" | wc -l)" \
  "$(grep -c '^| `h100_' "$bank/numbers.md")"

# ---- the plans ----

# The sum of the minutes of each table of section $1.
minutes() {
  awk -v section="## $1" '
    $0 == section { inside = 1; next }
    /^## / { inside = 0 }
    inside && /^\| minutes / { table = 1; sum = 0 }
    table && /^\| [0-9]+ \|/ { sum += $2 }
    table && !/^\|/ { print sum; table = 0 }' "$plans"
}
check 'the plan for 90 minutes takes 90' is "$(minutes '90 minutes')" 90
check 'each of the two days takes five hours and a half' is "$(minutes 'Two days')" $'330\n330'
check 'as is said' grep -q '^Each day.s minutes add up to five hours and a half\.$' "$plans"

# The commands of the plans.
# shellcheck disable=SC2016  # no expansion is meant
commands() { awk '/^## The questions/ { exit } { print }' "$plans" | grep -oE '`\./course [^`]*`' | tr -d '`' | sort -u; }
while read -r _ command rest; do
  case $command in
    drill)
      check "drill $rest: there is such a task" grep -qE "^/// Task ${rest#*.}\." "$root"/lessons/"${rest%.*}"_*/*.hpp
      ;;
    quiz)
      if [[ $rest =~ --topic\ ([a-z-]+) ]]; then
        topic=${BASH_REMATCH[1]}
        check "quiz --topic $topic: there is such a page" test -f "$bank/$topic.md"
        count=$(grep -c '^lesson: ' "$bank/$topic.md")
        [[ ! $rest =~ --count\ ([0-9]+) ]] || check "$topic has ${BASH_REMATCH[1]} questions" test "$count" -ge "${BASH_REMATCH[1]}"
      elif [[ $rest =~ --lessons\ 0([0-9])-0([0-9])\ --classics\ --count\ ([0-9]+) ]]; then
        within=0[${BASH_REMATCH[1]}-${BASH_REMATCH[2]}]
        count=$(cat "$bank"/*.md | grep -cE "^lesson: $within( $within)* · difficulty: [1-3] · classic")
        check "there are ${BASH_REMATCH[3]} classics on these lessons" test "$count" -ge "${BASH_REMATCH[3]}"
      fi
      ;;
    hint | '') ;;
    *) check "the plans' ./course $command is a command" grep -q "^  $command " "$root/course" ;;
  esac
done < <(commands)
check 'the plans name commands' test "$(commands | wc -l)" -gt 15

# Each plan begins on a page's first screen.
check 'the README says so on its first screen' is "$(head -n 20 "$root/README.md" | grep -ciE 'interview.*\(docs/interview/README\.md#90-minutes\)')" 1

conclude
