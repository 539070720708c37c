#!/bin/sh
# One call of under two minutes on a machine with a GPU: the timer's tests, the C++ baselines' self check, the sanitizer.
# Needs build-device/ made by scripts/device/pack_baselines. Writes logs and JSON under $OUT, ends with 1 when anything failed.
set -u
here=$(pwd)
device="$here/build-device"
out=${OUT:-$here/build-device/out}
python=${PYTHON:-python3}
mkdir -p "$out"
status=0

step() {  # name, limit in seconds, command...: runs it with its output in a file, keeps how it ended
  name=$1; limit=$2; shift 2
  begun=$(date +%s)
  timeout "$limit" "$@" > "$out/$name.txt" 2>&1
  code=$?
  seconds=$(($(date +%s) - begun))
  [ "$code" -eq 0 ] || status=1
  printf '{"step": "%s", "status": %d, "seconds": %d}\n' "$name" "$code" "$seconds" >> "$out/steps.jsonl"
  echo "== $name: status $code, $seconds s"; tail -n "${LINES_SHOWN:-12}" "$out/$name.txt"
}

: > "$out/steps.jsonl"
nvidia-smi --query-gpu=name,driver_version,clocks.sm,temperature.gpu,power.draw --format=csv > "$out/nvidia-smi.txt" 2>&1
for wheel in "$device"/*.whl; do "$python" -m zipfile -e "$wheel" "$device/headers" > /dev/null 2>&1; done
# Where PyTorch brings CUDA's libraries along, they lie among its packages.
packages=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' 2>/dev/null)
cache=/tmp/hillclimb-kernels
# Only our programs get the libraries that travelled: Python has its own.
ours="env LD_LIBRARY_PATH=$device/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

step timer 120 $ours "$device/bench_test" --gtest_filter='TimerCuda*:GpuCanary*' --gtest_output="json:$out/timer.json"
step compiled 60 $ours "$device/baselines_test" --gtest_filter='Compiled*:Absent*:Plans*:Calls*' --gtest_output="json:$out/compiled.json"
LINES_SHOWN=60 step baselines 90 "$python" scripts/device/baselines.py --out "$out" --worker "$device/cuda-worker" \
  --search "$packages" --cache "$cache" --budget-s "${BUDGET_S:-60}"
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null || true)
if [ -n "$sanitizer" ]; then
  before=$status
  step sanitizer 60 "$python" scripts/device/baselines.py --pinned --out "$out" --search "$packages" --cache "$cache" --budget-s 40 \
    --worker "$sanitizer --tool memcheck --error-exitcode 9 --target-processes all --log-file $out/memcheck.txt $device/cuda-worker"
  # Not every virtual machine lets the sanitizer see its GPU: that is no fault of the kernels.
  if grep -q -i -E 'not supported|error 999' "$out/memcheck.txt" "$out/sanitizer.txt" 2>/dev/null; then
    echo '{"step": "sanitizer", "status": null, "reason": "the sanitizer cannot use this GPU"}' >> "$out/steps.jsonl"
    status=$before
  fi
  tail -n 5 "$out/memcheck.txt" 2>/dev/null
else
  echo '{"step": "sanitizer", "status": null, "reason": "compute-sanitizer is not installed"}' >> "$out/steps.jsonl"
fi
exit "$status"
