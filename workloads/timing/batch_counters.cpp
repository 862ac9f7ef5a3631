// SPDX-License-Identifier: Apache-2.0
#include "workloads/timing/batch_counters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "base/rounding.hpp"

namespace tutti {
namespace {

// A reading is as old as the last update of the meter, so a batch is charged with energy used
// before it: a tenth of its own for five periods. Begin and end are off by chance, so over all
// batches, at least 20 periods, the error is about 4 %.
constexpr std::int64_t least_periods_of_batch = 5;
constexpr std::int64_t least_periods_of_all = 20;

// The readings of one meter of a host.
struct Found {
    EnergyMeter::Of of = EnergyMeter::Of::package;
    double joules_of_call = 0, watts = 0;
    std::string meter;
};

double to_digits(double value) {  // meters have no more digits
    if (value <= 0) return 0;
    const double scale = std::pow(10.0, 3 - std::floor(std::log10(value)));
    return std::round(value * scale) / scale;
}

// Parses the lines that put_into() writes.
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

// Returns the sum over all hosts for one kind of part; none if a host has no meter of it.
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
    world_.barrier();  // before any rank computes something else
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

namespace {

InterfaceBytes total(const std::vector<InterfaceBytes>& interfaces) {
    InterfaceBytes sum;
    for (const InterfaceBytes& each : interfaces) {
        sum.tx += each.tx;
        sum.rx += each.rx;
    }
    return sum;
}

}  // namespace

NetworkByteCounter::NetworkByteCounter(World& world, std::filesystem::path root)
    : world_(world), root_(std::move(root)), is_leader_(!world.one_host() && world.is_leader()) {}

void NetworkByteCounter::begin() {
    if (world_.one_host()) return;
    world_.barrier();
    if (is_leader_) before_ = interface_bytes(root_);
}

void NetworkByteCounter::end(std::int64_t calls) {
    if (world_.one_host()) return;
    world_.barrier();  // until the calls are over on all hosts
    calls_ += calls;
    if (is_leader_) add(interface_bytes(root_));
    world_.barrier();  // before any rank sends something else
}

void NetworkByteCounter::add(const std::vector<InterfaceBytes>& interfaces) {
    for (const InterfaceBytes& now : interfaces) {
        const auto same = [&](const InterfaceBytes& each) { return each.name == now.name; };
        const auto then = std::ranges::find_if(before_, same);
        if (then == before_.end()) continue;
        auto sum = std::ranges::find_if(sums_, same);
        if (sum == sums_.end()) sum = sums_.insert(sums_.end(), InterfaceBytes{.name = now.name});
        sum->tx += now.tx - then->tx;
        sum->rx += now.rx - then->rx;
    }
}

void NetworkByteCounter::forget() {
    sums_.clear();
    calls_ = 0;
}

std::optional<NetworkBytes> NetworkByteCounter::busiest() {
    if (world_.one_host() || calls_ == 0) return std::nullopt;
    const InterfaceBytes mine = total(sums_);
    const auto all = gather_all(world_, std::max(mine.tx, mine.rx));
    const auto busy = static_cast<std::size_t>(std::ranges::max_element(all) - all.begin());
    if (true_on_all_ranks(world_, sums_.empty())) return std::nullopt;
    std::string text;  // "eth0 tx rx\n..." of the busiest host
    for (const InterfaceBytes& each : sums_)
        text += each.name + ' ' + std::to_string(each.tx) + ' ' + std::to_string(each.rx) + '\n';
    std::istringstream lines(gather_all_texts(world_, text)[busy]);
    const auto a_call = [&](std::int64_t moved) {
        return std::round(static_cast<double>(moved) / static_cast<double>(calls_));
    };
    NetworkBytes bytes;
    for (InterfaceBytes each; lines >> each.name >> each.tx >> each.rx;) {
        bytes.tx_per_call += a_call(each.tx);
        bytes.rx_per_call += a_call(each.rx);
        if (each.tx > 0 || each.rx > 0)
            bytes.interfaces.push_back({each.name, a_call(each.tx), a_call(each.rx)});
    }
    const auto& hosts = world_.hosts().nodes();
    for (std::size_t host = 0; host < hosts.size(); ++host)
        if (hosts[host].front().index == static_cast<int>(busy))
            bytes.host = static_cast<int>(host);
    return bytes;
}

}  // namespace tutti
