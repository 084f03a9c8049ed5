#!/bin/sh
# The runtime exports numdiff_v1_* under their version, needs only the C and C++
# libraries, and calls nothing that prints or ends the program.
# Usage: exports.sh LIBRARY
library=$1
command -v nm >/dev/null && command -v readelf >/dev/null || exit 77
failed=0
unexpected=$(nm -D --defined-only "$library" | awk '$2 != "A" {print $3}' | grep -v '^numdiff_v1_')
[ -z "$unexpected" ] || { echo "exported: $unexpected"; failed=1; }
nm -D --defined-only "$library" | grep -q 'numdiff_v1_capture' || { echo "numdiff_v1_capture is not exported"; failed=1; }
needed=$(readelf -d "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
  grep -v -E '^(libstdc\+\+|libm|libgcc_s|libc|libpthread|libdl|ld-linux.*)\.so')
[ -z "$needed" ] || { echo "needs: $needed"; failed=1; }
calls=$(nm -D --undefined-only "$library" | awk '{print $2}' | sed 's/@.*//' |
  grep -x -E 'abort|printf|puts|fputs|fprintf|vfprintf|perror|exit|_exit|_ZSt4cout|_ZSt4cerr|__assert_fail')
[ -z "$calls" ] || { echo "calls: $calls"; failed=1; }
exit $failed
