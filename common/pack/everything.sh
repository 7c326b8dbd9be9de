#!/usr/bin/env bash
# All that is to be learnt of a machine with a CUDA device, in eleven minutes at most, the most telling first.
#   ./everything [--dry-run] [--out FOLDER]
#   leaves FOLDER/report.txt and FOLDER/report.json (by default in report/ beside this file), written anew after each step, so that
#   a run that is cut off leaves what it had; --dry-run: the same path on simulated GPUs, which says that it can be gone
# Exit code: 0 every step ended with 0, 1 one did not, 2 wrong usage, 3 there is no device, 143 it was cut off.
set -uo pipefail
here=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=common/pack/environment.sh
. "$here/environment.sh"

# Seconds for all, and for a step that does not end when it is asked to.
all_s=660 grace_s=3
# Each step's limit; with the grace of each they are no more than that.
steps=(facts:10 answers:85 kernels:110 ring:115 pytorch:80 right_answers:70 mutants:75 sanitizers:75)

backend=cuda out=$here/report only=''
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) sed -n '2,6s/^# *//p' "$0" && exit 0 ;;
    --out | --step) [ $# -gt 1 ] || fail 2 "$1: expected a word after it" ;;&
    --dry-run) backend=sim ;;
    --out) out=$2 && shift ;;
    --step) only=$2 && shift ;; # of this script itself
    *) fail 2 "$1: expected --dry-run or --out" ;;
  esac
  shift
done

# ---- what the steps do ----

# Notes what came of one answer: candidates and sanitizers go into the report by themselves.
note_check() { # WHAT LESSON NAME BY OUTCOME
  printf '%s\t%s\t%s\t%s\t%s\n' "$@" >>"$out/checks.tsv"
  printf '%s: lesson %s, %s%s: %s\n' "$1" "$2" "$3" "$([ "$4" = - ] || echo " ($4)")" "$5"
}

facts() {
  if [ "$backend" = sim ]; then
    echo 'simulated, not measured: no device is looked at'
    return
  fi
  on_the_machine nvidia-smi || return 3
  clocks
  on_the_machine nvcc --version 2>/dev/null | tail -n 2
  on_the_machine python3 -c 'import torch; print("PyTorch", torch.__version__, "NCCL", torch.cuda.nccl.version())' 2>&1 | tail -n 1
  return 0 # what else is missing, later steps leave out
}

# Clocks and power as they are: nothing is set.
clocks() {
  on_the_machine nvidia-smi --format=csv,noheader \
    --query-gpu=clocks.sm,clocks.mem,clocks.max.sm,power.draw,power.limit,temperature.gpu,clocks_event_reasons.active
}

# --foreground, here and below: what ends a step ends all that it has begun.
play() { # LIMIT WORD...
  timeout --foreground -k 1 "$1" "$here/play" --backend "$backend" "${@:2}"
}

# Plays an answer that is right, and shows what was said only where it fails.
check_right() { # LIMIT WHAT LESSON SUBJECT [WORD...]
  local said code
  said=$(play "$1" --subject "$4" "${@:5}" "$3" 2>&1)
  code=$?
  note_check "$2" "$3" "$4" "${6:--}" "$(right_outcome $code)"
  [ $code = 0 ] || echo "$said"
  return $code
}

right_outcome() { # CODE
  case $1 in 0) echo passed ;; 1) echo failed ;; 124 | 137) echo 'took too long' ;; *) echo "not played, exit $1" ;; esac
}

# Lesson 12 through NCCL; if it cannot be, later steps go through the host, too.
answers() {
  local lesson result=0
  for lesson in $(packed_lessons); do
    [ "$lesson" != 12 ] || continue
    check_right 20 solution "$lesson" solution || result=1
  done
  [[ " $(packed_lessons) " == *' 12 '* ]] || return $result
  check_right 40 solution 12 solution && return $result
  [ "$backend" = cuda ] || return 1
  check_right 30 'solution through the host' 12 solution --transport host && echo host >"$out/transport"
  return 1
}

packed_lessons() { cut -f1 "$here/lessons.tsv" | tr '\n' ' '; }

# How lesson 12's messages travel here, as words for play.
transport_of() { # LESSON
  [ "$1" != 12 ] || [ ! -s "$out/transport" ] || echo '--transport host'
}

# Calls a function with each line of candidates.tsv that has one of these kinds: lesson, kind, name, test, by.
for_each_candidate() { # KINDS FUNCTION
  local lesson kind name test by
  while IFS=$'\t' read -r lesson kind name test by <&3; do
    [[ " $1 " != *" $kind "* ]] || "$2" "$lesson" "$kind" "$name" "$test" "$by"
  done 3<"$here/candidates.tsv"
}

