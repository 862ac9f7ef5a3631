// SPDX-License-Identifier: Apache-2.0
#include "cli/progress/sweep_pace.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "autotune/model/nnls.hpp"
#include "workloads/bench/sweep_points.hpp"

namespace tutti {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// Set-up and checks take about as long as the calls: see SweepRun::seconds_for.
constexpr double times_of_calls = 2;

double seconds_between(std::int64_t began_ns, std::int64_t ended_ns) {
    return static_cast<double>(ended_ns - began_ns) * 1e-9;
}

// Smaller calls take about the same time as calls of this size. A line through two of them would
// follow their noise, to hours for the largest sizes.
constexpr double least_bytes = 64 * 1024;

double bytes_on_line(double bytes) { return std::max(bytes, least_bytes); }

// Fits y = begin + slope x to the points with the least relative error.
std::array<double, 2> line_through(const auto& points) {
    NonNegativeFit fit(2);
    for (const auto& [x, y] : points) fit.add(std::array{1 / y, x / y}, 1, 1);
    const auto line = fit.solve({0, 0});
    return {line[0], line[1]};
}

}  // namespace

double most_seconds_of_trial(const Protocol& protocol, double call_seconds) {
    const bool is_fixed = protocol.fixed_samples > 0;
    const auto calls = static_cast<double>(
        is_fixed ? protocol.fixed_samples + protocol.warm_up_calls : protocol.max_samples);
    const double by_calls = call_seconds > 0 ? calls * call_seconds : infinite;
    return times_of_calls * (is_fixed ? by_calls : std::min(by_calls, protocol.max_seconds));
}

std::vector<PlannedCall> planned_calls(const Sweep& sweep, int ranks) {
    const std::vector<BufferKind> by_default{BufferKind::registered};
    std::vector<PlannedCall> planned;
    for (const SweptCall& swept : calls_of(sweep, ranks)) {
        const Call& call = swept.call;
        PlannedCall& one = planned.emplace_back();
        one.bytes = static_cast<double>(total_bytes(call, ranks));
        for (const BufferKind kind : sweep.buffers.empty() ? by_default : sweep.buffers)
            for (const Candidate& candidate : sweep.candidates) {
                const auto ns = sweep.predict && call.lengths == nullptr
                                    ? sweep.predict(candidate, call, kind)
                                    : std::nullopt;
                one.most_seconds += static_cast<double>(sweep.in_place.size()) *
                                    static_cast<double>(1 + sweep.disturbances.size()) *
                                    most_seconds_of_trial(sweep.protocol, ns.value_or(0) * 1e-9);
            }
    }
    return planned;
}

SweepPace::SweepPace(std::vector<PlannedCall> calls, double budget_seconds, std::int64_t began_ns)
    : calls_(std::move(calls)),
      budget_seconds_(budget_seconds > 0 ? budget_seconds : infinite),
      began_ns_(began_ns),
      last_ns_(began_ns) {}

double SweepPace::most_seconds() const {
    double most = 0;
    for (const PlannedCall& call : calls_) most += call.most_seconds;
    return std::min(most, budget_seconds_);
}

void SweepPace::measured(std::int64_t now_ns) {
    const PlannedCall& call = calls_[done_];
    const double seconds = std::max(seconds_between(last_ns_, now_ns), 1e-9);
    took_.push_back({bytes_on_line(call.bytes), seconds});
    least_seconds_ = std::min(least_seconds_, seconds);
    is_bounded_ = is_bounded_ && seconds <= call.most_seconds;
    known(now_ns);
}

void SweepPace::known(std::int64_t now_ns) {
    ++done_;
    last_ns_ = now_ns;
}

std::optional<double> SweepPace::seconds_left(std::int64_t now_ns) const {
    if (took_.empty()) return std::nullopt;
    const auto [begin, slope] = line_through(took_);
    const auto expected_of = [&, begin = begin, slope = slope](const PlannedCall& call) {
        const double by_line = begin + slope * bytes_on_line(call.bytes);
        return is_bounded_ ? std::min(by_line, call.most_seconds) : by_line;
    };
    double left = 0;
    for (std::size_t i = done_; i < calls_.size(); ++i) {
        const double spent = i == done_ ? seconds_between(last_ns_, now_ns) : 0;
        left += std::max(expected_of(calls_[i]) - spent, spent / 10);
    }
    const double of_budget = budget_seconds_ - seconds_between(began_ns_, now_ns);
    return of_budget > 0 ? std::min(left, std::max(of_budget, least_left())) : left;
}

double SweepPace::least_left() const {
    const auto calls_left = static_cast<double>(calls_.size() - done_);
    return calls_left == 0 ? 0 : calls_left * least_seconds_;
}

std::optional<double> SweepPace::seconds_beyond_budget(std::int64_t now_ns) const {
    constexpr double tolerated = 1.2;
    if (took_.empty()) return std::nullopt;
    const double least = seconds_between(began_ns_, now_ns) + least_left();
    return least > tolerated * budget_seconds_ ? std::optional(least) : std::nullopt;
}

}  // namespace tutti
