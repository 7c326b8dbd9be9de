#!/usr/bin/env bash
# Tests the launcher ./course on machines made of stand-ins: a PATH with nothing but basic tools and fakes of apt-get, sudo,
# dpkg-query, cmake and the compiler, which write down how they are called. Installs nothing, leaves nothing behind.
#   launcher_test.sh           prints a line a check and the totals; exit 1 when one fails
set -u
course_root=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d) && work=$(cd -P -- "$work" && pwd)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/course/checks.sh
. "$course_root/tests/course/checks.sh"

core='g++ cmake ninja-build libopenmpi-dev openmpi-bin libeigen3-dev libgtest-dev libcli11-dev libfmt-dev nlohmann-json3-dev libpugixml-dev'
fibers='libboost-context-dev libdw-dev'
grading='bubblewrap'
benching='libbenchmark-dev python3-venv'
shaping='iproute2'
extra='clang-format clang git python3-numpy python3-mpi4py python3-yaml'
paging='doxygen doxygen-awesome-css graphviz libjs-mathjax'
browsing='chromium'

about_failure() { echo "      calls: $(calls)"; }

# ---- a machine ----

# A new machine, $machine, with os-release text $1, a checkout whose path has a blank, and no package installed.
new_machine() {
  machine=$(mktemp -d "$work/machine.XXXXXX")
  checkout="$machine/my course"
  mkdir -p "$machine/bin" "$machine/later" "$checkout/common" "$checkout/tests/docs"
  cp "$course_root/course" "$checkout/"
  cp "$course_root/common/packages.tsv" "$checkout/common/"
  printf '%b\n' "$1" >"$machine/os-release"
  : >"$machine/installed"
  : >"$machine/calls"
  user=0
  local tool
  for tool in bash sh env cat cp rm mkdir mv grep tail sleep readlink flock; do
    ! command -v "$tool" >/dev/null || ln -s "$(command -v "$tool")" "$machine/bin/$tool"
  done
  write_fakes
}

debian='ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian 12"'

fake() {
  { echo '#!/bin/sh' && cat; } >"$1"
  chmod +x "$1"
}

