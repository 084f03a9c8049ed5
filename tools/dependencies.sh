#!/bin/sh
# Installs what is missing of the Debian packages that building needs; with --tests also what the tests need.
# Asks for root only when something is missing.
set -eu

packages="g++ cmake ninja-build pkg-config libhdf5-dev libzip-dev zlib1g-dev libboost-dev libeigen3-dev libcli11-dev libfmt-dev
nlohmann-json3-dev libopenmpi-dev openmpi-bin"
if [ "${1:-}" = "--tests" ]; then
  packages="$packages doctest-dev clang clang-format clang-tidy libclang-rt-14-dev git binutils python3 python3-h5py
hdf5-tools"
fi

missing=
for package in $packages; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $package"
done
[ -z "$missing" ] && exit 0

root=
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "numdiff: missing packages:$missing: install them as root" >&2; exit 2; }
  root=sudo
fi
echo "installing:$missing"
$root apt-get update -qq
# shellcheck disable=SC2086  # one word a package is wanted
$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
