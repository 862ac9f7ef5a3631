// SPDX-License-Identifier: Apache-2.0
#include "autotune/tuner/hold_out.hpp"

#include <algorithm>
#include <cmath>

#include "base/clock.hpp"
#include "results/statistics.hpp"

namespace tutti {
namespace {

constexpr double parts = 1e6;  // ratios as whole numbers, which is what statistics take

// Library over choice, pair by pair; 95 % interval of the median.
void set_gain(HoldOut& found, std::span<const std::int64_t> choice,
              std::span<const std::int64_t> library) {
    std::vector<std::int64_t> ratios;
    for (std::size_t i = 0; i < std::min(choice.size(), library.size()); ++i)
        ratios.push_back(std::llround(parts * static_cast<double>(library[i]) /
                                      static_cast<double>(std::max<std::int64_t>(choice[i], 1))));
    const Summary summary = summarise(ratios);
    found.gain = static_cast<double>(summary.p50) / parts;
    found.gain_low = static_cast<double>(summary.ci95_lo) / parts;
    found.gain_high = static_cast<double>(summary.ci95_hi) / parts;
}

bool is_settled(const HoldOut& found) { return found.gain_low > 1 || found.gain_high < 1; }

}  // namespace

TimeInterval interval_of(std::span<const std::int64_t> samples_ns) {
    const Summary summary = summarise(samples_ns);
    return {.p50 = static_cast<double>(summary.p50),
            .low = static_cast<double>(summary.ci95_lo),
            .high = static_cast<double>(summary.ci95_hi),
            .n = static_cast<std::int64_t>(summary.n)};
}

TimeInterval interval_of(std::span<const double> samples_ns) {
    std::vector<std::int64_t> whole;
    for (const double sample : samples_ns) whole.push_back(std::llround(sample));
    return interval_of(whole);
}

std::optional<HoldOut> hold_out(Planner& planner, const BufferPool& stage,
                                const MeasuringEvaluator::Race& race, const HoldOutPair& pair,
                                Bytes size, const HoldOutOptions& options, bool& is_wrong) {
    World& world = planner.world();
    const Call call = call_of(race, world.size(), size);
    const PooledBuffers buffers = stage.buffers_for(call, false, race.subject.buffers);
    std::vector<std::unique_ptr<Operation>> operations;
    std::vector<Trial> trials;
    for (const Candidate* candidate : {&pair.choice, &pair.library}) {
        const bool runs = !refusal(planner, *candidate, call, buffers, race.environment.hosts);
        if (!true_on_all_ranks(world, runs)) return std::nullopt;
        operations.push_back(operation_of(planner, *candidate, call, buffers, race.environment));
        trials.push_back(trial_of(*operations.back(), world, call, buffers, true));
    }
    std::vector<std::int64_t> of_choice, of_library;
    HoldOut found{.library = pair.library.name()};
    Protocol protocol = race.protocol;
    const std::int64_t began = now_ns();
    for (int pairs = options.pairs;; pairs *= 2) {
        protocol.fixed_samples = pairs - static_cast<int>(of_choice.size());
        protocol.seed += 1;
        const auto measured = measure(world, trials, protocol);
        is_wrong = measured[0].check.state == CheckState::fail;
        for (const Measured& each : measured)
            if (each.check.state == CheckState::fail || each.samples.empty()) return std::nullopt;
        of_choice.insert(of_choice.end(), measured[0].samples.begin(), measured[0].samples.end());
        of_library.insert(of_library.end(), measured[1].samples.begin(), measured[1].samples.end());
        set_gain(found, of_choice, of_library);
        const double seconds = seconds_since(began);
        if (from_rank0(world, is_settled(found) || 2 * pairs > options.most_pairs ||
                                  seconds > options.seconds))
            break;
        protocol.warm_up_calls = 0;
    }
    found.choice = interval_of(std::span<const std::int64_t>(of_choice));
    found.default_ = interval_of(std::span<const std::int64_t>(of_library));
    return found;
}

}  // namespace tutti
