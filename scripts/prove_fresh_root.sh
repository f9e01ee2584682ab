#!/bin/sh
# Proves that distsim works on a Debian 12 on which nothing else is installed: makes one with debootstrap, enters it with chroot, and calls distsim there.
#
#   scripts/prove_fresh_root.sh run            ./distsim --config configs/dgx_a100_4node.yaml, from a copy of this source tree
#   scripts/prove_fresh_root.sh tests          ./run_tests, from a copy of this source tree
#   scripts/prove_fresh_root.sh deb [FILE.deb] the package: installed with apt, then run; without a file the one that cpack makes of build/
#
# Run as root; needs debootstrap and a Debian mirror. apt in the new root uses the sources, keys and settings of this machine.
#   SUITE=bookworm  MIRROR=URL (default: the first of this machine's)  KEEP=yes: leaves the root where it is and says where
set -eu
suite=${SUITE-bookworm}
tree=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
experiment=configs/dgx_a100_4node.yaml

say() { printf 'prove_fresh_root: %s\n' "$*" >&2; }
stop() { say "$*"; exit 2; }

case "${1-}" in
  run | tests) [ $# = 1 ] || stop "found '$2', expected nothing behind $1" ;;
  deb) [ $# -le 2 ] || stop "found '$3', expected one package" ;;
  *) stop "found '${1-}', expected run, tests or deb" ;;
esac
[ "$(id -u)" = 0 ] || stop "root rights are needed for debootstrap and chroot"
command -v debootstrap >/dev/null 2>&1 || stop "debootstrap not found; apt-get install debootstrap"

# shellcheck disable=SC2016  # apt replaces it
mirror=${MIRROR-$(apt-get indextargets --format '$(REPO_URI)' "Codename: $suite" 2>/dev/null | head -n 1)}
[ -n "$mirror" ] || mirror=http://deb.debian.org/debian

root=$(mktemp -d)
chmod 755 "$root"  # apt downloads as a user of its own
leave() {
  for mounted in proc sys dev/pts dev; do umount "$root/$mounted" 2>/dev/null || true; done
  if [ "${KEEP-no}" = yes ]; then say "left in $root"; else rm -rf --one-file-system "$root"; fi
}
trap leave EXIT
trap 'exit 130' INT TERM

# inside COMMAND...: in the new root, with an environment of its own.
inside() { chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "$@"; }

make_root() {
  say "making a $suite from $mirror"
  debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$root.log" 2>&1 || { tail -n 20 "$root.log" >&2; stop "debootstrap failed"; }
  rm -f "$root.log"
  rm -rf "$root/etc/apt"
  cp -a /etc/apt "$root/etc/apt"
  for file in /etc/resolv.conf /etc/hosts; do [ ! -e "$file" ] || cp -L "$file" "$root$file"; done
  if [ -d /usr/local/share/ca-certificates ]; then cp -a /usr/local/share/ca-certificates "$root/usr/local/share/"; fi
  mount -t proc proc "$root/proc"
  mount -t sysfs -o ro sysfs "$root/sys"
  mount --bind /dev "$root/dev"
  mount -t devpts devpts "$root/dev/pts"  # for the tests of what a terminal sees
  inside apt-get update -qq
}

# What git knows of the tree, and what is new in it and not ignored: the sources without a build.
copy_tree() {
  mkdir -p "$root/root/distsim"
  (cd "$tree" && git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -cf - -T -) | tar -xf - -C "$root/root/distsim"
}

check_prediction() {
  grep -q 'ms per iteration' "$1" || { cat "$1" >&2; stop "found no prediction in what distsim printed"; }
  head -n 3 "$1"
}

prove_run() {
  copy_tree
  inside sh -c "cd /root/distsim && ./distsim --config $experiment" >"$root/root/printed"
  check_prediction "$root/root/printed"
}

prove_tests() {
  copy_tree
  inside sh -c "cd /root/distsim && ./run_tests"
}

# Makes the package in build/, which stays as it is configured, and prints where it is.
new_package() {
  cd "$tree"
  [ -e build/CMakeCache.txt ] || cmake --preset run >&2
  cmake --build build --target distsim >&2
  rm -f build/packages/distsim_*.deb
  (cd build && cpack -G DEB -D CPACK_COMPONENTS_ALL=simulator >&2)
  ls "$tree"/build/packages/distsim_*.deb
}

prove_deb() {
  package=${1:-$(new_package)}
  [ -f "$package" ] || stop "found no package '$package'"
  cp "$package" "$root/root/distsim.deb"
  inside apt-get install -y -qq --no-install-recommends /root/distsim.deb >"$root/root/apt.log" 2>&1 || { tail -n 20 "$root/root/apt.log" >&2; stop "apt could not install the package"; }
  inside distsim --config "/usr/share/distsim/$experiment" >"$root/root/printed"
  check_prediction "$root/root/printed"
  inside distsim list systems | grep -q '^dgx_a100_80gb ' || stop "the installed program does not find its systems"
  inside sh -c 'ls /usr/share/man/man1/distsim.1* /usr/share/bash-completion/completions/distsim /usr/share/zsh/vendor-completions/_distsim /usr/share/doc/distsim/copyright' >/dev/null || stop "the package lacks files"
  inside apt-get remove -y -qq distsim >/dev/null 2>&1
  [ ! -e "$root/usr/share/distsim" ] || stop "removing the package leaves files in /usr/share/distsim"
}

make_root
case "$1" in
  run) prove_run ;;
  tests) prove_tests ;;
  deb) prove_deb "${2-}" ;;
esac
say "$1: proved"
