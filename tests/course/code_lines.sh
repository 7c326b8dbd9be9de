#!/usr/bin/env bash
# Prints the lines of C++ code under common/, by folder and in all: without comments and blank lines, as they are formatted.
#   code_lines.sh [REVISION]      of a revision; by default of the files as they lie here
set -euo pipefail
cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
list() { if [ $# -gt 0 ]; then git ls-tree -r --name-only "$1" common; else git ls-files common; fi; }
text() { if [ $# -gt 1 ]; then git show "$2:$1"; else cat "$1"; fi; }

list "$@" | grep -E '\.(cpp|hpp)$' | while IFS= read -r file; do
  lines=$(text "$file" "$@" | ${CXX:-c++} -fpreprocessed -dD -E -P -x c++ - 2>/dev/null | grep -c .) || true
  printf '%s\t%s\n' "$(cut -d/ -f1-2 <<<"$file")" "$lines"
done | awk -F'\t' '{ of[$1] += $2; all += $2 } END { for (folder in of) printf "%7d  %s\n", of[folder], folder; printf "%7d  in all\n", all }' | sort -k2
