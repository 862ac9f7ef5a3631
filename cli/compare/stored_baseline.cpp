// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/stored_baseline.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "base/clock.hpp"
#include "cli/compare/child.hpp"
#include "cli/compare/temporary_folder.hpp"
#include "results/records/store.hpp"

namespace tutti {
namespace {

constexpr double longest_launch_seconds = 3600;  // its own waits have deadlines of their own

StoredRuns runs_in(const std::string& file, std::uintmax_t from = 0) {
    std::ifstream stream(file, std::ios::binary);
    if (from == 0 || !stream) return stored_runs(read_results(std::filesystem::path(file)));
    stream.seekg(static_cast<std::streamoff>(from));
    return stored_runs(read_results(stream, file));
}

// In bytes. A torn line at its end would go when the first launch opens the file: it goes now.
std::uintmax_t whole_records_of(const std::string& file) {
    if (!std::filesystem::is_regular_file(file)) return 0;
    const Store mended(file);
    return std::filesystem::file_size(file);
}

StoredRuns measured(const StoredRuns& runs, const std::string& file) {
    if (runs.launches == 0)
        throw Error("'" + file +
                    "' holds nothing that was measured; type a file that 'tutti bench' or "
                    "'tutti workload' has written with --json");
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
        Child child(job.words, job.environment);
        // Wrong results are in the records, and are told from there.
        end_of(child, "B", longest_launch_seconds, Exit::not_comparable);
    }

    const StoredBaseline& baseline_;
    const std::function<void(const std::string&)>& tell_;
};

// Those that are let pass, in words.
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
            "A and B were not measured alike: measure one of them again, or add "
            "--ignore-fingerprint FIELD for what makes no difference",
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
                    "' is the baseline: B would become part of it; type another file");
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
