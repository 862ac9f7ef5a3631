// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tests/topology/shared_data.hpp"

namespace tutti {

/// A recorded trace of DistributedDataParallel; none where the folder of traces is absent.
inline std::optional<nlohmann::json> recorded_trace(const std::string& name) {
    const auto file = shared_file("data/traces/" + name);
    if (!file) return std::nullopt;
    return nlohmann::json::parse(content_of(*file));
}

}  // namespace tutti

/// Names `trace`, or skips the test.
#define TRACE_OR_SKIP(trace, name)                                     \
    const auto trace##_read = tutti::recorded_trace(name);             \
    if (!trace##_read) GTEST_SKIP() << "no recorded trace " << (name); \
    const auto& trace = *trace##_read
