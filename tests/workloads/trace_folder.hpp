// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "base/error.hpp"
#include "workloads/traces/stragglers.hpp"
#include "workloads/traces/trace.hpp"

namespace tutti {

/// Reads a trace and makes its program.
inline OpsProgram replayed(const std::string& typed) {
    const Trace trace = read_trace(typed);
    return program_of(std::get<OpsTrace>(trace.what), trace.model, Blocks::padded);
}

/// Returns the error of `read`; empty if there is none.
template <class Read>
std::string error_of(Read&& read) {
    try {
        read();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

/// Returns why a trace cannot be replayed; empty if it can.
inline std::string refused(const std::string& typed) {
    return error_of([&] { replayed(typed); });
}

/// A folder for the files of a test, which is removed after it.
class TraceFolder : public testing::Test {
protected:
    void SetUp() override {
        std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
        std::ranges::replace(name, '/', '-');
        folder_ =
            std::filesystem::temp_directory_path() / fmt::format("tutti-{}-{}", getpid(), name);
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string file(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name, std::ios::binary) << text;
        return (folder_ / name).string();
    }
    std::string folder() const { return folder_.string(); }

    static OpsTrace ops(const std::string& typed) {
        return std::get<OpsTrace>(read_trace(typed).what);
    }

    /// Calls `use` with the path of damaged copies of a text: cut off, or with other bytes.
    template <class Use>
    void for_each_damaged(const std::string& name, const std::string& original, int trials,
                          unsigned seed, Use&& use) const {
        std::mt19937 random(seed);
        for (int trial = 0; trial < trials; ++trial) {
            std::string damaged = original;
            if (trial % 3 == 0) damaged.resize(random() % original.size());
            for (unsigned change = 0; change < 1 + random() % 4 && !damaged.empty(); ++change)
                damaged[random() % damaged.size()] = static_cast<char>(random());
            use(file(name, damaged));
        }
    }

    std::filesystem::path folder_;
};

/// Expects that a file is read, or refused in one line.
inline void expect_stragglers_or_one_line(const std::string& typed) {
    const std::string words = error_of([&] { EXPECT_FALSE(stragglers_in(typed).ranks.empty()); });
    EXPECT_EQ(words.find('\n'), std::string::npos) << words;
}

}  // namespace tutti