# Every fake finds its machine by $MACHINE. Tools under later/ appear when apt-get has installed the packages.
write_fakes() {
  # shellcheck disable=SC2016  # expanded by the fake
  fake "$machine/bin/id" <<<'echo "$FAKE_USER"'
  fake "$machine/bin/mpirun" <<<'exit 0'
  fake "$machine/bin/dpkg-query" <<'FAKE'
echo dpkg-query >>"$MACHINE/calls"
cat "$MACHINE/installed"
FAKE
  fake "$machine/bin/apt-get" <<'FAKE'
echo "apt-get $* [$DEBIAN_FRONTEND]" >>"$MACHINE/calls"
echo "dlstatus:1:42.0:Retrieving" >&3
if [ -e "$MACHINE/locked" ]; then rm "$MACHINE/locked"; echo "E: Could not get lock /var/lib/apt/lists/lock."; exit 100; fi
if [ "$1" = update ]; then [ ! -e "$MACHINE/no-lists" ]; exit; fi
if [ -e "$MACHINE/no-network" ]; then echo "E: Failed to fetch the-package"; exit 100; fi
echo "Setting up things ..."
for package; do echo "installed $package" >>"$MACHINE/installed"; done
mv "$MACHINE"/later/* "$MACHINE/bin/" 2>/dev/null
exit 0
FAKE
  fake "$machine/later/cmake" <<'FAKE'
echo "cmake $*" >>"$MACHINE/calls"
case "$*" in
*--preset*)
  mkdir -p build
  echo "CMAKE_HOME_DIRECTORY:INTERNAL=$(pwd)" >build/CMakeCache.txt
  : >build/build.ninja
  [ ! -e "$MACHINE/cmake-says" ] || { cat "$MACHINE/cmake-says"; exit 1; } ;;
--build*)
  [ ! -e "$MACHINE/slow" ] || sleep 0.3
  echo "end of build" >>"$MACHINE/calls"
  [ ! -e "$MACHINE/ninja-says" ] || { cat "$MACHINE/ninja-says"; exit 1; }
  if [ -e "$2/bin/$4" ]; then echo "ninja: no work to do."; else
    echo "[0/2] Re-checking globbed directories..."
    echo "[2/8] Building CXX object main.cpp.o"
    [ ! -e "$MACHINE/slow-steps" ] || { sleep 9 && echo "[5/8] Building CXX object check.cpp.o"; }
    echo "[8/8] Linking CXX executable bin/$4"
    mkdir -p "$2/bin"
    for built in course-program "$4"; do cp "$MACHINE/program" "$2/bin/$built"; done
  fi ;;
esac
FAKE
  fake "$machine/program" <<'FAKE'
case "$*$COURSE_NO_WAIT" in *0[1-9]yes) exit 75 ;; esac
printf '<%s>' "$@"
echo " in $(pwd) of $COURSE_ROOT as root: ${OMPI_ALLOW_RUN_AS_ROOT:-no}${OMPI_ALLOW_RUN_AS_ROOT_CONFIRM:-}${PRTE_ALLOW_RUN_AS_ROOT:-}${PRTE_ALLOW_RUN_AS_ROOT_CONFIRM:-}"
case "$*" in *fail*) exit 7 ;; esac
FAKE
}

# All tools at hand by other means than a package manager; the compiler finds every header that it is asked for.
bring_tools() {
  local tool
  mv "$machine/later/cmake" "$machine/bin/"
  for tool in ninja mpicxx ompi_info bwrap ip clang-format clang++ git chromium doxygen dot; do fake "$machine/bin/$tool" <<<'exit 0'; done
  mkdir -p "$machine/share/javascript/mathjax"
  : >"$machine/share/javascript/mathjax/MathJax.js"
  fake "$machine/bin/c++" <<<'cat'
}

# sudo that asks nothing.
bring_sudo() {
  fake "$machine/bin/sudo" <<'FAKE'
echo "sudo $1" >>"$MACHINE/calls"
[ "$1" = -n ] && shift
[ "$1" != true ] || exit 0
exec "$@"
FAKE
}

# Calls the launcher in the machine's folder; sets out, err and code.
course() {
  out=$(cd "$machine" && in_machine "${launcher:-$checkout/course}" "$@" 2>"$machine/stderr" </dev/null)
  code=$?
  err=$(cat "$machine/stderr")
}

in_machine() {
  env -i PATH="$machine/bin" HOME="$machine" MACHINE="$machine" FAKE_USER="$user" COURSE_OS_RELEASE="$machine/os-release" COURSE_SHARE="$machine/share" \
    ${system:+OSTYPE="$system"} "$@"
}

calls() { cat "$machine/calls"; }
forget_calls() { : >"$machine/calls"; }

# ---- the tests ----

test_table() {
  new_machine "$debian"
  out='' err='' code=''
  local bad
  bad=$(grep -v '^#' "$course_root/common/packages.tsv" | awk -F '\t' '
    NF != 7 { print NR ": " NF " columns" }
    NR > 1 && $1 !~ /^(core|gpu|grade|bench|lab|all|docs|browser|editor)$/ { print NR ": group " $1 }
    { for (i = 1; i <= NF; i++) if ($i == "") print NR ": column " i " is empty" }
    seen[$1 " " $2]++ { print NR ": " $2 " again" }')
  check 'packages.tsv is well formed' is "$bad" ''
}

test_root_installs() {
  new_machine "$debian"
  course demo --ranks 4 'a b'
  check 'root on Debian: succeeds' is "$code" 0
  check 'root on Debian: refreshes the lists first' has "$(calls)" $'apt-get update'
  check 'root on Debian: installs the core packages, no more' has "$(calls)" \
    "apt-get install -y --no-install-recommends $core -q "
  check 'root on Debian: nothing is asked' has "$(calls)" '[noninteractive]'
  check 'root on Debian: waits for a held lock, within bounds' has "$(calls)" 'DPkg::Lock::Timeout=60'
  check 'root on Debian: says what it installs' has "$err" "packages to install (11): $core"
  check 'root on Debian: the log is kept' has "$(cat "$checkout/build/install.log")" 'Setting up things'
  check 'root on Debian: progress stays out of the log' lacks "$(cat "$checkout/build/install.log")" dlstatus
  check 'configures from nothing' has "$(calls)" 'cmake --fresh --preset student'
  check 'arguments arrive whole, stdout is only the program'\''s' has "$out" "<demo><--ranks><4><a b> in $machine of $checkout"
  check 'stdout is one line' is "$(wc -l <<<"$out" | tr -d ' ')" 1

  forget_calls
  course demo fail
  check 'second call: only the build is looked at' is "$(calls)" \
    "cmake --build $checkout/build --target course-program"$'\nend of build'
  check 'second call: says nothing' is "$err" ''
  check 'the exit code is the program'\''s' is "$code" 7

  echo '# changed' >>"$checkout/common/packages.tsv"
  forget_calls
  course
  check 'a changed list is checked again' has "$(calls)" dpkg-query
  check 'a changed list installs nothing that is there' lacks "$(calls)" apt-get
  check 'configuring again keeps the object files' lacks "$(calls)" --fresh
}

test_groups() {
  local command
  for command in 'grade' 'grade 05 --submission all' '--json grade'; do
    new_machine "$debian"
    # shellcheck disable=SC2086  # words
    course $command
    check "$command: installs what isolates as well" has "$(calls)" "install -y --no-install-recommends $core $fibers $grading -q "
  done
  for command in 'check 09' 'check 09.2' 'replay lesson09.2' 'drill cuda_softmax'; do
    new_machine "$debian"
    mkdir -p "$checkout/lessons/01_safe_softmax" "$checkout/lessons/09_cuda_softmax"
    touch "$checkout/lessons/09_cuda_softmax/cuda_softmax.cu"
    course check 01
    check 'check 01: installs nothing for a GPU' has "$(calls)" "install -y --no-install-recommends $core -q "
    # shellcheck disable=SC2086  # words
    course $command
    check "$command: installs what simulates a GPU" has "$(calls)" "install -y --no-install-recommends $fibers -q "
    forget_calls
    course $command
    check "$command: the second time nothing" lacks "$(calls)" apt-get
  done
  new_machine "$debian"
  course bench --peers
  check 'bench: installs what it times with as well' has "$(calls)" "install -y --no-install-recommends $core $benching -q "
  new_machine "$debian"
  course lab slow-network
  check 'lab: installs what shapes links as well' has "$(calls)" "install -y --no-install-recommends $core $shaping -q "
  new_machine "$debian"
  course test --all
  check 'test --all: installs every group' has "$(calls)" "install -y --no-install-recommends $core $fibers $grading $benching $shaping $extra $paging $browsing -q "
  new_machine "$debian"
  rmdir "$checkout/tests/docs"
  course test --all
  check 'test --all in a handout: installs no browser' has "$(calls)" "install -y --no-install-recommends $core $fibers $grading $benching $shaping $extra -q "
  new_machine 'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"'
  course test --all
  check 'test --all on Ubuntu: installs no browser' has "$(calls)" "install -y --no-install-recommends $core $fibers $grading $benching $shaping $extra $paging -q "
  new_machine "$debian"
  mkdir -p "$checkout/docs/site"
  fake "$checkout/docs/site/build.sh" <<<'echo "site [$*]"'
  course docs
  check 'docs: installs what makes the site, and no compiler' has "$(calls)" "install -y --no-install-recommends cmake $paging -q "
  check 'docs: configures and builds nothing' lacks "$(calls)" 'cmake --'
  check 'docs: becomes the script that makes the site' is "$out" 'site []'
  new_machine "$debian"
  course --no-install docs
  check 'docs --no-install: exit 3' is "$code" 3
  check 'docs --no-install: says what to install' has "$err" "cmake $paging"
  new_machine "$debian"
  course test
  check 'test: installs what simulates a GPU as well' has "$(calls)" "install -y --no-install-recommends $core $fibers -q "
  forget_calls
  course grade
  check 'grade after test: installs what isolates' has "$(calls)" "install -y --no-install-recommends $grading -q "
  forget_calls
  course test --all
  check 'test --all after grade: installs the rest' has "$(calls)" "install -y --no-install-recommends $benching $shaping $extra $paging $browsing -q "
  forget_calls
  course check grade
  check 'the word grade as an argument: installs nothing' lacks "$(calls)" apt-get
  new_machine 'ID=fedora\nVERSION_ID=42\nPRETTY_NAME="Fedora Linux 42"'
  bring_tools
  fake "$machine/bin/python3" <<<'[ "$1 $2" = "-c import numpy" ] || [ "$1 $2" = "-c import yaml" ]'
  course test --all
  check 'modules that python3 imports are there' is "$code" 0
  fake "$machine/bin/python3" <<<'exit 1'
  rm "$checkout"/build/.packages-all
  course test --all
  check 'modules that it does not import are not' has "$err" $'    dnf install -y python3-numpy'
}

test_portable() {
  new_machine "$debian"
  in_machine COURSE_PORTABLE=1 "$checkout/course" >/dev/null 2>&1
  check 'COURSE_PORTABLE: configures for other machines' has "$(calls)" 'cmake --fresh --preset student -DCOURSE_PORTABLE=ON'
  new_machine "$debian"
  course
  check 'without COURSE_PORTABLE: for this machine' lacks "$(calls)" COURSE_PORTABLE
}

test_no_rights() {
  new_machine "$debian"
  user=1000
  course demo
  check 'no root, no sudo: exit 3' is "$code" 3
  check 'no root, no sudo: names the command' has "$err" \
    "as root, then call ./course again:"$'\n'"    apt-get update && apt-get install -y --no-install-recommends $core"
  check 'no root, no sudo: installs nothing' lacks "$(calls)" apt-get
  check 'no root, no sudo: stdout is empty' is "$out" ''

  fake "$machine/bin/sudo" <<<'exit 1'
  course demo
  check 'sudo that wants a password, no terminal: exit 3' is "$code" 3
  check 'sudo that wants a password: names the command' has "$err" "    sudo apt-get update && sudo apt-get install -y"

  bring_sudo
  course demo
  check 'sudo without a password: succeeds' is "$code" 0
  check 'sudo without a password: is what runs apt-get' has "$(calls)" $'sudo -n\napt-get install'
}

test_no_install() {
  new_machine "$debian"
  course demo --no-install
  check '--no-install: exit 3' is "$code" 3
  check '--no-install: names the command' has "$err" "    apt-get update && apt-get install -y --no-install-recommends $core"
  check '--no-install: installs nothing' lacks "$(calls)" apt-get
  check '--no-install: stdout is empty' is "$out" ''
  bring_tools
  course --no-install demo -- --no-install
  check '--no-install: goes on when all is there' is "$code" 0
  check '--no-install: is not passed on, except after --' has "$out" '<demo><--><--no-install> in'
}

test_other_systems() {
  new_machine 'ID=fedora\nVERSION_ID=42\nPRETTY_NAME="Fedora Linux 42"'
  course demo
  check 'Fedora: exit 3' is "$code" 3
  check 'Fedora: names dnf and its packages' has "$err" \
    '    dnf install -y gcc-c++ cmake ninja-build openmpi-devel openmpi eigen3-devel gtest-devel cli11-devel fmt-devel json-devel pugixml-devel'
  check 'Fedora: stdout is empty' is "$out" ''
  bring_tools
  course demo
  check 'Fedora with everything there: goes on' is "$code" 0
  rm "$machine/bin/ompi_info" "$checkout"/build/.packages-core
  course demo
  check 'Fedora without mpirun: names that alone' has "$err" $'    dnf install -y openmpi'

  new_machine 'ID=manjaro\nID_LIKE=arch\nPRETTY_NAME="Manjaro Linux"'
  course demo
  check 'Arch and its like: exit 3' is "$code" 3
  check 'Arch and its like: names pacman, each package once' has "$err" \
    '    pacman -S --needed gcc cmake ninja openmpi eigen gtest cli11 fmt nlohmann-json pugixml'

  new_machine ''
  rm "$machine/os-release"
  user=501
  system=darwin23 course demo
  check 'macOS: exit 3' is "$code" 3
  check 'macOS: says why nothing is installed' has "$err" 'and only on Debian and Ubuntu can'
  check 'macOS: brew is not for root' lacks "$err" 'as root'
  check 'macOS: names brew and its packages' has "$err" '    brew install cmake ninja open-mpi eigen googletest cli11 fmt nlohmann-json pugixml'

  new_machine 'ID=gentoo\nPRETTY_NAME=Gentoo'
  course demo
  check 'an unknown system: exit 3' is "$code" 3
  check 'an unknown system: names every family' is \
    "$(grep -oE 'apt-get install|dnf install|pacman -S|brew install' <<<"$err" | tr '\n' ' ')" \
    'apt-get install dnf install pacman -S brew install '
}

test_versions() {
  local release
  for release in 'ID=debian\nVERSION_ID="11"\nPRETTY_NAME="Debian 11"' 'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="22.04"\nPRETTY_NAME="Ubuntu 22.04"'; do
    new_machine "$release"
    course demo
    check "${release%%\\n*}, old: exit 3" is "$code" 3
    check "${release%%\\n*}, old: says that it is too old and what is needed" has "$err" 'is too old: the course needs Debian 12, Ubuntu 24.04 or newer'
    check "${release%%\\n*}, old: installs nothing" lacks "$(calls)" apt-get
  done
  for release in 'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"' 'ID=debian' 'ID=linuxmint\nID_LIKE="ubuntu debian"\nVERSION_ID="22"'; do
    new_machine "$release"
    course demo
    check "$release: installs" has "$(calls)" 'apt-get install'
  done
}

test_failing_apt() {
  new_machine "$debian"
  : >"$machine/no-network"
  course demo
  check 'apt-get fails: exit 3' is "$code" 3
  check 'apt-get fails: shows the end of its log' has "$err" 'E: Failed to fetch the-package'
  check 'apt-get fails: names the command' has "$err" "    apt-get update && apt-get install -y --no-install-recommends $core"
  check 'apt-get fails: stdout is empty' is "$out" ''
  rm "$machine/no-network"
  : >"$machine/no-lists"
  : >"$machine/locked"
  course demo
  check 'a held lock and lists that do not refresh: succeeds' is "$code" 0
  check 'a held lock: tried again' is "$(grep -c 'apt-get update' "$machine/calls")" 3
}

test_help() {
  new_machine "$debian"
  course demo --help
  check '--help with nothing installed: exit 0' is "$code" 0
  check '--help with nothing installed: lists the commands' has "$out" 'check 05'
  check '--help with nothing installed: changes nothing' is "$(calls)" ''
  course doctor
  forget_calls
  course doctor --help
  check '--help: the program answers when it is there' has "$out" '<doctor><--help> in'
  course check --help
  check 'check --help: the program answers' has "$out" '<check><--help> in'
  check '--help builds nothing, nor looks whether it should' is "$(calls)" ''
  course help check
  check 'help check is check --help' has "$out" '<check><--help> in'
  course help
  check 'help is --help' has "$out" '<--help> in'
  check 'nor does help build anything' is "$(calls)" ''
  course demo --help
  check '--help: of a program of its own that is not built the commands' has "$out" 'check 05'
  rm "$checkout/build/bin/course-tools"
  course doctor --help
  check '--help: of course-tools, not built, too' has "$out" 'check 05'
  check '--help: nor is it built then' is "$(calls)" ''
}

# What is built for a command, in ninja's own words.
test_programs() {
  new_machine "$debian"
  local command program count=0
  for command in '' check watch hint show reset drill replay --json 'check 05 --player grade'; do
    forget_calls
    # shellcheck disable=SC2086  # words
    course $command
    check "course-program is all that '$command' needs" has "$(calls)" 'build --target course-program'
  done
  # A row with a third column has a program of its own, which course-program builds.
  while read -r command program; do
    forget_calls
    course "$command"
    check "$command needs $program" has "$(calls)" "build --target $program"
    count=$((count + 1))
  done < <(sed -n -e 's/^    {"\([a-z-]*\)", "[^"]*", ".*/\1 course-program/p' -e 't' \
    -e 's/^    {"\([a-z-]*\)", "[^"]*"},$/\1 course-tools/p' "$course_root/common/course/commands/tools.hpp")
  check 'the commands of tools.hpp are found' is "$count" 13
}

