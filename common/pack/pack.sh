#!/usr/bin/env bash
# Puts judges, players and submissions into a folder that needs nothing of the machine it is taken to but a C library as
# new as this one's: ./course pack calls this with what it has built.
#   pack.sh ROOT BUILD TABLE FOLDER        TABLE has a line a lesson: id, folder, player, player on CUDA devices, most ranks
set -euo pipefail
root=$1 build=$2 table=$3 folder=$4
here=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)

# The C library and the driver are the other machine's; NCCL has 200 MB, and comes with PyTorch, too.
not_packed='/(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|anl|cuda|nccl))\.so'

# The libraries that the files stand on.
libraries_of() {
  ldd "$@" 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u | grep -Ev "$not_packed" || true
}

# Sets the part of Open MPI's installation that is found by its path.
find_open_mpi() {
  local paths
  paths=$(ompi_info --parsable --path all)
  plugins=$(sed -n '0,/^path:pkglibdir:/s/^path:pkglibdir://p' <<<"$paths")
  texts=$(sed -n '0,/^path:pkgdatadir:/s/^path:pkgdatadir://p' <<<"$paths")
  if ! mpirun --version | grep -q '(Open MPI) 4'; then
    echo "pack.sh: expected Open MPI 4, whose mpirun starts ranks by itself; this is $(mpirun --version | head -1)" >&2
    exit 3
  fi
}

mkdir -p "$folder"/bin "$folder"/lib "$folder"/libraries "$folder"/mpi/plugins "$folder"/mpi/share "$folder"/lessons "$folder"/tests
while read -r id name player cuda_player ranks; do
  printf '%s\t%s\t%s\t%s\n' "$id" "$player" "$cuda_player" "$ranks" >>"$folder/lessons.tsv"
  cp "$build/bin/judge_lesson$id" "$build/bin/$player" "$build/bin/$cuda_player" "$folder/bin/"
  for subject in student solution student_cuda solution_cuda; do
    [ ! -e "$build/lib/lesson${id}_$subject.so" ] || cp "$build/lib/lesson${id}_$subject.so" "$folder/lib/"
  done
  mkdir "$folder/tests/$name"
  cp "$root/tests/$name/mistakes.md" "$folder/tests/$name/"
done <"$table"
cp "$root/lessons/registry.json" "$folder/lessons/"
cp "$root/tests/mistakes.md" "$folder/tests/"
cp "$here/play.sh" "$folder/play"
[ ! -e "$build/lib/staged" ] || cp -r "$build/lib/staged" "$folder/staged"

find_open_mpi
cp -L "$(command -v mpirun)" "$folder/bin/mpirun"
cp "$plugins"/*.so "$folder/mpi/plugins/"
cp -r "$texts"/. "$folder/mpi/share/"
mapfile -t libraries < <(libraries_of "$folder"/bin/* "$folder"/lib/*.so "$folder"/staged/*.so* "$folder"/mpi/plugins/*.so)
cp -L "${libraries[@]}" "$folder/libraries/"