right_answer() {
  # shellcheck disable=SC2046  # words
  check_right 15 'right answer' "$1" "$2_$3" $(transport_of "$1") || result=1
}

right_answers() {
  local result=0
  for_each_candidate 'variant corpus_right' right_answer
  return $result
}

# A mutant that is not caught is no failure: a race may go well.
mutant() {
  local said code outcome
  # shellcheck disable=SC2046  # words
  said=$(play 12 --subject "$2_$3" --test "$4" $(transport_of "$1") "$1" 2>&1)
  code=$?
  case $code in
    0) outcome='passes here' ;;
    1) outcome="caught: $(grep -m1 '^FAIL' <<<"$said")" ;;
    124 | 137) outcome='caught: it did not end' ;;
    *) outcome="not played, exit $code: $(tail -n 1 <<<"$said")" result=1 ;;
  esac
  note_check mutant "$1" "$3" "$5" "$outcome"
}

mutants() {
  local result=0
  for_each_candidate mutant mutant
  return $result
}

kernels() {
  local watcher='' code
  if [ "$backend" = cuda ]; then
    while clocks; do sleep 5; done >"$out/clocks.txt" 2>&1 &
    watcher=$!
  fi
  "$here/bench" --backend "$backend" --part kernels --out "$out"
  code=$?
  [ -z "$watcher" ] || { kill "$watcher" 2>/dev/null && echo 'clocks and power meanwhile, every 5 s:' && cat "$out/clocks.txt"; }
  return $code
}

ring() { "$here/bench" --backend "$backend" --part ring --out "$out"; }
pytorch() { "$here/bench" --backend "$backend" --part pytorch --out "$out"; }

# ---- compute-sanitizer ----

# Sets sanitizer to its place, or to nothing.
find_sanitizer() {
  local place
  for place in "$(command -v compute-sanitizer)" /usr/local/cuda/bin/compute-sanitizer; do
    sanitizer=$place
    [ -z "$place" ] || [ ! -x "$place" ] || return 0
  done
  sanitizer=''
}

# Plays one case of each test with a shared object, on a device under a tool of the sanitizer's, on the simulator under its own eyes.
# Sets outcome.
look_at() { # TOOL LESSON SUBJECT TEST...
  local tool=$1 lesson=$2 subject=$3 test player simulated_player cuda_player cases=() under=() library said code
  IFS=$'\t' read -r _ simulated_player cuda_player _ < <(grep -P "^$lesson\t" "$here/lessons.tsv")
  shift 3
  for test in "$@"; do
    cases+=("$out/cases/$lesson.$subject.$tool.$test")
    "$here/bin/judge_lesson$lesson" --registry "$here/lessons/registry.json" --write-case "${cases[-1]}" --task "${test%%.*}" \
      --ranks 1 >/dev/null || { outcome='no case could be written' && return 1; }
  done
  library=$here/lib/lesson${lesson}_$subject.so player=$here/bin/$simulated_player
  if [ "$backend" = cuda ]; then
    library=${library%.so}_cuda.so player=$here/bin/$cuda_player
    find_nccl "$library" || { outcome=$no_nccl && return 1; }
    under=(env LD_LIBRARY_PATH="$machine_libraries" "$sanitizer" --tool "$tool" --error-exitcode 42 --print-limit 2
      --target-processes all env LD_LIBRARY_PATH="$LD_LIBRARY_PATH")
  fi
  if [[ $player == *_mpi ]]; then
    said=$(ranks 12 1 "${under[@]}" "$player" --subject "$library" "${cases[@]}" 2>&1)
  else
    said=$(timeout --foreground -k 1 12 "${under[@]}" "$player" --subject "$library" "${cases[@]}" 2>&1)
  fi
  code=$?
  if [ "$backend" = sim ] && [ $code = 0 ]; then
    said=$(facts_of "${cases[@]/%//out/rank0/report.json}")
    [ -z "$said" ] || code=42
  fi
  case $code in
    0) outcome='nothing found' ;;
    42) outcome="found: $(grep -m1 -oE '(Invalid|Race|Error: |Barrier|Uninitialized|Misaligned|[Hh]azard).*' <<<"$said" || head -n 1 <<<"$said")" ;;
    124 | 137) outcome='took too long' ;;
    *) outcome="the sanitizer ended with $code: $(tail -n 1 <<<"$said")" ;;
  esac
}

