// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <random>
#include <string>

#include "autotune/table/table.hpp"

namespace tutti::test {

inline const JobShape two_ranks{.ranks = 2, .ranks_per_host = 2, .topology = std::string(64, 'a')};

inline Subject subject_of(Collective collective, BufferKind buffers = BufferKind::registered) {
    if (reduces(collective)) return {collective, TypeClass::native, OpClass::plain, buffers};
    return {collective, TypeClass::bytes, OpClass::none, buffers};
}

inline Configuration ours(std::string algorithm, std::string transport = "loopback") {
    return {.algorithm = std::move(algorithm), .transport = std::move(transport)};
}

inline TimeInterval time_of(double p50) {
    return {.p50 = p50, .low = p50 * 0.9, .high = p50 * 1.1, .n = 20};
}

inline RangeEvidence seen_at(std::int64_t size, double p50) {
    return {.size = {size}, .time = time_of(p50)};
}

/// Up to `most` of everything, from all that a table may hold.
class RandomTables {
public:
    explicit RandomTables(unsigned seed) : random_(seed) {}

    Table table(int most) {
        Table made{.written = "2026-01-31T12:00:00.000Z", .tool = "tutti"};
        if (coin()) made.model = "{\n  \"latency\": 1\n}";
        for (const Collective collective : all_collectives())
            for (const BufferKind buffers : {BufferKind::registered, BufferKind::unregistered})
                if (coin()) made.sections.push_back(section(subject_of(collective, buffers), most));
        return made;
    }

private:
    int upto(int most) { return std::uniform_int_distribution<int>(0, most)(random_); }
    bool coin() { return upto(1) == 1; }
    double time() { return std::exponential_distribution<double>(1e-5)(random_); }
    std::string name() {
        return std::string(1 + static_cast<std::size_t>(upto(9)),
                           static_cast<char>('a' + upto(25)));
    }

    TimeInterval interval() {
        TimeInterval made{.low = time(), .n = upto(100)};
        made.p50 = made.low + time();
        made.high = made.p50 + time();
        return made;
    }

    Configuration choice() {
        if (upto(4) == 0) return {.impl = "mpi", .algorithm = coin() ? name() : ""};
        return {.algorithm = name(),
                .transport = name(),
                .segment = {upto(1 << 20)},
                .radix = 2 * upto(4),
                .channels = 1 + upto(3)};
    }

    RangeEvidence evidence() {
        RangeEvidence made{.size = {std::int64_t{1} << upto(62)}, .time = interval()};
        if (coin()) made.runner_up = choice();
        if (made.runner_up && coin()) made.runner_up_time = interval();
        if (coin()) {
            const TimeInterval gain = interval();
            made.hold_out =
                HoldOut{name(), interval(), interval(), gain.p50, gain.low, gain.high, name()};
        }
        for (int i = coin() ? upto(3) : 0; i > 0; --i) made.of_launches.push_back(choice());
        return made;
    }

    Section section(const Subject& subject, int most) {
        const int ranks = 1 + upto(63);
        Section made{.job_shape = {ranks, 1 + upto(ranks - 1), name()}, .subject = subject};
        std::int64_t from = 0;
        const int ranges = 1 + upto(most);
        for (int i = 0; i < ranges; ++i) {
            Range range{.from = {from}, .choice = choice(), .origin = static_cast<Origin>(upto(4))};
            for (int j = upto(most); j > 0; --j) range.evidence.push_back(evidence());
            made.ranges.push_back(range);
            from += 1 + upto(1 << 20);
        }
        for (int i = upto(most); i > 0; --i) made.launches.push_back(name());
        made.is_complete = coin();
        if (coin()) made.measured_at = "2026-01-30T12:00:00.000Z";
        return made;
    }

    std::mt19937 random_;
};

}  // namespace tutti::test
