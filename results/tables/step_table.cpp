// SPDX-License-Identifier: Apache-2.0
#include "results/tables/step_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "results/records/key.hpp"

namespace tutti {
namespace {

double ms(const Summary& times) { return static_cast<double>(times.p50) * 1e-6; }

// Says nothing where the communication is less than the median of a step is known to.
std::string overlap_of(const TrainingStep& step) {
    const std::int64_t interval = step.step.ci95_hi - step.step.ci95_lo;
    return 2 * step.communication.p50 > interval ? fmt::format("{:.2f}", step.overlap) : "-";
}

// Marked as bench's tables mark it.
std::string name_of(const TrainingStep& step) {
    return step.key.method + (is_virtual(step.key) ? "(v)" : "");
}

std::string in_words(const Metric& metric) {
    return fmt::format("{}={:.4g}", metric.name, metric.value);
}

// Metrics that have the same value in all measured steps; none where there is only one step.
std::vector<Metric> metrics_of_all(std::span<const TrainingStep> steps) {
    std::vector<const TrainingStep*> done;
    for (const TrainingStep& step : steps)
        if (!step.skipped) done.push_back(&step);
    if (done.size() < 2) return {};
    std::vector<Metric> alike = done.front()->metrics;
    for (const TrainingStep* step : done)
        std::erase_if(alike, [&](const Metric& metric) {
            return std::ranges::find(step->metrics, metric) == step->metrics.end();
        });
    return alike;
}

std::string row(const TrainingStep& step, const std::vector<Metric>& alike) {
    if (step.skipped) return fmt::format("# skipped {}: {}\n", step.key.method, *step.skipped);
    const double half = half_width(step.step) * 100;
    const std::string wrong = step.check.state == CheckState::skipped
                                  ? std::string("N/A")
                                  : std::to_string(step.check.n_wrong);
    std::string text = fmt::format(
        "{:>34} {:>10.3f} {:>6} {:>10.3f} {:>10.3f} {:>10.3f} {:>8} {:>8.2f} {:>10.3f} "
        "{:>10.3f} "
        "{:>7}",
        name_of(step), ms(step.step), half < 1000 ? fmt::format("{:.1f}", half) : "N/A",
        ms(step.compute), ms(step.communication), ms(step.exposed), overlap_of(step), step.slowdown,
        ms(step.wait), ms(step.work), wrong);
    for (const Metric& metric : step.metrics)
        if (std::ranges::find(alike, metric) == alike.end()) text += "  " + in_words(metric);
    return text + "\n";
}

}  // namespace

std::string step_table_header(std::span<const std::string> notes) {
    std::string text;
    for (const std::string& note : notes) text += fmt::format("# {}\n", note);
    text += fmt::format(
        "#\n#{:>33} {:>10} {:>6} {:>10} {:>10} {:>10} {:>8} {:>8} {:>10} {:>10} {:>7}\n", "method",
        "step", "+-%", "compute", "comm", "exposed", "overlap", "slowdown", "wait", "work",
        "#wrong");
    text +=
        fmt::format("#{:>33} {:>10} {:>6} {:>10} {:>10} {:>10} {:>8} {:>8} {:>10} {:>10} {:>7}\n",
                    "", "(ms)", "", "(ms)", "(ms)", "(ms)", "", "", "(ms)", "(ms)", "");
    return text;
}

std::string step_table_rows(std::span<const TrainingStep> steps) {
    const auto alike = metrics_of_all(steps);
    std::string text;
    for (const TrainingStep& step : steps) text += row(step, alike);
    return text;
}

std::string step_table_footer(std::span<const TrainingStep> steps) {
    std::int64_t wrong = 0;
    std::vector<const TrainingStep*> done;
    for (const TrainingStep& step : steps) {
        if (step.skipped) continue;
        wrong += step.check.n_wrong;
        if (step.check.state != CheckState::fail) done.push_back(&step);
    }
    std::string text;
    for (const Metric& metric : metrics_of_all(steps))
        text += fmt::format("{}{}", text.empty() ? "# All methods          : " : "  ",
                            in_words(metric));
    if (!text.empty()) text += "\n";
    text += fmt::format("# Out of bounds values : {} {}\n", wrong, wrong == 0 ? "OK" : "FAILED");
    if (done.empty()) return text;
    std::ranges::sort(done, {}, [](const TrainingStep* step) { return step->exposed.p50; });
    const TrainingStep& best = *done.front();
    text += fmt::format(
        "# Least exposed        : {}, {:.3f} ms of a step of {:.3f} ms; the bound is {:.3f} ms\n",
        name_of(best), ms(best.exposed), ms(best.step), best.bound_ns * 1e-6);
    if (done.size() > 1 && !exposed_differs(best, *done[1]))
        text += fmt::format(
            "# Tied with            : {}, which leaves {:.3f} ms: {}\n", name_of(*done[1]),
            ms(done[1]->exposed),
            std::isfinite(half_width(best.step)) && std::isfinite(half_width(done[1]->step))
                ? "the 95 % intervals overlap"
                : "too few steps for an interval");
    return text + "#\n";
}

}  // namespace tutti
