#!/usr/bin/env bash
# Times the kernels and rings of lessons 09 to 12 on this machine's first CUDA device, beside PyTorch where that is.
#   ./bench [--backend cuda|sim] [--subject solution|student] [--part kernels|ring|pytorch]... [--json] [--out FOLDER]
#   without --subject: the solutions where they are here; without --part: all three; --out: where rows go as they come
#   (PART.rows.json); --backend sim: the same path on simulated GPUs, whose rates mean nothing
# Exit code: 0 timed, 1 something failed, 2 wrong usage, 3 this machine lacks a device or what was to be timed.
set -uo pipefail
here=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=common/pack/environment.sh
. "$here/environment.sh"

backend=cuda subject='' parts=() json='' out='' build=''
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) sed -n '2,6s/^# *//p' "$0" && exit 0 ;;
    --backend | --subject | --part | --out | --build) [ $# -gt 1 ] || fail 2 "$1: expected a word after it" ;;&
    --backend) backend=$2 && shift ;;
    --subject) subject=$2 && shift ;;
    --part) parts+=("$2") && shift ;;
    --json) json=--json ;;
    --out) out=$2 && shift ;;
    --build) build=$2 && shift ;; # ./course bench: what was built there, not what was packed
    *) fail 2 "$1: expected --backend, --subject, --part, --json or --out" ;;
  esac
  shift
done
[ ${#parts[@]} -gt 0 ] || parts=(kernels ring pytorch)
case $backend in sim | cuda) ;; *) fail 2 "--backend $backend: expected sim or cuda" ;; esac
case $subject in '' | solution | student) ;; *) fail 2 "--subject $subject: expected solution or student" ;; esac
for part in "${parts[@]}"; do
  case $part in kernels | ring | pytorch) ;; *) fail 2 "--part $part: expected kernels, ring or pytorch" ;; esac
done

if [ -n "$build" ]; then
  programs=$build/bin staged=$build/lib/staged
else
  programs=$here/bin staged=$here/staged
  use_packed
fi
if [ -z "$subject" ]; then
  subject=student
  ! compgen -G "$programs/device_*_solution" >/dev/null || subject=solution
fi
[ -e "$programs/device_report" ] || fail 3 "$programs has no benchmark: no lesson was packed that needs a GPU"
ending='' size=(--tiny)
[ "$backend" = sim ] || ending=_cuda size=()
if [ -z "$out" ]; then
  out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
fi
mkdir -p "$out"
result=0 no_device=''

# The exit code that counts: that this machine lacks something only where nothing else was wrong.
note_code() {
  case $1 in
    0) ;;
    3) [ "$result" != 0 ] || result=3 ;;
    *) result=1 ;; # a crash and a timeout, too
  esac
}

kernels() {
  local program=$programs/device_bench_$subject$ending
  [ -e "$program" ] || { echo "kernels: $(basename "$program") was not packed" && note_code 3 && return; }
  "$program" "${size[@]}" --rows "$out/kernels.rows.json"
  note_code $?
  [ "$result" != 3 ] || no_device=yes
}

# One way to carry messages; returns whether it did. A wrong answer is one however it came, and what an attempt that failed has
# measured does not count.
ring_through() { # NAME COUNT WORDS WORD...
  local name=$1 count=$2 words=$3 one rows code
  shift 3
  one=${CUDA_VISIBLE_DEVICES:-0}
  rows=$out/ring$count.$name.rows.json
  CUDA_VISIBLE_DEVICES=${one%%,*} ranks 18 "$count" "$@" "$ring_program" "${size[@]}" --rows "$rows" --transport "$words"
  code=$?
  [ $code != 1 ] || note_code 1
  [ $code = 0 ] || rm -f "$rows"
  return $code
}

# NCCL, if it can be brought to have two ranks on one device: newer ones by a setting, others where each rank passes for a host of
# its own.
ring_through_nccl() { # COUNT
  find_nccl "$ring_program" || { echo "ring of $1: $no_nccl" && return 1; }
  ring_through nccl "$1" 'NCCL (NCCL_MULTI_RANK_GPU_ENABLE)' env NCCL_MULTI_RANK_GPU_ENABLE=1 ||
    ring_through nccl "$1" 'NCCL (NCCL_HOSTID)' sh -c "$host_of_its_own"
}

# Besides through what stands in for NCCL, by way of the host.
ring_of() { # COUNT
  local count=$1
  if [ "$backend" = sim ]; then
    ring_through simulated "$count" 'the simulated NCCL' env
    note_code $?
    return
  fi
  [ "$through_nccl" = no ] || ring_through_nccl "$count" || through_nccl=no # what did not go will not with more ranks
  [ "$through_nccl" = yes ] || echo "ring of $count: not through NCCL"
  (use_staged "$staged" && ring_through staged "$count" 'the host (staged)' env)
  note_code $?
}

ring() {
  ring_program=$programs/device_ring_$subject$ending
  [ -e "$ring_program" ] || { echo "ring: $(basename "$ring_program") was not packed" && note_code 3 && return; }
  local count through_nccl=yes
  for count in 2 4; do ring_of "$count"; done
}

pytorch() {
  [ "$backend" = cuda ] || { echo 'pytorch: left out, since PyTorch knows no simulated GPU' && return; }
  command -v python3 >/dev/null || { echo 'pytorch: left out: there is no python3' && return; }
  on_the_machine python3 "$here/pytorch_rows.py" --kernels "$out/kernels.rows.json" --rows "$out/pytorch.rows.json"
  note_code $?
}

# With --json stdout is for the report alone.
for part in "${parts[@]}"; do
  if [ -n "$json" ]; then $part >&2; else $part; fi
  [ -z "$no_device" ] || break
done
[ -z "$json" ] || "$programs/device_report" "$out"
exit $result
