// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>

#include "base/json_writer.hpp"
#include "cli/options/bench_options.hpp"
#include "results/records/launch.hpp"
#include "results/tables/text_table.hpp"

namespace tutti {

/// What nccl-tests writes to the file behind its -J (version 3): the same fields in the same order.
class NcclTestsJson {
public:
    /// Takes FILE, or FILE.0, FILE.1, ... where there is one already. Throws Error if it cannot be
    /// written.
    NcclTestsJson(const BenchOptions& options, const Launch& launch, bool per_iteration);

    const std::string& file() const { return file_; }
    void add(const TableRow& row);
    /// The file whole; `okay` is that of the average bus bandwidth, if a least one was asked for.
    void end(const TableTotals& totals, std::optional<bool> okay);

private:
    std::string file_;
    bool per_iteration_;
    Json json_;
};

}  // namespace tutti
