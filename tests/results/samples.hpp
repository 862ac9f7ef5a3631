// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "results/records/record.hpp"
#include "tests/base/files.hpp"
#include "tests/base/messages.hpp"

namespace tutti {

/// A point with something in every field.
inline Point sample_point() {
    Point point;
    point.session = "s1";
    point.launch = 2;
    point.key = {.coll = Collective::all_reduce,
                 .configuration = {.algorithm = "ring", .transport = "shm", .segment = {512}},
                 .dtype = DataType::float32,
                 .op = Op::sum,
                 .count = 256,
                 .bytes = {1024},
                 .nranks = 4,
                 .ppn = 2,
                 .placement = "scatter"};
    point.measured.start = Start::deadline;
    point.measured.from = TimeFrom::last_arrival;
    point.measured.n_invalid = 1;
    point.measured.n_warm = 3;
    point.measured.stop_reason = "target_ci";
    point.measured.samples = {1200, 1000, 1100, 1000, 5000};
    point.time = summarise(point.measured.samples);
    point.measured.skew_p50_ns = 40;
    point.measured.stragglers = {{Rank{0}, 3}, {Rank{3}, 2}};
    point.bandwidth = bandwidth(point.key.coll, 4, {1024}, static_cast<double>(point.time.p50));
    point.measured.check = {.state = CheckState::ok, .max_ulp = 0.5};
    point.measured.clock_residual_ns = 80;
    point.measured.network_bytes =
        NetworkBytes{.host = 1,
                     .tx_per_call = 1060,
                     .rx_per_call = 1050,
                     .interfaces = {{"eth0", 1000, 990}, {"eth1", 60, 60}}};
    point.measured.energy_J = 0.0625;
    point.measured.gpu_energy_J = 0.5;
    point.measured.power = {{0, "package-0", 81.5}, {1, "GPU 0", 310}};
    point.limit_ns = 550;
    point.pct_of_limit = 50;
    return point;
}

/// Returns invented limits of two cores with easy numbers: 100 GB/s for a core alone, 80 for both
/// at once, half of it from 1 MiB on; sums 10 % slower; a line takes 40 ns, an exchange 60 ns.
inline Limits sample_limits() {
    Limits limits{.session = "s1",
                  .launch = 2,
                  .t = "2026-01-31T12:00:00.000Z",
                  .topo_sha256 = "abc",
                  .kernels = "avx2",
                  .cores = 2,
                  .clock_ns = 20.5,
                  .signal_latencies = {{Rank{0}, Rank{1}, 40, 60}},
                  .yield_ns = 1000,
                  .wake_ns = 15000,
                  .wake_same_core_ns = 2500,
                  .curves = {},
                  .staged = {{{4096}, {65536}}, {8, 10}},
                  .single_copy_ns = 1500,
                  .single_copy = {{{65536}}, {5}},
                  .stream_trials = {{{1 << 20}, 100, 120}, {{2 << 20}, 300, 200}},
                  .stream_from = {2 << 20}};
    for (const char* pass : {"copy", "add", "add2", "add_in_place", "add2_in_place"})
        for (const int cores : {1, 2}) {
            const double rate = (cores == 1 ? 100 : 80) * (pass[0] == 'a' ? 0.9 : 1);
            limits.curves.push_back(
                {.pass = pass,
                 .stores = "cached",
                 .cores = cores,
                 .rates = {{{4096}, {1 << 19}, {1 << 20}}, {rate, rate, rate / 2}}});
        }
    for (const char* pass : {"add_rewritten", "add2_rewritten"})
        limits.curves.push_back(
            {.pass = pass,
             .stores = "cached",
             .cores = 2,
             .rates = {{{4096}, {1 << 20}}, {pass[3] == '2' ? 24.0 : 18.0, 12}}});
    limits.network = HostNetwork{.hosts = {"n0", "n1"},
                                 .links = {{.a = 0,
                                            .b = 1,
                                            .latency_ns = 50'000,
                                            .gbps = 0.125,
                                            .back_gbps = 0.124,
                                            .both_gbps = 0.11,
                                            .burst = {65536},
                                            .residual = 0.01}},
                                 .all_gbps = 0.12};
    limits.curves.push_back({"copy", "streaming", 2, {{{4096}, {1 << 20}}, {20, 50}}});
    limits.curves.push_back({"copy", "streaming", 1, {{{4096}, {1 << 20}}, {20, 50}}});
    return limits;
}

inline Point skipped_point() {
    Point point;
    point.launch = 2;
    point.key = {.coll = Collective::broadcast,
                 .configuration = {.algorithm = "tree", .transport = "shm"},
                 .root = Rank{1},
                 .bytes = {8}};
    point.skipped = "needs a power of two; 6 ranks given";
    return point;
}

/// A folder that is gone when the test is over.
class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "tutti-XXXXXX").string();
        path_ = ::mkdtemp(pattern.data());
    }
    ~TemporaryFolder() { std::filesystem::remove_all(path_); }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

private:
    std::filesystem::path path_;
};

inline void fill(const std::filesystem::path& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
}

}  // namespace tutti
