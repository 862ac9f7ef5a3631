// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <random>
#include <vector>

#include "tests/autotune/model_machine.hpp"

namespace tutti {

/// 20 sizes, 8 B to 4 MiB.
inline std::vector<Bytes> twenty_sizes() {
    std::vector<Bytes> sizes;
    for (int i = 0; i < 20; ++i) sizes.push_back(Bytes{std::int64_t{8} << i});
    return sizes;
}

constexpr Bytes eager_limit{8192};

/// A latency and a cost per byte; beyond the eager limit a handshake more, and cheaper bytes.
struct LatencyAndBandwidth {
    double latency_ns = 0, ns_per_byte = 0;
    double handshake_ns = 0, cheaper = 1;
    Bytes least{0}, most{std::int64_t{1} << 40};  ///< sizes that it can run at

    std::optional<double> operator()(Bytes size) const {
        if (size < least || size > most) return std::nullopt;
        const auto n = static_cast<double>(size.count);
        if (size <= eager_limit) return latency_ns + n * ns_per_byte;
        return latency_ns + handshake_ns + n * ns_per_byte * cheaper;
    }
};

/// A pipeline over `hops`: (segments + hops - 1) steps of one segment each; channels share the
/// bytes but cost latency. Both have one best level for each size.
struct Pipeline {
    double step_ns = 0, ns_per_byte = 0, hops = 0;
    int segment_notch = 0, channel_notch = 0;

    std::optional<double> operator()(Bytes size) const {
        const auto n = static_cast<double>(size.count);
        const double segment = 1024 * std::pow(4, segment_notch);
        const double channels = std::pow(2, channel_notch);
        const double segments = std::max(1.0, std::ceil(n / segment));
        const double bytes = std::min(n, segment);
        const double per_byte = ns_per_byte * (1 + 1.5 / channels) / 2.5;
        return (segments + hops - 1) * (step_ns * (0.7 + 0.3 * channels) + bytes * per_byte);
    }
};

/// Families as a machine with `plain` + 18 `pipelined` arms has them: the better the latency, the
/// worse the bandwidth, but for some that are bad at both; near ties; some that refuse sizes.
inline ModelMachine planted_machine(int plain, int pipelined, std::uint64_t seed) {
    std::mt19937_64 draws(seed);
    std::uniform_real_distribution<double> uniform;
    const auto between = [&](double low, double high) {
        return low * std::pow(high / low, uniform(draws));
    };
    ModelMachine machine;
    int family = 0;
    LatencyAndBandwidth previous;
    for (int i = 0; i < plain; ++i, ++family) {
        const double place = uniform(draws);  // 0: for latency, 1: for bandwidth
        LatencyAndBandwidth line{.latency_ns = 1500 * std::pow(12, place) * between(1, 2),
                                 .ns_per_byte = 1.6 * std::pow(0.08, place) * between(1, 2)};
        if (uniform(draws) < 0.5) {
            line.handshake_ns = line.latency_ns * between(0.3, 2);
            line.cheaper = between(0.4, 1);
        }
        if (i > 0 && uniform(draws) < 0.15) {
            line = previous;
            line.latency_ns *= between(0.97, 1.03);
            line.ns_per_byte *= between(0.97, 1.03);
        }
        previous = line;
        if (i > 0 && uniform(draws) < 0.1) line.least = Bytes{1024};
        if (i > 0 && uniform(draws) < 0.1) line.most = Bytes{1 << 20};
        machine.add({.family = family, .level = {}}, line);
    }
    for (int i = 0; i < pipelined; ++i, ++family) {
        const double hops = 1 + std::floor(uniform(draws) * 7);
        const double step_ns = between(800, 4000), ns_per_byte = between(0.12, 0.8);
        for (int segment = 0; segment < 6; ++segment)
            for (int channel = 0; channel < 3; ++channel)
                machine.add({.family = family, .level = {segment, channel, 0}},
                            Pipeline{step_ns, ns_per_byte, hops, segment, channel});
    }
    return machine;
}

}  // namespace tutti