# What the simulated GPU has found, one sentence a line, but for what is a mistake in a ring alone: waits for the whole device,
# and collectives.
facts_of() { # REPORT...
  awk '/"facts"/ { kind = "none" } kind && /^   "/ {
    if (kind == "none") kind = $0
    else { if (kind !~ /device_wide_wait|"collective"/) print; kind = "none" } }' "$@"
}

sanitized_mutant() {
  [ "$5" != judge ] || return 0
  look_at "$5" "$1" "$2_$3" "$4"
  note_check "$5" "$1" "$2_$3" "$5" "$outcome"
  [[ $outcome == found* ]] || result=1
}

sanitizers() {
  local result=0 sanitizer='' outcome lesson tool
  if [ "$backend" = cuda ]; then
    find_sanitizer
    [ -n "$sanitizer" ] || { echo 'compute-sanitizer is not on this machine' && return 3; }
  fi
  use_packed
  for_each_candidate mutant sanitized_mutant
  for tool in memcheck racecheck initcheck synccheck; do
    for lesson in 09 10 11; do
      [[ " $(packed_lessons) " == *" $lesson "* ]] || continue
      look_at "$tool" "$lesson" solution $(tasks_of "$lesson")
      note_check "$tool" "$lesson" solution "$tool" "$outcome"
      [ "$outcome" = 'nothing found' ] || result=1
    done
  done
  return $result
}

tasks_of() { # LESSON
  [ "$1" = 09 ] && echo 1 2 || echo 1 2 3
}

if [ -n "$only" ]; then
  [[ " ${steps[*]} " == *" $only:"* ]] || fail 2 "--step $only: expected one of ${steps[*]%:*}"
  $only
  exit
fi

# ---- the run ----

mkdir -p "$out" || fail 3 "$out cannot be written"
rm -rf "$out"/{cases,transport,clocks.txt,report.txt,report.json,steps.tsv,checks.tsv} "$out"/*.rows.json
: >"$out/steps.tsv"
dry=()
[ "$backend" = cuda ] || dry=(--dry-run)

# The whole file or what was there.
write_json() {
  (use_packed && device_report "$out") >"$out/report.json.new" && mv "$out/report.json.new" "$out/report.json"
}

note_step() { # NAME LIMIT SECONDS CODE
  printf '%s\t%s\t%s\t%s\n' "$@" >>"$out/steps.tsv"
  write_json
}

write_summary() {
  { echo '== summary' && (use_packed && device_report --table "$out"); } >>"$out/report.txt"
}

# The whole report so far, whatever is going on.
cut_off() {
  trap '' TERM INT HUP
  [ -z "$child" ] || { kill -TERM "$child" && wait "$child"; } 2>/dev/null
  note_step "$name" "$limit" $((SECONDS - began)) 'cut off'
  echo "-- $name was cut off after $((SECONDS - began)) s" >>"$out/report.txt"
  write_summary
  echo "cut off; $out/report.txt and report.json have what there is" >&2
  exit 143
}

child='' name='' limit=0 began=0 result=0
trap cut_off TERM INT HUP
printf 'The course on a GPU, %(%F %T)T; backend %s\n' -1 "$backend" >"$out/report.txt"
[ "$backend" = cuda ] || echo 'A dry run: every rate below is simulated, not measured' >>"$out/report.txt"
write_json
for step in "${steps[@]}"; do
  name=${step%:*} limit=${step#*:} began=$SECONDS
  [ $limit -le $((all_s - grace_s - SECONDS)) ] || limit=$((all_s - grace_s - SECONDS))
  [ $limit -gt 0 ] || { note_step "$name" 0 0 'not begun' && continue; }
  printf '== %s, at most %s s\n' "$name" "$limit" >>"$out/report.txt"
  timeout -k $grace_s "$limit" "$here/everything" "${dry[@]}" --out "$out" --step "$name" >>"$out/report.txt" 2>&1 &
  child=$!
  wait $child
  code=$?
  child=''
  printf -- '-- %s: exit %s after %s s\n' "$name" "$code" $((SECONDS - began)) | tee -a "$out/report.txt"
  note_step "$name" "$limit" $((SECONDS - began)) "$code"
  [ $code = 0 ] || result=1
  if [ "$name" = facts ] && [ $code = 3 ]; then
    write_summary
    fail 3 "nvidia-smi finds no device here; $out/report.txt has its words. --dry-run needs none"
  fi
done
write_summary
echo "$out/report.txt and report.json are written"
exit $result
