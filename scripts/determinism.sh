#!/bin/sh
# determinism.sh: builds distsim with g++ and clang at -O0 and -O3 into build-matrix/ and holds all four, under every condition of
# tests/pressure/determinism_test.py, to one sha256 per command. Takes an hour on two cores.
set -eu
cd "$(dirname -- "$0")/.."
rm -rf build-matrix/digests.json
for compiler in g++ clang++-16 clang++-14; do
  command -v "$compiler" > /dev/null || { echo "determinism.sh: no $compiler, left out"; continue; }
  for level in O0 O3; do
    build=build-matrix/$compiler-$level
    # shuffle_shim is a target of the tests, which need not be built
    cmake -S . -B "$build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-$level" -DDISTSIM_BENCH=OFF -DDISTSIM_UNITY=ON > /dev/null
    cmake --build "$build" --target distsim shuffle_shim > "$build/build.log" 2>&1 || { grep -m 5 error "$build/build.log"; exit 1; }
    echo "$compiler -$level"
    python3 tests/pressure/determinism_test.py "$build/bin/distsim" "$build/bin/shuffle_shim.so" --all --digests build-matrix/digests.json
  done
done
