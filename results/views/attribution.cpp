// SPDX-License-Identifier: Apache-2.0
#include "results/views/attribution.hpp"

#include <fmt/format.h>

#include <numeric>

#include "results/comparison/step_rounds.hpp"
#include "results/views/view_words.hpp"

namespace tutti {
namespace {

constexpr int attributing_launches = 5;

std::string row(const std::string& step, double a_ns, double b_ns, double grew_ns,
                const char* note) {
    return fmt::format("  {:<10} {:>10.3f} {:>10.3f} {:>+10.3f}{}\n", step, a_ns / 1e3, b_ns / 1e3,
                       grew_ns / 1e3, note);
}

std::string in_text(const StepGrowth& times) {
    const std::size_t most = times.grew_most();
    const std::size_t steps = times.grew_ns.size() - 1;
    const auto name = [&](std::size_t step) {
        return step < steps ? fmt::format("step {}", step) : "after all";
    };
    const double grew = std::accumulate(times.grew_ns.begin(), times.grew_ns.end(), 0.0);
    std::string text = fmt::format(
        "#\n# {}: {} grew most, by {:.3f} of {:.3f} us ({} launches measured by steps)\n# {:<10} "
        "{:>10} {:>10} {:>10}\n",
        in_line(times.metric),
        most < steps ? fmt::format("step {} of {}", most, steps) : "the time after the last step",
        times.grew_ns[most] / 1e3, grew / 1e3, times.launches, "step", "A (us)", "B (us)", "grew");
    for (std::size_t step = 0; step <= steps; ++step)
        text += row(name(step), times.a_ns[step], times.b_ns[step], times.grew_ns[step],
                    step == most ? "  <" : "");
    return text;
}

}  // namespace

Attribution attribute(const LaunchBoth& by_steps, const std::set<std::string>& metrics,
                      const std::function<void(const std::string&)>& tell) {
    Attribution attribution;
    if (metrics.empty()) return attribution;
    std::map<std::string, std::vector<StepGrowth>> launches;
    for (int i = 0; i < attributing_launches; ++i) {
        tell(fmt::format("measuring steps: launch {} of {}", i + 1, attributing_launches));
        LaunchOfBoth launch = by_steps({metrics, metrics.size()});
        for (auto& [metric, times] : launch.steps) {
            auto& of_metric = launches[metric];
            if (!of_metric.empty() && of_metric.front().a_ns.size() != times.a_ns.size()) continue;
            of_metric.push_back(std::move(times));
        }
        for (const auto& [metric, why] : launch.missing)
            if (metrics.contains(metric)) attribution.missing[metric] = why;
    }
    for (const auto& [metric, times] : launches) {
        attribution.metrics.push_back(median_of(times));
        attribution.metrics.back().metric = metric;
    }
    return attribution;
}

std::string in_text(const std::vector<StepGrowth>& metrics) {
    std::string text;
    for (const StepGrowth& growth : metrics) text += in_text(growth);
    return text;
}

}  // namespace tutti