test_estimate() {
  new_machine "$debian"
  : >"$machine/slow-steps"
  course demo
  check 'the first build: how far it is and how long it may take' has "$err" 'building the course program: 2 of 8, about '
  check 'which is reckoned anew while a step takes long' lacks "$err" 'about 3 s left'
}

test_places() {
  new_machine "$debian"
  mkdir -p "$machine/links"
  ln -s '../my course/course' "$machine/links/second"
  ln -s links/second "$machine/first"
  launcher=./first course demo
  check 'called through links from elsewhere: keeps the folder, finds the checkout' has "$out" "in $machine of $checkout"
  mv "$checkout" "$machine/moved"
  checkout=$machine/moved
  forget_calls
  course demo
  check 'a moved checkout is configured from nothing' has "$(calls)" 'cmake --fresh --preset student'
  check 'a moved checkout works' has "$out" "of $machine/moved"
  course demo
  check 'a moved checkout is configured once' is "$(grep -c -- --preset "$machine/calls")" 1

  new_machine "$debian"
  : >"$checkout/build"
  course demo
  check 'a build folder that cannot be written: exit 3' is "$code" 3
  check 'a build folder that cannot be written: says so' has "$err" "cannot write to $checkout/build"
}

test_failing_configure() {
  new_machine "$debian"
  echo 'CMake Error: Could NOT find MPI_CXX' >"$machine/cmake-says"
  course demo
  check 'cmake lacks something: exit 3' is "$code" 3
  check 'cmake lacks something: its words are shown' has "$err" 'Could NOT find MPI_CXX'
  echo 'CMake Error at CMakeLists.txt:3: Parse error' >"$machine/cmake-says"
  course demo
  check 'cmake fails otherwise: exit 1' is "$code" 1
  check 'cmake fails: stdout is empty' is "$out" ''
  rm "$machine/cmake-says"
  forget_calls
  course demo
  check 'after a broken configuration: from nothing, and it works' has "$code $(calls)" 'cmake --fresh --preset student'
  check 'after a broken configuration: exit 0' is "$code" 0
}

