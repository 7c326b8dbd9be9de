#!/usr/bin/env bash
# What pack.sh packs is played in a root that has a C library, bash and a few tools, and nothing else.
#   pack_test.sh BUILD        with lessons 09 and 12 built in it, and what course.pack.build builds
set -uo pipefail
build=$1
root=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
command -v bwrap >/dev/null || { echo 'bwrap is not here' && exit 77; }
bwrap --unshare-all --ro-bind / / true 2>/dev/null || { echo 'no namespaces here' && exit 77; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/report"
failures=0

expect() { # WHAT CODE WANTED [TEXT IN]
  if [ "$2" = "$3" ] && { [ -z "${4:-}" ] || grep -qF -- "$4" "$place/out"; }; then
    echo "ok: $1"
  else
    echo "not ok: $1: exit $2, expected $3${4:+ and: $4}" && cat "$place/out"
    failures=$((failures + 1))
  fi
}

# Libraries of the C library's package, and those that the tools themselves stand on.
bare=(--unshare-all --die-with-parent --proc /proc --dev /dev --tmpfs /tmp --ro-bind /sys /sys --ro-bind "$place/packed" /packed
  --bind "$place/report" /report --setenv PATH /usr/bin --dir /usr/bin --dir /usr/lib --dir /usr/lib64 --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --clearenv --setenv HOME /tmp)
for tool in bash sh env cut grep sed awk basename dirname cat tr ldd timeout mkdir mktemp mv rm tee head tail sleep; do
  path=$(readlink -f "$(command -v "$tool")")
  bare+=(--ro-bind "$path" "/usr/bin/$tool")
  while read -r library; do bare+=(--ro-bind "$(readlink -f "$library")" "$library"); done \
    < <(ldd "$path" 2>/dev/null | awk '$2 == "=>" { print $3 } $1 ~ /^\// { print $1 }')
done
for library in libc.so.6 libm.so.6 libdl.so.2 librt.so.1 libpthread.so.0 libresolv.so.2 libutil.so.1; do
  path=$(ldconfig -p | awk -v name="$library" '$1 == name { print $NF; exit }')
  [ -z "$path" ] || bare+=(--ro-bind "$(readlink -f "$path")" "$path")
done

in_bare_root() { bwrap "${bare[@]}" --setenv PATH /usr/bin --chdir / "$@" >"$place/out" 2>&1; }

printf '%s\n' '09 09_cuda_softmax player_gpu player_solo 0' '12 12_cuda_ring player_gpu_mpi player_mpi 5' >"$place/table"
"$root/common/pack/pack.sh" "$root" "$build" "$place/table" "$place/packed" >"$place/out" 2>&1
expect 'two lessons are packed' $? 0
cp "$build/lib/lesson12_mutant_v_left_behind.so" "$place/packed/lib/lesson12_student.so"

in_bare_root /packed/play --subject solution
expect 'right answers pass in a bare root' $? 0 'PASS  lesson12.3.ranks5'
in_bare_root /packed/play 12
expect 'a wrong one fails and is named' $? 1 'looks like: every rank attends to its own values'
in_bare_root /packed/play 09
expect 'what was not packed is said' $? 3 'lesson09_student.so was not packed'
in_bare_root /packed/play 05
expect 'and which lessons were' $? 2 '05: expected one of 09 12'
in_bare_root /packed/play --backend tpu
expect 'a backend that is not there' $? 2 '--backend tpu: expected sim or cuda'
in_bare_root /packed/play --backend
expect 'a flag without its word' $? 2 '--backend: expected a word after it'

holds() { # WHAT FILE TEXT...
  local what=$1 file=$place/report/$2 text
  shift 2
  for text in "$@"; do
    grep -qF -- "$text" "$file" && continue
    echo "not ok: $what: $(basename "$file") lacks: $text" && cat "$file"
    failures=$((failures + 1))
    return
  done
  echo "ok: $what"
}

# From the one script to its report, with a few of the other answers.
grep -P '09\tvariant\tno_shuffles|09\tmutant\t(own_warp_only|barrier_missing)|12\tmutant\tshare_not_cleared' \
  "$place/packed/candidates.tsv" >"$place/few" && mv "$place/few" "$place/packed/candidates.tsv"
in_bare_root /packed/everything --dry-run --out /report
expect 'everything ends in a dry run' $? 0 'report.json are written'
holds 'its report has all steps, and says that nothing was measured' report.txt '-- sanitizers: exit 0' 'simulated, not measured' \
  'step pytorch: exit 0' 'right answer: lesson 09, variant_no_shuffles: passed' 'own_warp_only (judge): caught: FAIL  lesson09.2' \
  'barrier_missing (racecheck): found:' 'initcheck: lesson 12, mutant_share_not_cleared (initcheck): found:' 'racecheck: lesson 09, solution (racecheck): nothing found' \
  'GFLOP/s (simulated, not measured)'
holds 'and so has its JSON' report.json '"name": "sanitizers"' '"exit_code": 0' '"answer": "variant_no_shuffles"' \
  '"name": "ring of 4 ranks on one device through the simulated NCCL, backward"' '"limited_by"' '"simulated": "yes"'
in_bare_root /packed/bench --backend sim --part kernels --json
expect 'the bench as JSON' $? 0 '"name": "two streams, 3 hops: copies hidden"'
in_bare_root /packed/bench --part memory
expect 'a part that is not there' $? 2 '--part memory: expected kernels, ring or pytorch'
in_bare_root /packed/everything --out /report
expect 'without a device it says so' $? 3 'nvidia-smi finds no device here'

# SIGNAL, once the first steps have ended.
cut_off_by() {
  rm -rf "$place"/report/*
  # shellcheck disable=SC2016  # expanded in there
  in_bare_root bash -c '/packed/everything --dry-run --out /report & pid=$!
    for ((i = 0; i < 1200; ++i)); do ! grep -q answers /report/report.json 2>/dev/null || break; sleep 0.05; done
    kill -"$0" $pid; wait $pid' "$1"
}
cut_off_by TERM
expect 'everything is cut off' $? 143 'have what there is'
holds 'its report has the steps before, and which was cut off' report.txt '-- answers: exit 0' 'was cut off after' '== summary' 'step answers: exit 0'
holds 'and its JSON' report.json '"name": "answers"' '"exit_code": "cut off"'
cut_off_by KILL
expect 'everything is killed' $? 137
holds 'its report has the steps before' report.txt '-- answers: exit 0'
holds 'and its JSON has them' report.json '"name": "answers"'

# What is for devices comes as far as the driver's first call.
if [ -e "$place/packed/bin/device_bench_solution_cuda" ] && [ ! -e /dev/nvidiactl ]; then
  in_bare_root /packed/play --backend cuda --subject solution 09
  expect 'a kernel is played up to the driver' $? 1 'cudaErrorInsufficientDriver'
  in_bare_root /packed/bench --part kernels
  expect 'a kernel is timed up to the driver' $? 3 'there is no CUDA device'
  in_bare_root /packed/play --backend cuda --subject solution 12
  expect 'a ring without NCCL' $? 3 'this machine has no NCCL'
  "$place/packed/play" --backend cuda --subject solution --test 2.ranks2 12 >"$place/out" 2>&1
  expect 'ranks that share a device start' $? 1 'cudaErrorInsufficientDriver'
fi
[ "$(du -sb "$place/packed" | cut -f1)" -le $((60 << 20)) ]
expect 'it has 60 MiB at most' $? 0
[ "$failures" = 0 ]
