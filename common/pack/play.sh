#!/usr/bin/env bash
# Judges what was packed beside this file.
#   ./play [--backend sim|cuda] [--transport nccl|host] [--subject NAME] [--test TEST] [--seed N] [LESSON...]
#   without lessons: all; --transport host: MPI through the host's memory in NCCL's place, between CUDA devices
#   --subject student, solution or, as candidates.tsv has them, KIND_ID, such as mutant_barrier_missing; --test 2 or 3.ranks5
# Exit code: 0 all passed, 1 something failed, 2 wrong usage, 3 this machine lacks something.
set -euo pipefail
here=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=common/pack/environment.sh
. "$here/environment.sh"

backend=sim transport=nccl subject=student test='*' seed=() lessons=()
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) sed -n '2,6s/^# *//p' "$0" && exit 0 ;;
    --backend | --transport | --subject | --test | --seed) [ $# -gt 1 ] || fail 2 "$1: expected a word after it" ;;&
    --backend) backend=$2 && shift ;;
    --transport) transport=$2 && shift ;;
    --subject) subject=$2 && shift ;;
    --test) test=$2 && shift ;;
    --seed) seed=(--seed "$2") && shift ;;
    -*) fail 2 "$1: expected --backend, --transport, --subject, --test or --seed" ;;
    *) lessons+=("$1") ;;
  esac
  shift
done
case $backend in sim | cuda) ;; *) fail 2 "--backend $backend: expected sim or cuda" ;; esac
case $transport in nccl | host) ;; *) fail 2 "--transport $transport: expected nccl or host" ;; esac
case $subject in '' | *[!a-z0-9_]*) fail 2 "--subject $subject: expected student, solution or a name of candidates.tsv" ;; esac
[ ${#lessons[@]} -gt 0 ] || mapfile -t lessons < <(cut -f1 "$here/lessons.tsv")

use_packed
[ "$transport" = nccl ] || use_staged "$here/staged"

# Sets player to the words of the command that plays so many ranks on the devices.
choose_player_on_devices() { # PLAYER RANKS
  local devices
  devices=$(on_the_machine nvidia-smi -L 2>/dev/null | wc -l) || devices=0
  player=("$here/bin/$1")
  [ "$2" -le "$devices" ] || [ "$transport" = host ] || player=(sh -c "$host_of_its_own" "$here/bin/$1")
}

result=0
for lesson in "${lessons[@]}"; do
  line=$(grep -P "^$lesson\t" "$here/lessons.tsv") || fail 2 "$lesson: expected one of $(cut -f1 "$here/lessons.tsv" | tr '\n' ' ')"
  IFS=$'\t' read -r _ simulated_player cuda_player ranks <<<"$line"
  library=$here/lib/lesson${lesson}_$subject.so player=("$here/bin/$simulated_player")
  if [ "$backend" = cuda ]; then
    library=${library%.so}_cuda.so
    choose_player_on_devices "$cuda_player" "$ranks"
  fi
  [ -e "$library" ] || fail 3 "lesson $lesson: $(basename "$library") was not packed"
  [ "$backend" != cuda ] || find_nccl "$library" || fail 3 "$no_nccl"
  judge=("$here/bin/judge_lesson$lesson" --registry "$here/lessons/registry.json" "${player[@]/#/--player=}" --subject "$library"
    "${seed[@]}" --gtest_filter="lesson$lesson.$test")
  # The last one in this process's place: who ends this ends it.
  [ "$result" != 0 ] || [ "$lesson" != "${lessons[-1]}" ] || exec "${judge[@]}"
  "${judge[@]}" || result=1
done
exit $result
