# What tests written in shell share: sourced by them. `check NAME COMMAND ...` counts in passed and failed; `course`
# is theirs to define and leaves code, out and err.
# shellcheck shell=bash
passed=0
failed=0
code='' out='' err=''

# What else a test wants to print of a failure.
about_failure() { :; }

check() {
  local name=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
    echo "ok    $name"
  else
    failed=$((failed + 1))
    echo "FAIL  $name"
    printf '      %s\n' "check: $*" "exit code: $code" "stdout: $out" "stderr: $err"
    about_failure
  fi
}

is() { [ "$1" = "$2" ]; }
has() { case $1 in *"$2"*) true ;; *) false ;; esac }
lacks() { ! has "$@"; }
lines() { [ "$(printf '%s\n' "$1" | wc -l)" = "$2" ]; }

# Prints the totals; the exit code of the test.
conclude() {
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ]
}
