// SPDX-License-Identifier: Apache-2.0
#include "cli/comparison_file.hpp"

#include <algorithm>
#include <filesystem>

#include "cli/provenance.hpp"
#include "results/store.hpp"

namespace tutti {

void keep(const ComparisonRecords& records) {
    if (records.file.empty()) return;
    Store store(records.file);
    store.append(records.session);
    const std::string& session = records.session.id;
    const auto append_all = [&](auto list) {
        for (auto& record : list) {
            record.session = session;
            store.append(record);
        }
    };
    store.append(describe_launch(*world_of_one(), session));
    append_all(records.pairs);
    append_all(records.verdicts);
    append_all(records.floors);
    append_all(records.growth);
    for (const std::string& wrong : records.wrong)
        store.append(
            Fail{.session = session, .phase = "compare", .what = "check", .stderr_tail = wrong});
    store.append(End{.session = session, .ok = records.wrong.empty(), .wall_ns = records.wall_ns});
}

std::vector<ComparisonRecords> comparisons_in(const Results& results) {
    std::vector<ComparisonRecords> all;
    for (const Session& session : results.sessions) {
        if (session.argv.size() < 2 || session.argv[1] != "compare") continue;
        ComparisonRecords& records = all.emplace_back();
        records.session = session;
        const auto is_of_it = [&](const auto& record) { return record.session == session.id; };
        std::ranges::copy_if(results.pairs, std::back_inserter(records.pairs), is_of_it);
        std::ranges::copy_if(results.verdicts, std::back_inserter(records.verdicts), is_of_it);
        std::ranges::copy_if(results.step_growth, std::back_inserter(records.growth), is_of_it);
        std::ranges::copy_if(results.floors, std::back_inserter(records.floors), is_of_it);
        for (const Fail& fail : results.fails)
            if (is_of_it(fail) && fail.what == "check") records.wrong.push_back(fail.stderr_tail);
    }
    return all;
}

ComparisonRecords stored_comparison(const std::string& file) {
    auto all = comparisons_in(read_results(std::filesystem::path(file)));
    if (all.empty())
        throw Error("'" + file +
                    "' holds no comparison; type a file that 'tutti compare --json' wrote");
    all.back().file = file;
    return std::move(all.back());
}

}  // namespace tutti
