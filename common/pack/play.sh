#!/usr/bin/env bash
# Judges what was packed beside this file.
#   ./play [--backend sim|cuda] [--transport nccl|host] [--subject student|solution] [--seed N] [LESSON...]
#   without lessons: all; --transport host: MPI through the host's memory in NCCL's place, between CUDA devices
# Exit code: 0 all passed, 1 something failed, 2 wrong usage, 3 this machine lacks something.
set -euo pipefail
here=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)

fail() { # EXIT_CODE TEXT
  echo "play: $2" >&2
  exit "$1"
}

backend=sim transport=nccl subject=student seed=() lessons=()
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) sed -n '2,5s/^# *//p' "$0" && exit 0 ;;
    --backend | --transport | --subject | --seed) [ $# -gt 1 ] || fail 2 "$1: expected a word after it" ;;&
    --backend) backend=$2 && shift ;;
    --transport) transport=$2 && shift ;;
    --subject) subject=$2 && shift ;;
    --seed) seed=(--seed "$2") && shift ;;
    -*) fail 2 "$1: expected --backend, --transport, --subject or --seed" ;;
    *) lessons+=("$1") ;;
  esac
  shift
done
case $backend in sim | cuda) ;; *) fail 2 "--backend $backend: expected sim or cuda" ;; esac
case $transport in nccl | host) ;; *) fail 2 "--transport $transport: expected nccl or host" ;; esac
case $subject in student | solution) ;; *) fail 2 "--subject $subject: expected student or solution" ;; esac
[ ${#lessons[@]} -gt 0 ] || mapfile -t lessons < <(cut -f1 "$here/lessons.tsv")

export PATH=$here/bin:$PATH LD_LIBRARY_PATH=$here/libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# Where Open MPI finds itself; PMIx is within it.
export OPAL_PREFIX=$here/mpi OPAL_PKGLIBDIR=$here/mpi/plugins OPAL_PKGDATADIR=$here/mpi/share
export PMIX_INSTALL_PREFIX=$here/mpi PMIX_MCA_mca_base_component_show_load_errors=0
export OMPI_MCA_plm=isolated  # it starts ranks on this host alone, without ssh

if [ "$transport" = host ]; then
  [ -e "$here/staged" ] || fail 3 "--transport host: it was not packed, since the packing machine had no NCCL"
  export LD_LIBRARY_PATH=$here/staged:$LD_LIBRARY_PATH
fi

# NCCL is not packed: that of the machine, or of the PyTorch there.
find_nccl() { # LIBRARY
  ldd "$1" | grep -q 'libnccl.*not found' || return 0
  local found
  found=$(python3 -c 'import nvidia.nccl; print(list(nvidia.nccl.__path__)[0] + "/lib")' 2>/dev/null) ||
    fail 3 "this machine has no NCCL: expected libnccl.so.2 among its libraries, or the Python package nvidia-nccl"
  export LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$found
}

# Ranks that share a device pass for hosts of their own: NCCL refuses two ranks of one host on one device.
player_on_devices() { # PLAYER RANKS
  local devices
  devices=$(nvidia-smi -L 2>/dev/null | wc -l) || devices=0
  if [ "$2" -le "$devices" ] || [ "$transport" = host ]; then
    echo "$here/bin/$1"
  else
    echo "sh -c 'NCCL_HOSTID=rank\$OMPI_COMM_WORLD_RANK exec \"\$0\" \"\$@\"' $here/bin/$1"
  fi
}

result=0
for lesson in "${lessons[@]}"; do
  line=$(grep -P "^$lesson\t" "$here/lessons.tsv") || fail 2 "$lesson: expected one of $(cut -f1 "$here/lessons.tsv" | tr '\n' ' ')"
  IFS=$'\t' read -r _ player cuda_player ranks <<<"$line"
  library=$here/lib/lesson${lesson}_$subject.so player=$here/bin/$player
  if [ "$backend" = cuda ]; then
    library=${library%.so}_cuda.so
    player=$(player_on_devices "$cuda_player" "$ranks")
  fi
  [ -e "$library" ] || fail 3 "lesson $lesson: $(basename "$library") was not packed"
  [ "$backend" != cuda ] || find_nccl "$library"
  "$here/bin/judge_lesson$lesson" --registry "$here/lessons/registry.json" --player "$player" --subject "$library" \
    "${seed[@]}" --gtest_filter="lesson$lesson.*" || result=1
done
exit $result