test_failing_build() {
  new_machine "$debian"
  printf '%s\n' '[1/2] Building CXX object a.o' 'FAILED: a.o' 'a.cpp:3: error: expected' 'ninja: build stopped' >"$machine/ninja-says"
  course demo
  check 'the build fails: exit 1' is "$code" 1
  check 'the build fails: shows the compiler'\''s words' has "$err" $'FAILED: a.o\na.cpp:3: error: expected\n'
  check 'the build fails: stdout is empty' is "$out" ''
  forget_calls
  course demo
  check 'the build fails: packages are not checked for it' lacks "$(calls)" dpkg-query
  echo 'a.cpp:1: fatal error: fmt/format.h: No such file or directory' >"$machine/ninja-says"
  course demo
  rm "$machine/ninja-says"
  forget_calls
  course demo
  check 'the build lacks a header: packages are checked again' has "$(calls)" dpkg-query
}

# What is no command builds nothing.
test_unknown_command() {
  new_machine "$debian"
  ln -s "$(command -v awk)" "$machine/bin/awk"
  local wrong meant
  while IFS=$'\t' read -r wrong meant; do
    course "$wrong" 05
    check "$wrong: exit 2" is "$code" 2
    check "$wrong: what it may have been meant for" is "$err" \
      "course: there is no command '$wrong'${meant:+; did you mean $meant?} (./course help lists the commands)"
  done < <(grep -v '^#' "$course_root/tests/course/misspelt_commands.tsv")
  course status
  check 'status: exit 2' is "$code" 2
  check 'status: what says it' is "$err" "course: there is no command 'status'; ./course alone says where you are"
  course help chekc
  check 'help on what is no command: exit 2' is "$code" 2
  course weather
  check 'nothing near: exit 2' is "$code" 2
  check 'nothing near: only where the list is' has "$err" "there is no command 'weather' (./course help lists the commands)"
  check 'nothing was built for it' is "$(calls)" ''
  rm "$machine/bin/awk"
  course chekc
  check 'without awk: exit 2 all the same' is "$code" 2
}

