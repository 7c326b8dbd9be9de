#!/usr/bin/env bash
# Configures the course with packages that look like Eigen's of several versions, and compiles with one.
#   eigen_versions_test.sh CMAKE SOURCE INCLUDE...       INCLUDE: where the headers of a real Eigen are
set -u
# shellcheck source=tests/course/checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
cmake=$1 source=$2 include=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A package as Eigen installs it: its version file takes a wanted version for its own major version alone, and from
# Eigen 5 on there is a target and no variable.
package() {
  local version=$1
  mkdir -p "$work/$version"
  cat >"$work/$version/Eigen3ConfigVersion.cmake" <<EOF
set(PACKAGE_VERSION $version)
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION OR NOT PACKAGE_FIND_VERSION_MAJOR STREQUAL "${version%%.*}")
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
EOF
  cat >"$work/$version/Eigen3Config.cmake" <<EOF
add_library(Eigen3::Eigen INTERFACE IMPORTED)
set_target_properties(Eigen3::Eigen PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "$include")
EOF
}

configure() {
  package "$1"
  out=$("$cmake" -S "$source" -B "$work/build-$1" -G Ninja -DCMAKE_BUILD_TYPE=Release -DEigen3_DIR="$work/$1" 2>&1)
  code=$?
}

for version in 3.4.0 5.0.1 6.2.0; do
  configure "$version"
  check "Eigen $version: the course configures" is "$code" 0
done
out=$("$cmake" --build "$work/build-5.0.1" --target linear_algebra lesson04_student 2>&1)
code=$?
check 'and a lesson finds the headers of a package that has only a target' is "$code" 0

configure 3.3.9
check 'Eigen 3.3: refused' is "$code" 1
check 'with its version' has "$out" 'Eigen 3.3.9'
check 'and the one that is needed' has "$(echo "$out" | tr -s ' \n' '  ')" 'expected 3.4 or newer'
conclude
