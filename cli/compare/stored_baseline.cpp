// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "base/clock.hpp"
#include "cli/compare/launches.hpp"
#include "results/records/store.hpp"

namespace tutti {
namespace {

constexpr double longest_launch_seconds = 3600;  // its own waits have shorter time limits

StoredRuns runs_in(const std::string& file, std::uintmax_t from = 0) {
    std::ifstream stream(file, std::ios::binary);
    if (from == 0 || !stream) return stored_runs(read_results(std::filesystem::path(file)));
    stream.seekg(static_cast<std::streamoff>(from));
    return stored_runs(read_results(stream, file));
}

// Returns the size of the file. Opening it removes an incomplete last line now, before the first
// launch would.
std::uintmax_t whole_records_of(const std::string& file) {
    if (!std::filesystem::is_regular_file(file)) return 0;
    const Store mended(file);
    return std::filesystem::file_size(file);
}

StoredRuns measured(const StoredRuns& runs, const std::string& file) {
    if (runs.launches == 0)
        throw Error("'" + file +
                    "' contains no measurements; use a file that 'tutti bench' or 'tutti workload' "
                    "wrote with --json");
    return runs;
}

class NewLaunches {
public:
    NewLaunches(const StoredBaseline& baseline, const std::function<void(const std::string&)>& tell)
        : baseline_(baseline), tell_(tell) {}

    StoredRuns run(BaselineResult& result) {
        const TemporaryFolder folder;
        const std::string file = baseline_.kept_in.empty() ? folder.file() : baseline_.kept_in;
        const std::uintmax_t before = whole_records_of(file);
        const std::int64_t began_ns = now_ns();
        for (int i = 0; i < baseline_.launches; ++i) {
            const double spent = seconds_since(began_ns);
            result.ran_out = i > 0 && spent / i * (i + 1) > baseline_.budget_seconds;
            if (result.ran_out) break;
            tell_(fmt::format("launch {} of {}", i + 1, baseline_.launches));
            launch(file);
            ++result.launches;
        }
        return measured(runs_in(file, before), file);
    }

private:
    void launch(const std::string& file) const {
        Command job = baseline_.job;
        job.words.insert(job.words.end(), {"--json", file});
        // Wrong results are reported from the records.
        run_job(job, "B", longest_launch_seconds, Exit::not_comparable);
    }

    const StoredBaseline& baseline_;
    const std::function<void(const std::string&)>& tell_;
};

// Returns descriptions of the differences that are accepted.
std::vector<std::string> ignored_of(const std::vector<FieldThatDiffers>& fields,
                                    const std::set<std::string>& ignored, bool is_wrong) {
    std::vector<std::string> passed;
    bool is_refused = false;
    for (const FieldThatDiffers& one : fields) {
        const std::string text = fmt::format("{}: A has {}, B has {}", one.field, one.a, one.b);
        if (is_wrong || ignored.contains(one.field)) {
            passed.push_back(text);
            continue;
        }
        is_refused = true;
        std::cerr << "tutti: differs: " << text << "\n";
    }
    if (is_refused)
        throw Error(
            "A and B were measured under different conditions: measure one of them again, or use "
            "--ignore-fingerprint FIELD for irrelevant fields",
            Exit::not_comparable);
    return passed;
}

}  // namespace

BaselineResult compare_with(const StoredBaseline& baseline, const Rule& rule,
                            const std::function<void(const std::string&)>& tell) {
    BaselineResult result;
    StoredRuns a;
    std::error_code none;
    if (baseline.b.empty() && std::filesystem::equivalent(baseline.a, baseline.kept_in, none))
        throw Error("--json '" + baseline.kept_in +
                    "' is the baseline, and cannot receive the results of B; use another file");
    if (!baseline.a.empty()) a = measured(runs_in(baseline.a), baseline.a);
    const StoredRuns b = baseline.b.empty() ? NewLaunches(baseline, tell).run(result)
                                            : measured(runs_in(baseline.b), baseline.b);
    std::vector<std::string> passed;
    if (!baseline.a.empty())
        passed = ignored_of(differences(a.fingerprint, b.fingerprint), baseline.ignored,
                            !a.wrong.empty() || !b.wrong.empty());
    result.compared = compare_stored(a, b, rule, passed);
    if (baseline.a.empty()) result.compared.missing.clear();
    for (const std::string& metric : b.order)
        result.calls.push_back(
            {metric, b.metrics.at(metric).median_ns(), b.metrics.at(metric).nranks});
    const auto described = [](const std::string& file, const StoredRuns& runs) {
        return (file.empty() ? "" : file + ": ") + in_words(runs);
    };
    if (!baseline.a.empty()) result.a = described(baseline.a, a);
    result.b = described(baseline.b, b);
    return result;
}

}  // namespace tutti
