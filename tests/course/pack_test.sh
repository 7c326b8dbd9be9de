#!/usr/bin/env bash
# What pack.sh packs is played in a root that has a C library, bash and a few tools, and nothing else.
#   pack_test.sh BUILD        with lessons 09 and 12 built in it
set -uo pipefail
build=$1
root=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
command -v bwrap >/dev/null || { echo 'bwrap is not here' && exit 77; }
bwrap --unshare-all --ro-bind / / true 2>/dev/null || { echo 'no namespaces here' && exit 77; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
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
  --setenv PATH /usr/bin --dir /usr/bin --dir /usr/lib --dir /usr/lib64 --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --clearenv --setenv HOME /tmp)
for tool in bash sh env cut grep sed awk basename dirname cat tr ldd; do
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
[ "$failures" = 0 ]
