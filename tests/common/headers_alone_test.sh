#!/usr/bin/env bash
# Compiles each header of the course alone: it includes what it uses, which another library's <vector> may not bring along.
# Of the sources it knows one such place.
#   headers_alone_test.sh SOURCE COMPILERS FOLDERS [OPTION...]      the compilers and the folders of other headers, each list
#                                                  separated by semicolons; prints what the compilers say of those that fail
set -u
cd -- "$1" || exit 1
IFS=';' read -r -a compilers <<<"$2"
IFS=';' read -r -a folders <<<"$3"
shift 3
options=(-std=c++20 -fsyntax-only -DOMPI_SKIP_MPICXX=1 -I common -I common/gpu/include "$@")
for folder in "${folders[@]}"; do
  case $folder in '' | /usr/include) ;; *) options+=(-isystem "$folder") ;; esac
done
headers=$(find common lessons -name '*.hpp' -o -path '*/gpu/include/*' -name '*.h' | sort)

# compiles HEADER COMMAND...
# shellcheck disable=SC2317 # xargs calls it
compiles() {
  local header=$1 said
  shift
  said=$("$@" -x c++ -include "$header" /dev/null 2>&1) || printf '%s alone, %s:\n%s\n' "$header" "$1" "$said"
}
export -f compiles

wrong=0
for compiler in "${compilers[@]}"; do
  [ -n "$compiler" ] || continue
  said=$(printf '%s\n' "$headers" | xargs -P 2 -I '{}' bash -c 'compiles "$@"' compiles '{}' "$compiler" "${options[@]}")
  [ -z "$said" ] || wrong=1
  printf '%s\n%s: %d headers\n' "$said" "$compiler" "$(printf '%s\n' "$headers" | wc -l)"
done
# What one version of a library brings along and another does not: fmt::join, which fmt/format.h has up to fmt 10.
without=$(grep -rl 'fmt::join' common tests --include='*.[ch]pp' | xargs grep -L '<fmt/ranges.h>')
if [ -n "$without" ]; then
  printf 'fmt::join without <fmt/ranges.h>: %s\n' "${without//$'\n'/ }"
  wrong=1
fi
exit "$wrong"
