// SPDX-License-Identifier: Apache-2.0
#include "autotune/table/range_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string_view>
#include <vector>

namespace tutti {
namespace {

struct TimeUnit {
    double ns;
    std::string_view name;
};

TimeUnit unit_for(double time_ns) {
    constexpr std::array<TimeUnit, 3> larger{{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}}};
    for (const TimeUnit& unit : larger)
        if (time_ns >= unit.ns) return unit;
    return {1, "ns"};
}

// Formats three digits, never with an exponent.
std::string three_digits(double number) {
    if (number >= 1e6) return fmt::format("{:.2g}", number);
    const int before_point = number < 10 ? 1 : number < 100 ? 2 : 3;
    return fmt::format("{:.{}f}", number, 3 - before_point);
}

}  // namespace

std::string short_text(const Configuration& choice) {
    if (!choice.is_ours()) return to_string(choice);
    std::string text = fmt::format("{}/{}", choice.algorithm, choice.transport);
    for (const Knob& knob : knobs)
        if (knob.of(choice) != knob.default_value)
            text += fmt::format(" {}{}", knob.letter, knob.text_of(choice));
    return text;
}

std::string to_string(const TimeInterval& time) {
    const TimeUnit unit = unit_for(time.p50);
    const auto shown = [&](double ns) { return three_digits(ns / unit.ns); };
    if (time.n == 0) return fmt::format("~{} {}", shown(time.p50), unit.name);
    return fmt::format("{} {} [{}, {}]", shown(time.p50), unit.name, shown(time.low),
                       shown(time.high));
}

std::string gain_text(const HoldOut& hold_out) {
    return fmt::format("{} [{}, {}] {}", three_digits(hold_out.gain),
                       three_digits(hold_out.gain_low), three_digits(hold_out.gain_high),
                       hold_out.library);
}

std::optional<HoldOut> gain_of(const Range& range, const RangeEvidence& seen) {
    if (!seen.hold_out || !seen.runner_up || range.origin != Origin::kept) return seen.hold_out;
    const HoldOut& other = *seen.hold_out;  // the rejected challenger's comparison
    return HoldOut{.library = short_text(*seen.runner_up),
                   .choice = other.default_,
                   .default_ = other.choice,
                   .gain = 1 / other.gain,
                   .gain_low = 1 / other.gain_high,
                   .gain_high = 1 / other.gain_low,
                   .launch = other.launch};
}

const RangeEvidence* typical_evidence(const Range& range) {
    std::vector<const RangeEvidence*> all, compared;
    for (const RangeEvidence& seen : range.evidence) {
        all.push_back(&seen);
        if (seen.hold_out) compared.push_back(&seen);
    }
    const auto& wanted = compared.empty() ? all : compared;
    return wanted.empty() ? nullptr : wanted[wanted.size() / 2];
}

std::string runner_up_text(const RangeEvidence& evidence) {
    if (!evidence.runner_up) return "";
    std::string text = short_text(*evidence.runner_up);
    if (!evidence.runner_up_time || evidence.time.p50 <= 0) return text;
    const double slower = evidence.runner_up_time->p50 / evidence.time.p50;
    return slower < 10 ? fmt::format("{} {:+.0f}%", text, (slower - 1) * 100)
                       : fmt::format("{} x{}", text, three_digits(slower));
}

std::string remark_on(const Section& section) {
    std::size_t sizes = 0, disputed = 0;
    for (const Range& range : section.ranges)
        for (const RangeEvidence& seen : range.evidence) {
            ++sizes;
            disputed += seen.of_launches.empty() ? 0 : 1;
        }
    std::vector<std::string> remarks;
    if (!section.is_complete) remarks.emplace_back("search incomplete");
    if (disputed > 0)
        remarks.push_back(
            fmt::format("launches choose differently at {} of {} sizes", disputed, sizes));
    return fmt::format("{}", fmt::join(remarks, "; "));
}

std::string votes_text(const RangeEvidence& evidence) {
    std::vector<Configuration> choices = evidence.of_launches;
    std::vector<std::string> votes;
    while (!choices.empty()) {
        const Configuration choice = choices.front();
        votes.push_back(fmt::format("{} {}", std::erase(choices, choice), short_text(choice)));
    }
    return fmt::format("{}", fmt::join(votes, ", "));
}

}  // namespace tutti
