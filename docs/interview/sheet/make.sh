#!/usr/bin/env bash
# Prints the sheet, which is README.md beside this file: sheet.in, in it each lesson's list "On a whiteboard" and the rows on an
# H100 of numbers.md.
#   docs/interview/sheet/make.sh >docs/interview/sheet/README.md
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

# A number of the table as one says it: 989e12 as 989 · 10¹².
numbers() {
  awk -F ' *[|] *' '$2 ~ /^`h100_/ {
    value = $3
    gsub(/e12$/, " · 10¹²", value)
    gsub(/e9$/, " · 10⁹", value)
    print "- " value " " $4
  }' ../numbers.md
}

# The list of one lesson, under the lesson's name. How long it takes says the lesson alone.
whiteboard() {
  awk '
    FNR == 1 { sub(/^# /, ""); print "### " $0 }
    /^#/ { inside = 0 }
    inside && !/^Five minutes, from memory:$/ { print }
    /^### On a whiteboard$/ { inside = 1 }' "$1"
}

while IFS= read -r line; do
  case $line in
    @numbers@) numbers ;;
    @whiteboards@) for lesson in ../../../lessons/[0-9]*/README.md; do whiteboard "$lesson"; done ;;
    *) printf '%s\n' "$line" ;;
  esac
done <sheet.in | awk '!NF { blank = 1; next } { if (blank) print ""; blank = 0; print }' # one blank line, and none at the end
