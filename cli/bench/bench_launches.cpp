// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/bench_launches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "cli/build_info.hpp"
#include "cli/forms/bench_output.hpp"
#include "cli/launches.hpp"
#include "results/tables/csv.hpp"
#include "results/tables/over_launches.hpp"

namespace tutti {

Exit bench_launches(const BenchOptions& options) {
    std::ofstream csv;
    const auto expect_csv = [&](bool is_good) {
        if (!is_good)
            throw Error("cannot write '" + options.csv_file + "'; type another file behind --csv");
    };
    if (!options.csv_file.empty()) {  // now, as launches take their time
        expect_launches(options.run);
        csv.open(options.csv_file, std::ios::trunc);
        expect_csv(csv.good());
    }
    const std::uint64_t seed = options.sweep.protocol.seed;
    const Results launches = run_launches(options.run, seed);
    const auto records = over_launches(launches.points);
    std::vector<Point> all;
    for (const PointOverLaunches& one : records) all.push_back(one.point);
    const auto output = make_output(options, columns_of(all));
    const Launch launch = launches.launches.empty() ? Launch{} : launches.launches.front();
    const auto notes = notes_of_launches(this_tool(), launches.launches);
    fmt::print("{}", output->begin(launch, notes, candidates_of(all)));
    fmt::print("{}", rows_of_records(*output, all));
    fmt::print("{}", output->end(all, launches));
    const bool any_wrong = std::ranges::any_of(all, is_wrong);
    keep_over_launches(options.run, seed, records, any_wrong);
    if (csv.is_open()) {
        write_csv(csv, all);
        expect_csv(csv.flush().good());
    }
    return any_wrong ? Exit::wrong_result : output->code();
}

}  // namespace tutti