# Every command of the programs is in the list that the launcher knows.
test_usage_is_whole() {
  local name students tools
  new_machine "$debian"
  course --help
  students=$(sed -nE 's/.*add_command\("([a-z-]+)".*/\1/p' "$course_root/common/course/commands/main.cpp")
  check 'course-program has eight commands or more' test "$(wc -w <<<"$students")" -ge 8
  tools=$(sed -nE 's/^ *\{"([a-z-]+)", .*/\1/p' "$course_root/common/course/commands/tools.hpp")
  check 'the programs beside it have twelve or more' test "$(wc -w <<<"$tools")" -ge 12
  for name in $students $tools; do
    check "$name is in the list" has "$out" "
  $name "
  done
}

test_two_at_once() {
  new_machine "$debian"
  course demo
  : >"$machine/slow"
  forget_calls
  (in_machine "$checkout/course" check 01) >/dev/null 2>&1 &
  (in_machine "$checkout/course" check 02) >/dev/null 2>&1 &
  wait
  out='' err='' code=''
  local build="cmake --build $checkout/build --target course-program"
  if [ -e "$machine/bin/flock" ]; then
    check 'two calls at once build one after the other' is "$(calls)" "$build"$'\nend of build\n'"$build"$'\nend of build'
  fi
}

test_a_file_of_the_future() {
  new_machine "$debian"
  course demo
  : >"$checkout/CMakeLists.txt"
  printf 'build build.ninja: RERUN_CMAKE | /nowhere.cmake %s %s\n' "${checkout// /\$ }/CMakeLists.txt" ../common/packages.tsv >"$checkout/build/build.ninja"
  course demo
  check 'files of the past: exit 0' is "$code" 0
  touch -t 209901010000 "$checkout/CMakeLists.txt"
  forget_calls
  course demo
  check 'a file of the future: exit 3' is "$code" 3
  check 'a file of the future: named' has "$err" "$checkout/CMakeLists.txt is dated in the future"
  check 'a file of the future: nothing is built' lacks "$(calls)" cmake
  touch "$checkout/CMakeLists.txt"
  touch -t 209901010000 "$checkout/common/packages.tsv"
  course demo
  check 'by a relative path, too' has "$err" 'packages.tsv is dated in the future'
}

