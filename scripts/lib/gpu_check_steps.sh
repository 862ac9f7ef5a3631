#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The steps of scripts/gpu_check, to be sourced. A step that is impossible here prints why and ends with 77.

find_nvcc() {
    local path
    for path in "${CUDACXX:-}" "$(command -v nvcc)" "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" /usr/local/cuda/bin/nvcc; do
        [[ -x $path ]] && { echo "$path"; return; }
    done
    return 1
}

# Asks the driver, which needs no build.
has_gpu() { [[ -n $(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | grep -v -i 'no devices\|failed') ]]; }

why_no_gpu() {
    if ! command -v nvidia-smi >/dev/null; then echo "no driver: nvidia-smi is missing"; return; fi
    echo "nvidia-smi says: $(nvidia-smi 2>&1 | head -n 1)"
}

describe_machine() {
    echo "# $(date -u +%Y-%m-%dT%H:%M:%SZ) $(git rev-parse --short=12 HEAD 2>/dev/null || echo 'no checkout')"
    echo "# $("$1" --version | grep -o 'release [0-9.]*'), $(c++ --version | head -n 1), $(cmake --version | head -n 1)"
    if has_gpu; then
        nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm --format=csv,noheader | sed 's/^/# GPU: /'
    else
        echo "# no GPU ($(why_no_gpu))"
    fi
}

# Copies headers, archives and CMake's files in Debian's folder layout, so that CMake's files need no change. MPI, UCX
# and hwloc, whose versions may differ on other machines, are not copied: no rank leaves the machine.
pack_libraries() {
    local to=$PWD/$1 libraries
    libraries=$(find /usr/lib -name libgtest.a -printf '%h' -quit 2>/dev/null)
    [[ -d $libraries ]] || { echo "gpu_check: the libraries are not here either; use scripts/setup" >&2; return 64; }
    rm -rf "$to"
    mkdir -p "$to"
    (
        cd /usr || exit
        libraries=${libraries#/usr/}
        cp -rL --parents include/{fmt,nlohmann,CLI,gtest,gmock,benchmark} include/tinyxml2.h \
            "$libraries"/lib{gtest,gmock,benchmark_main}*.a "$libraries"/lib{fmt,tinyxml2,benchmark}.so* "$to" || exit
        local folder folders=()
        for folder in "$libraries/cmake" share/cmake lib/cmake; do [[ -d $folder ]] && folders+=("$folder"); done
        find "${folders[@]}" -maxdepth 1 \
            \( -iname fmt -o -name GTest -o -name benchmark -o -name tinyxml2 -o -name CLI11 -o -name nlohmann_json \) \
            -exec cp -r --parents -t "$to" {} +
    ) || {
        rm -rf "$to"
        echo "gpu_check: nothing is packed, as a file could not be copied; if it is missing, use scripts/setup" >&2
        return 1
    }
    echo "packed into $1 ($(du -sh "$to" | cut -f 1)): copy it together with scripts/"
}

# Prints "all of tutti" if the libraries are here, else "the core alone".
kind_of_build() {
    local trial
    trial=$(mktemp -d)
    cat >"$trial/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(trial CXX)
find_package(Threads REQUIRED)
foreach(library fmt nlohmann_json CLI11 tinyxml2 GTest)
    find_package(${library} REQUIRED)
endforeach()
END
    if cmake -S "$trial" -B "$trial/build" "$(prefix)" >/dev/null 2>&1; then echo "all of tutti"; else echo "the core alone"; fi
    rm -rf "$trial"
}

prefix() { echo "-DCMAKE_PREFIX_PATH=$PWD/.gpu-libraries"; }

configure() {
    local kind=$1 build=$2 nvcc=$3 options=(-DTUTTI_MPI=OFF -DTUTTI_UCX=OFF -DTUTTI_HWLOC=OFF -DTUTTI_CUDA=ON)
    [[ $kind == "the core alone" ]] && options+=(-DTUTTI_CORE_ONLY=ON)
    # Only one architecture, which halves the time: that of the GPU, or the expected one.
    local capability
    capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .)
    [[ $capability =~ ^[0-9]+$ ]] || capability=90
    local generator=()
    command -v ninja >/dev/null && generator=(-G Ninja)
    CUDACXX=$nvcc cmake -S . -B "$build" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release "$(prefix)" \
        -DCMAKE_CUDA_ARCHITECTURES="${TUTTI_GPU_ARCHITECTURES:-$capability}" "${options[@]}"
}

# Builds only programs of the steps.
compile() { cmake --build "$1" --parallel "$(nproc)" --target gpu_programs; }

programs_in() {
    find "$1" -maxdepth 1 -type f -executable \( -name 'test_*' -o -name '*_bench' -o -name gpu_sweep -o -name tutti \) | sort
}

run_tests() {
    [[ -e $1/CTestTestfile.cmake ]] || { echo "no GoogleTest, no tests; the sweeps check every result"; return 77; }
    ctest --test-dir "$1" -L gpu --output-on-failure --timeout 120
}

# Uses small cases, as NVIDIA's tool checks each access.
sanitized() {
    local build=$1 tool=$2 sanitizer
    sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null) ||
        { echo "no compute-sanitizer here"; return 77; }
    "$sanitizer" --tool "$tool" --error-exitcode 2 "$build/gpu_sweep" "${TUTTI_GPU_TRANSPORT:-cuda}" all_reduce 2 4096 16384 5
}

run_kernel_bench() {
    [[ -x $1/cuda_kernels_bench ]] || { echo "no Google Benchmark, no cuda_kernels_bench"; return 77; }
    "$1/cuda_kernels_bench" --benchmark_format=console --benchmark_out="$2" --benchmark_out_format=json
}

virtual_ranks() {
    "$1/gpu_sweep" "${TUTTI_GPU_TRANSPORT:-cuda}" all_reduce "$2" 8192 268435456 25 | tee "$3"
}

# Prints the fastest correct result of every size.
best_of() {
    python3 - "$@" <<'END'
import json, sys
best = {}
for path in sys.argv[1:]:
    try:
        lines = open(path)
    except OSError:
        continue
    for line in lines:
        try:
            point = json.loads(line)
        except ValueError:
            continue  # the program was stopped while it wrote
        if point.get("kind") != "point" or point["check"]["state"] != "ok":
            continue
        place = (point["key"]["nranks"], point["key"]["bytes"])
        if place not in best or point["t_ns"]["p50"] < best[place]["t_ns"]["p50"]:
            best[place] = point
if best:
    print(f"{'ranks':>5} {'bytes':>10} {'best':<22} {'p50 us':>10} {'busbw GB/s':>10}")
for (ranks, size), point in sorted(best.items()):
    print(f"{ranks:>5} {size:>10} {point['key']['algo']:<22} {point['t_ns']['p50'] / 1000:>10.1f} "
          f"{point['busbw_GBps']:>10.1f}")
END
}
