#!/bin/sh
# fuzz.sh [SECONDS] [TARGET...]: builds the fuzzers with clang into build-fuzz and runs each for SECONDS (default 60) from the seeds in
# tests/fuzz, with at most 512 MiB. New inputs are kept in build-fuzz/corpus/TARGET, findings in build-fuzz/findings.
#   FUZZ_MERGE=1   afterwards adds to tests/fuzz/corpus what reaches code that its files do not, up to 4 KiB each
# Where clang is missing, it says so in one line and ends with 0.
set -eu
cd "$(dirname -- "$0")/.."
seconds=${1:-60}
[ $# -gt 0 ] && shift
clang=$(command -v clang++-16 || command -v clang++-14 || command -v clang++ || true)
[ -n "$clang" ] || { echo "fuzz.sh: no clang found, nothing is fuzzed; apt-get install clang"; exit 0; }

cmake -S . -B build-fuzz -G Ninja -DCMAKE_CXX_COMPILER="$clang" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DDISTSIM_FUZZ=ON -DDISTSIM_TESTS=OFF \
      -DDISTSIM_BENCH=OFF -DDISTSIM_UNITY=ON > build-fuzz.log 2>&1 || { cat build-fuzz.log; exit 1; }
rm -f build-fuzz.log
[ $# -gt 0 ] || set -- $(ls tests/fuzz/*_fuzz.cpp | sed 's|.*/||; s|_fuzz.cpp||')
cmake --build build-fuzz --target $(printf '%s_fuzz ' "$@") > build-fuzz/build.log 2>&1 || { grep -m 20 "error" build-fuzz/build.log; exit 1; }
status=0
for target in "$@"; do
  kept=build-fuzz/corpus/$target findings=build-fuzz/findings/$target
  mkdir -p "$kept" "$findings" "tests/fuzz/corpus/$target"
  seeds=$(awk -v t="$target" '$1 == t { print $2 }' tests/fuzz/seeds.txt)
  for seed in $seeds; do  # libFuzzer takes folders
    if [ -d "$seed" ]; then find "$seed" -maxdepth 1 -type f -size -64k -exec cp {} "$kept" \; ; else cp "$seed" "$kept"; fi
  done
  printf '%-12s' "$target"
  : > "build-fuzz/$target.log"
  ended=well
  for length in 1024 65536; do  # most of what there is to find is short, and twenty times as many short inputs fit into the time
    ASAN_OPTIONS=allocator_may_return_null=0:detect_leaks=1:quarantine_size_mb=64 build-fuzz/bin/"${target}_fuzz" -max_total_time="$(((seconds + 1) / 2))" -max_len="$length" -rss_limit_mb=512 \
         -timeout=10 -entropic=0 -print_final_stats=1 -artifact_prefix="$findings/" "$kept" "tests/fuzz/corpus/$target" >> "build-fuzz/$target.log" 2>&1 || { ended=badly; break; }
  done
  awk -v s="$seconds" '/stat::number_of_executed_units/ { n += $2 } /stat::peak_rss_mb/ { if ($2 > m) m = $2 } END { printf "%10d inputs, %6d a second, %4d MiB", n, n / s, m }' "build-fuzz/$target.log"
  if [ "$ended" = well ]; then
    echo ", no finding"
  else
    status=1
    echo ", FINDING: see build-fuzz/$target.log and $findings"
    grep -m 3 -E "ERROR|SUMMARY|CHECK|runtime error" "build-fuzz/$target.log" || true
  fi
  if [ -n "${FUZZ_MERGE:-}" ]; then
    mkdir -p build-fuzz/merged/"$target"
    build-fuzz/bin/"${target}_fuzz" -merge=1 -max_len=4096 -rss_limit_mb=512 build-fuzz/merged/"$target" "$kept" > /dev/null 2>&1 || true
    find build-fuzz/merged/"$target" -type f -size -4k | sort | head -n 40 | while read -r file; do cp "$file" "tests/fuzz/corpus/$target"; done
  fi
done
exit $status