# Another ./course holds the lock of the builds: what builds nothing goes on all the same, if there is a program.
test_while_another_builds() {
  new_machine "$debian"
  [ -e "$machine/bin/flock" ] || return 0
  course demo
  exec 8>"$checkout/build/.lock"
  flock 8
  local command
  for command in '' 'quiz 05' 'hint 05' 'show 05' 'reset 05' 'drill --history' --json; do
    forget_calls
    # shellcheck disable=SC2086  # two words
    course $command
    check "while another builds: '$command' exits with 0" is "$code" 0
    check "while another builds: '$command' waits for nobody" is "$err$(calls)" ''
  done
  (in_machine "$checkout/course" check 05) >"$machine/checked" 2>"$machine/stderr" 8>&- &
  until grep -q waiting "$machine/stderr"; do sleep 0.1; done
  check 'while another builds: check waits' is "$(cat "$machine/checked")" ''
  for command in 'check fail' 'drill fail' 'replay fail' 'locate fail'; do
    # shellcheck disable=SC2086  # two words
    course $command
    check "while another builds: '$command' is refused by the program" is "$code" 7
    check "while another builds: '$command' waits for nobody" is "$err" ''
  done
  exec 8>&-
  wait
  check 'after it: check goes on' has "$(cat "$machine/checked")" '<check><05>'
  rm "$checkout/build/bin/course-program"
  exec 8>"$checkout/build/.lock"
  flock 8
  (in_machine "$checkout/course" quiz) >"$machine/asked" 2>"$machine/stderr" 8>&- &
  until grep -q waiting "$machine/stderr"; do sleep 0.1; done
  exec 8>&-
  wait
  check 'without a program a quiz waits for it' has "$(cat "$machine/asked")" '<quiz>'
  out='' err='' code=''
}

# What the launcher sees of root is what the program does: this check follows who runs it.
test_open_mpi_as_root() {
  new_machine "$debian"
  course demo
  local expected='as root: no'
  [ "$(id -u)" != 0 ] || expected='as root: 1111'
  check "Open MPI may start ranks as root, when root ($expected)" has "$out" "$expected"
}

for test in $(declare -F | grep -oE 'test_[a-z_]+$'); do "$test"; done
conclude
