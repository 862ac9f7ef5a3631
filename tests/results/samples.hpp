// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "results/record.hpp"

namespace tutti {

/// A point with something in every field.
inline Point sample_point() {
    Point point;
    point.session = "s1";
    point.launch = 2;
    point.key = {.coll = Collective::all_reduce,
                 .algo = "ring",
                 .transport = "shm",
                 .dtype = DataType::float32,
                 .op = Op::sum,
                 .count = 256,
                 .bytes = {1024},
                 .nranks = 4,
                 .ppn = 2,
                 .segment = {512},
                 .placement = "scatter"};
    point.mode = Start::deadline;
    point.def = TimeFrom::last_arrival;
    point.n_invalid = 1;
    point.n_warm = 3;
    point.stop_reason = "target_ci";
    point.samples = {1200, 1000, 1100, 1000, 5000};
    point.time = summarise(point.samples);
    point.skew_p50_ns = 40;
    point.straggler = {{Rank{0}, 3}, {Rank{3}, 2}};
    point.bandwidth = bandwidth(point.key.coll, 4, {1024}, static_cast<double>(point.time.p50));
    point.check = {.state = CheckState::ok, .max_ulp = 0.5};
    return point;
}

inline Point skipped_point() {
    Point point;
    point.launch = 2;
    point.key = {.coll = Collective::broadcast,
                 .algo = "tree",
                 .transport = "shm",
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

inline std::string content_of(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

inline void fill(const std::filesystem::path& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
}

}  // namespace tutti
