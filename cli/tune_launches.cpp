// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>

#include "autotune/model/model_json.hpp"
#include "autotune/table/range_text.hpp"
#include "autotune/table/table_json.hpp"
#include "autotune/tuner/agreement.hpp"
#include "autotune/tuner/table_writer.hpp"
#include "cli/build_info.hpp"
#include "cli/launches.hpp"
#include "cli/ranks/interruption.hpp"
#include "cli/tune_tables.hpp"

namespace tutti {
namespace {

class LaunchesOfTune {
public:
    explicit LaunchesOfTune(const TuneOptions& options)
        : options_(options),
          before_(merged(std::vector{table_in(options.table_file)})),
          table_(before_) {}

    Table search() {
        std::error_code none;
        std::filesystem::remove_all(folder_, none);
        make_folder();
        std::vector<TunedLaunch> launches;
        Table found;
        for (int number = 1; number <= options_.run.launches; ++number) {
            const std::string file = fmt::format("{}/{}.json", folder_.string(), number);
            run(number, {{"table", file}, {"hold-out", "no"}});
            if (!std::filesystem::exists(file))
                throw Error(
                    fmt::format("launch {} left no table in '{}', perhaps because it ran on "
                                "another host; use --table with a file in a shared folder",
                                number, file));
            launches.push_back({read_table(file), races_in(file + ".races")});
            found = agreed(launches, options_.request.search.hysteresis);
            if (!found.model.empty())
                found.model = model_with(model_from_json(found.model, file), before_.model,
                                         options_.table_file);
            keep(merged(std::vector{before_, found}));
        }
        return found;
    }

    void hold_out() {
        if (options_.job == TuneOptions::Job::hold_out)
            expect_sections(table_, options_.table_file);
        if (table_.sections.empty()) return;  // report() prints the error
        make_folder();
        const Table found = table_;
        std::vector<Table> launches;
        for (int number = 1; number <= options_.run.launches; ++number) {
            const std::string file = fmt::format("{}/{}.hold-out.json", folder_.string(), number);
            keep_table(found, file);
            run(number, {{"table", file}, {"hold-out", "only"}});
            launches.push_back(read_table(file));
            keep(held_out(found, launches));
        }
    }

    Exit report() const {
        fmt::print(
            "# tutti {}\n# {} launches, each with new processes; a time is the median of the "
            "launches' medians, with the confidence interval across launches\n",
            version(), options_.run.launches);
        for (const Section& section : table_.sections) {
            const Section* before = find_section(before_, section.job_shape, section.subject);
            if (before != nullptr && *before == section) continue;
            const std::string remark = remark_on(section);
            fmt::print("{}: {}\n{}", to_string(section.subject), in_a_line(section.ranges),
                       remark.empty() ? "" : fmt::format("    {}\n", remark));
        }
        if (table_.sections.empty())
            throw Error("time budget too small to tune anything; raise --budget");
        fmt::print("# table: {0} (tutti tune --explain {0}); each launch: {1}/\n",
                   options_.table_file, folder_.string());
        return any_wrong_ ? Exit::wrong_result : Exit::ok;
    }

    bool any_wrong() const { return any_wrong_; }

private:
    void make_folder() const {
        std::error_code failed;
        std::filesystem::create_directories(folder_, failed);
        if (failed)
            throw Error(fmt::format("cannot write '{}' ({}); use another file for --table",
                                    folder_.string(), failed.message()));
    }

    void run(int number, TextByName own) {
        const std::string about_wrong =
            run_launch(options_.run, {.number = number,
                                      .first_seed = options_.request.protocol.seed,
                                      .own = std::move(own),
                                      .kept = "in '" + options_.table_file + "'"});
        if (!about_wrong.empty()) fmt::print(stderr, "{}\n", about_wrong);
        any_wrong_ = any_wrong_ || !about_wrong.empty();
    }

    void keep(Table table) {
        table_ = std::move(table);
        keep_if_any(table_, options_.table_file);
    }

    const TuneOptions& options_;
    std::filesystem::path folder_ = options_.table_file + ".launches";
    Table before_, table_;
    bool any_wrong_ = false;
};

}  // namespace

SearchedTable search_in_launches(const TuneOptions& options) {
    LaunchesOfTune launches(options);
    Table found = launches.search();
    return {std::move(found), launches.any_wrong()};
}

Exit tune_launches(const TuneOptions& options) {
    expect_launches(options.run);
    LaunchesOfTune launches(options);
    end_on_signals();
    if (options.job == TuneOptions::Job::tune) launches.search();
    if (options.request.holds_out && options.has_library()) launches.hold_out();
    return launches.report();
}

}  // namespace tutti
