#!/bin/sh
# tidy.sh [BASE] [-j N]: clang-tidy with the checks of .clang-tidy over every C++ source, or over those that differ from the commit BASE
# (a changed header does not count: the sources that include it do, once they are given). Needs a configured build: cmake --preset default.
set -eu
cd "$(dirname -- "$0")/.."
. scripts/setup.sh
base='' jobs=2
while [ $# -gt 0 ]; do
  case "$1" in
    -h | --help) sed -n '2,3s/^# //p' "$0"; exit 0 ;;
    -j) [ $# -ge 2 ] || { say "found -j without a number"; exit 2; }; jobs=$2; shift 2 ;;
    -*) say "found '$1', expected a commit or -j N"; exit 2 ;;
    *) base=$1; shift ;;
  esac
done

tidy=$(command -v clang-tidy-14 || command -v clang-tidy) || { say "clang-tidy is not installed: apt-get install clang-tidy-14"; exit 2; }
[ -f build/compile_commands.json ] || { say "found no build/compile_commands.json, expected: cmake --preset default"; exit 2; }
if [ -n "$base" ] && ! git rev-parse --quiet --verify "$base^{commit}" >/dev/null; then
  say "found '$base', expected a commit to compare with"; exit 2
fi

wanted=$(mktemp)
trap 'rm -f "$wanted"' EXIT
if [ -n "$base" ]; then
  git diff --name-only --diff-filter=d "$base" -- '*.cpp' && git ls-files --others --exclude-standard -- '*.cpp'
else
  git ls-files -- '*.cpp'
fi | while read -r file; do  # only what the build knows how to compile
  grep -qF "\"$PWD/$file\"" build/compile_commands.json && printf '%s\n' "$file"
done >"$wanted" || true
say "clang-tidy over $(wc -l <"$wanted") files"
# Flags that only GCC knows (precompiled headers, its sanitizer lists) must not stop clang.
xargs -r -P "$jobs" -n 1 "$tidy" --quiet -p build --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-ignored-optimization-argument \
  --extra-arg=-Wno-unused-command-line-argument <"$wanted"
