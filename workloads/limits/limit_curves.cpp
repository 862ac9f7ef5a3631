// SPDX-License-Identifier: Apache-2.0
#include "workloads/limits/limit_curves.hpp"

#include <algorithm>
#include <array>

#include "base/clock.hpp"

namespace tutti {
namespace {

struct Pass {
    std::string_view name;
    std::size_t sources;
    std::size_t outs;
    bool in_place;
    Stores stores;

    std::size_t buffers() const { return in_place ? sources : sources + outs; }
};

// What collectives do to memory: see least_time.cpp for which does what. In place the results are
// stored over the sources, whose lines are in the cache anyhow: nothing to stream.
constexpr Pass passes[] = {
    {"copy", 1, 1, false, Stores::cached},        {"copy", 1, 1, false, Stores::streaming},
    {"add", 2, 1, false, Stores::cached},         {"add", 2, 1, false, Stores::streaming},
    {"add2", 2, 2, false, Stores::cached},        {"add2", 2, 2, false, Stores::streaming},
    {"add_in_place", 2, 1, true, Stores::cached}, {"add2_in_place", 2, 2, true, Stores::cached},
};

constexpr std::int64_t smallest = 4 << 10;
constexpr std::int64_t window_bytes = 1 << 20;  // worked on between two time stamps, at least
// From the end of one buffer to the begin of the next. Two pages, as prefetchers run ahead into
// what another core works on, and take its lines away; and not at the same place of a page, where a
// load would wait for the store before it.
constexpr std::size_t skew = 2 * 4096 + 1024 + 320;

// On whose buffers a core works. Shared ones may cost more than a core's own where they are written
// by two in turn, and need not: so both are tried, and the better one is the limit.
enum class Whose { own, everyones };

}  // namespace

CurveSampler::CurveSampler(RankTeam& crew, std::int64_t most) : crew_(crew) {
    for (std::int64_t size = smallest; size <= most; size *= 2) sizes_.push_back(size);
    for (std::size_t pass = 0; pass < std::size(passes); ++pass)
        for (const int cores : {1, crew.size()}) {
            if (cores == 1 && crew.size() == 1 && !tracks_.empty() && tracks_.back().pass == pass)
                continue;  // one core is all there are
            tracks_.push_back({pass, cores,
                               find_reduce(DataType::float32, Op::sum, passes[pass].stores),
                               std::vector<double>(sizes_.size())});
        }
}

std::size_t CurveSampler::bytes_for(std::int64_t most) {
    return static_cast<std::size_t>(most) + 4 * skew;
}

void CurveSampler::sample_all(Round round) {
    for (Evaluator& evaluator : tracks_)
        if (evaluator.cores > 1) sample(evaluator, round);
}

void CurveSampler::sample_alone(Round round) {
    for (Evaluator& evaluator : tracks_)
        if (evaluator.cores == 1) sample(evaluator, round);
}

void CurveSampler::sample(Evaluator& evaluator, Round round) {
    for (std::size_t i = 0; i < sizes_.size(); ++i)
        if (round == Round::long_one || sizes_[i] <= short_pass_bytes)
            evaluator.best[i] = std::max(evaluator.best[i], rate(evaluator, sizes_[i]));
}

double CurveSampler::rate(const Evaluator& evaluator, std::int64_t working_set) {
    const Pass& pass = passes[evaluator.pass];
    const std::size_t bytes =
        static_cast<std::size_t>(working_set) / pass.buffers() / 64 * 64;  // of each buffer
    const bool alone = evaluator.cores == 1;
    std::array<std::byte*, 4> buffers{};  // the sources, then the outs
    const auto place_in = [&](Whose whose) {
        for (std::size_t i = 0; i < pass.buffers(); ++i) {
            const int neighbour = static_cast<int>(i < pass.sources ? i : i - pass.sources);
            const int member = crew_.me() + (whose == Whose::everyones ? neighbour : 0);
            buffers[i] = crew_.memory_of(member) + i * (bytes + skew);
        }
    };
    std::byte* const* outs = pass.in_place ? buffers.data() : &buffers[pass.sources];
    const auto run = [&] {
        evaluator.kernel(outs, pass.outs, buffers.data(), pass.sources, bytes / sizeof(float));
    };
    const std::int64_t times = std::max<std::int64_t>(window_bytes / working_set, 1);
    const int windows = (working_set <= window_bytes ? 2 : 1) * (alone ? 1 : 2);
    double least = 0;
    for (int window = 0; window < windows; ++window) {
        place_in(alone || window % 2 == 1 ? Whose::own : Whose::everyones);
        if (working_set <= short_pass_bytes) run();  // into the caches, where it fits them
        if (!alone) crew_.meet();
        const std::int64_t began = now_ns();
        for (std::int64_t i = 0; i < times; ++i) run();
        const auto mine = std::max(static_cast<double>(now_ns() - began), 1.0);
        const double took = alone ? mine : crew_.largest(mine);
        least = window == 0 ? took : std::min(least, took);
    }
    return static_cast<double>(times) * static_cast<double>((pass.sources + pass.outs) * bytes) /
           least;
}

std::vector<Curve> CurveSampler::curves() const {
    std::vector<Curve> all;
    for (const Evaluator& evaluator : tracks_) {
        const Pass& pass = passes[evaluator.pass];
        Curve curve{.pass = std::string(pass.name),
                    .stores = pass.stores == Stores::cached ? "cached" : "streaming",
                    .cores = evaluator.cores,
                    .rates = {}};
        for (const std::int64_t size : sizes_) curve.rates.bytes.push_back({size});
        curve.rates.gbps = evaluator.best;
        all.push_back(std::move(curve));
    }
    return all;
}

}  // namespace tutti
