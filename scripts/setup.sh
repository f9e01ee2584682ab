# Sourced by ./distsim and ./run_tests: what a Debian or Ubuntu machine needs, and how it is built. Not to be run by itself.
# The caller sets assume_yes to yes (--yes) or no.
# Messages go to standard error, so that standard output stays the program's own.

packages_to_run="g++ cmake ninja-build protobuf-compiler libprotobuf-dev libyaml-cpp-dev nlohmann-json3-dev libcli11-dev libspdlog-dev libfmt-dev zlib1g-dev libsimdjson-dev libsqlite3-dev libminizip-dev libre2-dev libtbb-dev libboost-dev"
packages_to_test="$packages_to_run libgtest-dev libgmock-dev libbenchmark-dev openmpi-bin libopenmpi-dev ccache mold clang-format-14 python3 python3-dev pybind11-dev mypy groff-base zsh"

say() { printf '%s\n' "distsim: $*" >&2; }

# Names of the packages in "$@" that are not installed.
missing_packages() {
  for package in "$@"; do
    # Headers of any Boost will do; versions of them exclude each other.
    [ "$package" = libboost-dev ] && [ -e /usr/include/boost/asio.hpp ] && continue
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || printf '%s ' "$package"
  done
}

# Runs "$@" as root: as it is, or through sudo.
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

# may_install NAME...: whether apt may install these. Root need not be asked, nor somebody who said --yes ($assume_yes), nor a script.
# Status 2 where the answer is no, or where there is no way to become root.
may_install() {
  by_hand="apt-get install --no-install-recommends $*"
  [ "$(id -u)" = 0 ] && { say "installing $* (once)"; return 0; }
  if ! command -v sudo >/dev/null 2>&1; then
    say "missing packages, and no sudo to install them; as root: $by_hand"
    return 2
  fi
  if [ "$assume_yes" = yes ] || ! [ -t 0 ]; then say "installing $* with sudo (once)"; return 0; fi
  printf 'distsim: missing packages: %s\nInstall them now with sudo apt-get? [Y/n] ' "$*" >&2
  read -r answer || { answer=no; printf '\n' >&2; }  # end of input
  case "$answer" in
    '' | [Yy] | [Yy][Ee][Ss]) return 0 ;;
  esac
  say "nothing installed; by hand: sudo $by_hand"
  return 2
}

# install_packages NAME...: installs what is missing with apt, if it may. Elsewhere, says what to install.
install_packages() {
  if ! command -v dpkg-query >/dev/null 2>&1; then
    say "not a Debian or Ubuntu machine; the build needs what these packages hold: $*"
    return 0
  fi
  missing=$(missing_packages "$@")
  missing=${missing% }
  [ -n "$missing" ] || return 0
  # shellcheck disable=SC2086  # one word per package
  may_install $missing || return 2
  log=$(mktemp)
  # shellcheck disable=SC2086
  if ! { as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq &&
         as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing; } >"$log" 2>&1; then
    tail -n 15 "$log" >&2
    say "apt could not install $missing"
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

# What the page's tests and its build check need from npm, where there is npm and a Chromium to use it in.
install_page_tools() {
  [ -e web/package-lock.json ] && [ ! -e web/node_modules/axe-core ] || return 0
  command -v npm >/dev/null 2>&1 && command -v chromium >/dev/null 2>&1 || return 0
  (cd web && timeout 120 npm ci --no-audit --no-fund >/dev/null 2>&1) || say "web/node_modules: npm ci failed; the page is tested without axe-core"
}

# build PRESET TARGET...: configures where needed and builds; the log is shown only when it fails.
build() {
  preset=$1; shift
  folder=build
  mkdir -p "$folder"
  log="$folder/build.log"
  unity=
  [ -e "$folder/CMakeCache.txt" ] || unity=-DDISTSIM_UNITY=ON  # a first build compiles everything; who changes files keeps his choice
  if ! cmake --preset "$preset" $unity >"$log" 2>&1; then
    tail -n 30 "$log" >&2; say "configuration failed (full log: $log)"; return 1
  fi
  sed -n 's/^-- \(.*\(not built\|built without\|not run\).*\)/distsim: \1/p' "$log" >&2
  if ! cmake --build "$folder" ${1:+--target "$@"} >>"$log" 2>&1; then
    grep -E -m 20 'error|FAILED|Error' "$log" >&2; say "build failed (full log: $log)"; return 1
  fi
}
