#!/usr/bin/env bash
# Puts judges, players and submissions into a folder that needs nothing of the machine it is taken to but a C library as
# new as this one's: ./course pack calls this with what it has built.
#   pack.sh ROOT BUILD TABLE FOLDER        TABLE has a line a lesson: id, folder, player, player on CUDA devices, most ranks
set -euo pipefail
root=$1 build=$2 table=$3 folder=$4
here=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)

# The C library and the driver are the other machine's; NCCL has 200 MB, and comes with PyTorch, too.
not_packed='/(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|anl|cuda|nccl))\.so'

# What Open MPI has for networks and for OpenSHMEM, with the libraries that it stands on: ranks are on one host.
not_on_one_host='mca_(btl_(openib|ofi|uct|usnic)|mtl_|pml_(ucx|cm|yalla)|osc_ucx|common_(ofi|ucx|verbs)|atomic_|memheap_|scoll_|spml_|sshmem_)'

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

copy_if_there() { # FILE FOLDER
  [ ! -e "$1" ] || cp "$1" "$2"
}

# The other answers to a lesson (tests/corpus/device.tsv), without the names of their lines: nobody corrects them.
pack_candidates() { # LESSON
  local kind name test by subject
  [ -e "$root/tests/corpus/device.tsv" ] || return 0
  while IFS=$'\t' read -r _ kind name test by; do
    for subject in "${kind}_$name" "${kind}_${name}_cuda"; do
      [ ! -e "$build/lib/lesson$1_$subject.so" ] || strip -o "$folder/lib/lesson$1_$subject.so" "$build/lib/lesson$1_$subject.so"
    done
    [ ! -e "$build/lib/lesson$1_${kind}_$name.so" ] || printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$kind" "$name" "$test" "$by" >>"$folder/candidates.tsv"
  done < <(grep "^$1"$'\t' "$root/tests/corpus/device.tsv")
}

mkdir -p "$folder"/bin "$folder"/lib "$folder"/libraries "$folder"/mpi/plugins "$folder"/mpi/share "$folder"/lessons "$folder"/tests
while read -r id name player cuda_player ranks; do
  printf '%s\t%s\t%s\t%s\n' "$id" "$player" "$cuda_player" "$ranks" >>"$folder/lessons.tsv"
  cp "$build/bin/judge_lesson$id" "$build/bin/$player" "$build/bin/$cuda_player" "$folder/bin/"
  for subject in student solution student_cuda solution_cuda; do
    copy_if_there "$build/lib/lesson${id}_$subject.so" "$folder/lib/"
  done
  pack_candidates "$id"
  mkdir "$folder/tests/$name"
  cp "$root/tests/$name/mistakes.md" "$folder/tests/$name/"
  copy_if_there "$root/tests/$name/outcomes.tsv" "$folder/tests/$name/"
done <"$table"
cp "$root/lessons/registry.json" "$folder/lessons/"
cp "$root/tests/mistakes.md" "$folder/tests/"
: >>"$folder/candidates.tsv"
for script in play bench everything; do
  cp "$here/$script.sh" "$folder/$script"
  chmod +x "$folder/$script"
done
cp "$here/environment.sh" "$here/pytorch_rows.py" "$here/README" "$folder/"
for program in device_report device_{bench,ring}_{student,solution}{,_cuda}; do
  copy_if_there "$build/bin/$program" "$folder/bin/"
done
[ ! -e "$build/lib/staged" ] || cp -r "$build/lib/staged" "$folder/staged"

find_open_mpi
cp -L "$(command -v mpirun)" "$folder/bin/mpirun"
for plugin in "$plugins"/*.so; do
  [[ $plugin =~ $not_on_one_host ]] || cp "$plugin" "$folder/mpi/plugins/"
done
cp -r "$texts"/. "$folder/mpi/share/"
mapfile -t libraries < <(libraries_of "$folder"/bin/* "$folder"/lib/*.so "$folder"/staged/*.so* "$folder"/mpi/plugins/*.so)
cp -L "${libraries[@]}" "$folder/libraries/"
# Lines are told of answers alone, in which a simulated GPU finds mistakes.
strip "$folder"/bin/* "$folder"/staged/*.so* "$folder"/libraries/* "$folder"/lib/*_cuda.so 2>/dev/null || true

# What a machine is lent with may take no more.
most_bytes=$((60 << 20))
bytes=$(du -sb "$folder" | cut -f1)
[ "$bytes" -le $most_bytes ] || echo "pack.sh: $folder has $((bytes >> 20)) MiB, expected $((most_bytes >> 20)) at most; --lessons packs fewer" >&2
