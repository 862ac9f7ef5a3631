// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "autotune/search/search.hpp"
#include "tests/autotune/model_subjects.hpp"

namespace tutti {
namespace {

struct Shape {
    int plain, pipelined;
};
// 8 to 44 arms.
constexpr Shape shapes[] = {{8, 0}, {12, 0}, {20, 0}, {40, 0}, {8, 1}, {6, 2}};

struct Figures {
    std::vector<double> regrets, oracle;
    double oracle_mean() { double s=0; for (double r: oracle) s+=r; return s/oracle.size(); }
    double samples = 0, all_samples = 0, seconds = 0, all_seconds = 0;

    double mean() const {
        double sum = 0;
        for (const double regret : regrets) sum += regret;
        return sum / static_cast<double>(regrets.size());
    }
    double quantile(double share) {
        std::sort(regrets.begin(), regrets.end());
        return regrets[static_cast<std::size_t>(share * static_cast<double>(regrets.size() - 1))];
    }
};

double regret_of(const ModelMachine& machine, Bytes size, int winner) {
    double best = 1e300;
    for (int arm = 0; arm < static_cast<int>(machine.arms().size()); ++arm)
        best = std::min(best, machine.truth(arm, size).value_or(1e300));
    return machine.truth(winner, size).value_or(100 * best) / best - 1;
}

void run(Shape shape, Weather weather, Figures& figures) {
    const std::vector<Bytes> sizes = twenty_sizes();
    ModelMachine machine = planted_machine(shape.plain, shape.pipelined, weather.seed);
    machine.set(weather);
    ModelMachine oracle = machine;
    SearchOptions options;
    options.thresholds = {eager_limit};
    for (const Finding& finding : search(machine, sizes, options))
    {
        const double r = regret_of(machine, finding.size, finding.winner);
        figures.regrets.push_back(r);
        if (getenv("WHY") && r > 0.04) {
            int best = 0; double t = 1e300;
            for (int a = 0; a < (int)machine.arms().size(); ++a) if (machine.truth(a, finding.size).value_or(1e300) < t) { t = *machine.truth(a, finding.size); best = a; }
            size_t nb = 0, nw = 0; bool fam = false;
            for (auto& e : finding.entries) { if (e.arm == best) nb = e.samples_ns.size(); if (e.arm == finding.winner) nw = e.samples_ns.size(); if (machine.arms()[e.arm].family == machine.arms()[best].family) fam = true; }
            fmt::print("WHY seed {} size {} r {:.0f}% measured {} best {} n {} fam {} same {} winner {} n {} raced {} doubt {:.3f}\n", weather.seed, to_string(finding.size), 100*r, finding.measured, best, nb, fam, machine.arms()[best].family == machine.arms()[finding.winner].family, finding.winner, nw, finding.entries.size(), finding.doubt);
            if (getenv("MORE")) for (auto& e : finding.entries) if (e.arm == best || e.arm == finding.winner) { fmt::print("   arm {} truth {:.0f}:", e.arm, machine.truth(e.arm, finding.size).value_or(0)); for (double x : e.samples_ns) fmt::print(" {:.0f}", x); fmt::print("\n"); }
        }
    }
    const auto found = search_exhaustively(oracle, sizes, 20);
    for (const Finding& finding : found) figures.oracle.push_back(regret_of(machine, finding.size, finding.winner));
    figures.samples += static_cast<double>(machine.samples());
    figures.all_samples += static_cast<double>(oracle.samples());
    figures.seconds += machine.seconds();
    figures.all_seconds += oracle.seconds();
}

TEST(SearchRegret, Figures) {
    const int seeds = getenv("SEEDS") ? atoi(getenv("SEEDS")) : 10;
    for (const double model : {0.3, 0.6, -1.0})
        for (const double noise : {0.05, 0.15, 0.30}) {
            if (getenv("M") && atof(getenv("M")) != model) continue;
            if (getenv("N") && atof(getenv("N")) != noise) continue;
            Figures all;
            for (const Shape& shape : shapes) {
                Figures figures;
                for (int seed = 1; seed <= seeds; ++seed) {
                    const Weather w{.noise = noise,
                                    .model_error = model,
                                    .seed = static_cast<std::uint64_t>(seed)};
                    run(shape, w, figures);
                    run(shape, w, all);
                }
                fmt::print(
                    "   {:2}+{}: mean {:.2f} p95 {:.1f} max {:.0f} samples {:.1f} time {:.1f} oracle {:.2f}\n",
                    shape.plain, shape.pipelined, 100 * figures.mean(), 100 * figures.quantile(.95),
                    100 * figures.quantile(1), 100 * figures.samples / figures.all_samples,
                    100 * figures.seconds / figures.all_seconds, 100*figures.oracle_mean());
            }
            fmt::print(
                "model {} noise {}: mean {:.2f} p95 {:.1f} max {:.0f} samples {:.1f} time {:.1f} oracle {:.2f}\n",
                model, noise, 100 * all.mean(), 100 * all.quantile(.95), 100 * all.quantile(1),
                100 * all.samples / all.all_samples, 100 * all.seconds / all.all_seconds, 100*all.oracle_mean());
        }
}

}  // namespace
}  // namespace tutti
