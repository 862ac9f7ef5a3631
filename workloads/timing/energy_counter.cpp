// SPDX-License-Identifier: Apache-2.0
#include "workloads/timing/energy_counter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "base/rounding.hpp"

namespace tutti {
namespace {

// A reading is as old as the last step of the meter. So a part of what a batch is charged with was
// used before it: a tenth of five periods. Begins and ends are off by chance: of all batches
// together, of 20 periods at least, by some 4 %.
constexpr std::int64_t least_periods_of_batch = 5;
constexpr std::int64_t least_periods_of_all = 20;

// What a meter of one host found.
struct Found {
    EnergyMeter::Of of = EnergyMeter::Of::package;
    double joules_of_call = 0, watts = 0;
    std::string meter;
};

double to_digits(double value) {  // four of them, as no meter knows more
    if (value <= 0) return 0;
    const double scale = std::pow(10.0, 3 - std::floor(std::log10(value)));
    return std::round(value * scale) / scale;
}

// The inverse of the lines that put_into() writes.
std::vector<Found> found_in(const std::string& text) {
    std::vector<Found> all;
    std::istringstream lines(text);
    int of = 0;
    for (Found one; lines >> of >> one.joules_of_call >> one.watts;) {
        one.of = static_cast<EnergyMeter::Of>(of);
        std::getline(lines >> std::ws, one.meter);
        all.push_back(one);
    }
    return all;
}

// Of one kind of part on all hosts; none where a host has no meter of it.
std::optional<double> sum_over(const std::vector<std::vector<Found>>& hosts, EnergyMeter::Of of) {
    double sum = 0;
    for (const auto& found : hosts) {
        if (std::ranges::find(found, of, &Found::of) == found.end()) return std::nullopt;
        for (const Found& one : found)
            if (one.of == of) sum += one.joules_of_call;
    }
    return to_digits(sum);
}

}  // namespace

HostMeters::HostMeters(World& world, const std::filesystem::path& root) {
    if (world.is_leader()) mine_.emplace(root);
    constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
    std::int64_t least = none;
    if (mine_)
        for (const EnergyMeter& meter : mine_->all()) least = std::min(least, meter.period_ns);
    least = std::ranges::min(gather_all(world, least));
    if (least != none) least_period_ns_ = least;
}

std::int64_t HostMeters::most_period_ns(std::int64_t batch_ns) const {
    const std::int64_t most = batch_ns / least_periods_of_batch;
    return any() && most >= least_period_ns_ ? most : 0;
}

void EnergyCounter::begin(std::int64_t expected_ns) {
    period_ns_ = meters_ == nullptr ? 0 : meters_->most_period_ns(expected_ns);
    if (period_ns_ == 0) return;
    world_.barrier();
    if (meters_->mine() != nullptr) before_ = meters_->mine()->read_uj(period_ns_);
    began_ns_ = now_ns();
}

void EnergyCounter::end(std::int64_t calls) {
    if (period_ns_ == 0) return;
    world_.barrier();  // until the calls are over on all hosts
    const std::int64_t took_ns = now_ns() - began_ns_;
    if (const EnergyMeters* meters = meters_->mine()) {
        const auto after = meters->read_uj(period_ns_);
        sums_.resize(after.size());
        for (std::size_t i = 0; i < after.size(); ++i) {
            if (!before_[i] || !after[i]) continue;
            sums_[i].uj += meters->all()[i].used_uj(*before_[i], *after[i]);
            sums_[i].ns += took_ns;
            sums_[i].calls += calls;
        }
    }
    world_.barrier();  // before anyone computes something else
}

void EnergyCounter::put_into(Measured& measured) const {
    if (meters_ == nullptr || !meters_->any()) return;
    std::string mine;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
        const EnergyMeter& meter = meters_->mine()->all()[i];
        const Sum& sum = sums_[i];
        if (sum.ns < least_periods_of_all * meter.period_ns) continue;
        const auto microjoules = static_cast<double>(sum.uj);
        mine += fmt::format("{} {} {} {}\n", static_cast<int>(meter.of),
                            1e-6 * microjoules / static_cast<double>(sum.calls),
                            1e3 * microjoules / static_cast<double>(sum.ns), meter.name);
    }
    const auto texts = gather_all_texts(world_, mine);
    std::vector<std::vector<Found>> hosts;
    for (const Rank leader : world_.hosts().leaders())
        hosts.push_back(found_in(texts[as_size(leader)]));
    measured.energy_J = sum_over(hosts, EnergyMeter::Of::package);
    measured.gpu_energy_J = sum_over(hosts, EnergyMeter::Of::gpu);
    for (std::size_t host = 0; host < hosts.size(); ++host)
        for (const Found& one : hosts[host])
            measured.power.push_back({static_cast<int>(host), one.meter, to_tenths(one.watts)});
}

}  // namespace tutti
