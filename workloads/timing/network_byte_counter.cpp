// SPDX-License-Identifier: Apache-2.0
#include "workloads/timing/network_byte_counter.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace tutti {
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

NetworkByteCounter::NetworkByteCounter(World& world)
    : world_(world), is_leader_(!world.one_host() && world.is_leader()) {}

void NetworkByteCounter::begin() {
    if (world_.one_host()) return;
    world_.barrier();
    if (is_leader_) before_ = interface_bytes();
}

void NetworkByteCounter::end(std::int64_t calls) {
    if (world_.one_host()) return;
    world_.barrier();  // until the calls are over on all hosts
    calls_ += calls;
    if (is_leader_) add(interface_bytes());
    world_.barrier();  // before anyone sends something else
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
