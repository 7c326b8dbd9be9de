#!/bin/sh
# Installs, as root on Debian, every package that the list given (common/packages.tsv) names for it, editors' tools included.
set -eu
names=$(awk -F '\t' '!/^#/ && $1 != "group" && $2 != "-" { print $2 }' "$1")
apt-get update
# shellcheck disable=SC2086  # one argument a package
DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $names
rm -rf /var/lib/apt/lists/*
