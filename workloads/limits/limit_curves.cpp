// SPDX-License-Identifier: Apache-2.0
#include "workloads/limits/limit_curves.hpp"

#include <algorithm>
#include <array>

#include "base/clock.hpp"
#include "workloads/timing/measure.hpp"

namespace tutti {
namespace {

struct Pass {
    std::string_view name;
    std::size_t sources;
    std::size_t outs;
    bool in_place;
    Stores stores;
    InputState input = InputState::untouched;

    std::size_t buffers() const { return in_place ? sources : sources + outs; }
};

// Memory access patterns of collectives; least_time.cpp says which collective has which. In place,
// the lines of the results are already in the cache, so no streaming stores are used.
constexpr Pass passes[] = {
    {"copy", 1, 1, false, Stores::cached},
    {"copy", 1, 1, false, Stores::streaming},
    {"add", 2, 1, false, Stores::cached},
    {"add", 2, 1, false, Stores::streaming},
    {"add2", 2, 2, false, Stores::cached},
    {"add2", 2, 2, false, Stores::streaming},
    {"add_in_place", 2, 1, true, Stores::cached},
    {"add2_in_place", 2, 2, true, Stores::cached},
    {"add_rewritten", 2, 1, false, Stores::cached, InputState::rewritten},
    {"add2_rewritten", 2, 2, false, Stores::cached, InputState::rewritten},
};

constexpr std::int64_t smallest = 4 << 10;
constexpr std::int64_t smallest_call = 256 << 10;       // for StreamSampler
constexpr std::int64_t bytes_between_stamps = 4 << 20;  // for StreamSampler, at least
constexpr std::int64_t window_bytes = 1 << 20;  // worked on between two time stamps, at least
// From the end of one buffer to the start of the next: two pages, so that prefetchers do not take
// lines away that another core works on, and another offset within the page, as a load waits for an
// earlier store at the same one.
constexpr std::size_t skew = 2 * 4096 + 1024 + 320;

// The owner of the buffers that a core works on. Buffers that two cores write in turn may be slower
// than a core's own, so both are tried, and the better rate is the limit.
enum class Owner { self, everyone };

}  // namespace

CurveSampler::CurveSampler(RankTeam& team, std::int64_t most) : team_(team) {
    for (std::int64_t size = smallest; size <= most; size *= 2) sizes_.push_back(size);
    for (std::size_t pass = 0; pass < std::size(passes); ++pass)
        for (const int cores : {1, team.size()}) {
            if (cores == 1 && team.size() == 1 && !series_.empty() && series_.back().pass == pass)
                continue;  // a single core is all cores
            if (cores == 1 && passes[pass].input == InputState::rewritten)
                continue;  // no other core has written it
            series_.push_back({pass, cores,
                               find_reduce(DataType::float32, Op::sum, passes[pass].stores),
                               std::vector<double>(sizes_.size())});
        }
}

std::size_t CurveSampler::bytes_for(std::int64_t most) {
    return static_cast<std::size_t>(most) + 4 * skew;
}

void CurveSampler::sample_all(CurveRound round) {
    for (Series& series : series_)
        if (series.cores > 1) sample(series, round);
}

void CurveSampler::sample_one_core(CurveRound round) {
    for (Series& series : series_)
        if (series.cores == 1) sample(series, round);
}

void CurveSampler::sample(Series& series, CurveRound round) {
    for (std::size_t i = 0; i < sizes_.size(); ++i)
        if (round == CurveRound::long_one || sizes_[i] <= short_pass_bytes)
            series.best[i] = std::max(series.best[i], rate(series, sizes_[i]));
}

double CurveSampler::rate(const Series& series, std::int64_t working_set) {
    const Pass& pass = passes[series.pass];
    const std::size_t bytes =
        static_cast<std::size_t>(working_set) / pass.buffers() / 64 * 64;  // bytes of each buffer
    const bool one_core = series.cores == 1;
    std::array<std::byte*, 4> buffers{};  // the sources, then the outs
    const auto place_in = [&](Owner owner) {
        for (std::size_t i = 0; i < pass.buffers(); ++i) {
            const int neighbour = static_cast<int>(i < pass.sources ? i : i - pass.sources);
            const int member = team_.me() + (owner == Owner::everyone ? neighbour : 0);
            buffers[i] = team_.memory_of(member) + i * (bytes + skew);
        }
    };
    std::byte* const* outs = pass.in_place ? buffers.data() : &buffers[pass.sources];
    const auto run = [&] {
        series.kernel(outs, pass.outs, buffers.data(), pass.sources, bytes / sizeof(float));
    };
    // Each member reads one of its own and one of its neighbour's.
    const auto rewrite_sources = [&] {
        for (std::size_t i = 0; i < pass.sources; ++i)
            std::fill_n(reinterpret_cast<float*>(team_.memory_of(team_.me()) + i * (bytes + skew)),
                        bytes / sizeof(float), 1.0F);
    };
    const bool is_rewritten = pass.input == InputState::rewritten;
    const std::int64_t times =
        is_rewritten ? 1 : std::max<std::int64_t>(window_bytes / working_set, 1);
    const int windows = (working_set <= window_bytes ? 2 : 1) * (one_core ? 1 : 2);
    double least = 0;
    for (int window = 0; window < windows; ++window) {
        const bool on_own = one_core || (window % 2 == 1 && !is_rewritten);
        place_in(on_own ? Owner::self : Owner::everyone);
        if (working_set <= short_pass_bytes) run();  // into the caches, if it fits
        if (is_rewritten) {
            team_.meet();  // all have read
            rewrite_sources();
        }
        if (!one_core) team_.meet();
        const std::int64_t began = now_ns();
        for (std::int64_t i = 0; i < times; ++i) run();
        const auto mine = std::max(static_cast<double>(now_ns() - began), 1.0);
        const double took = one_core ? mine : team_.largest(mine);
        least = window == 0 ? took : std::min(least, took);
    }
    return static_cast<double>(times) * static_cast<double>((pass.sources + pass.outs) * bytes) /
           least;
}

std::vector<Curve> CurveSampler::curves() const {
    std::vector<Curve> all;
    for (const Series& series : series_) {
        const Pass& pass = passes[series.pass];
        Curve curve{.pass = std::string(pass.name),
                    .stores = pass.stores == Stores::cached ? "cached" : "streaming",
                    .cores = series.cores,
                    .rates = {}};
        for (const std::int64_t size : sizes_) curve.rates.bytes.push_back({size});
        curve.rates.gbps = series.best;
        all.push_back(std::move(curve));
    }
    return all;
}

StreamSampler::StreamSampler(RankTeam& team, std::int64_t most)
    : team_(team),
      kernels_{find_reduce(DataType::float32, Op::sum, Stores::cached),
               find_reduce(DataType::float32, Op::sum, Stores::streaming)} {
    for (std::int64_t bytes = smallest_call; bytes <= most; bytes *= 2)
        trials_.push_back({.bytes = {bytes}});
}

void StreamSampler::sample_all(CurveRound round) {
    const bool swapped = ++rounds_ % 2 == 0;  // A B, then B A
    for (StreamTrial& trial : trials_) {
        if (round == CurveRound::short_one && trial.bytes.count > short_pass_bytes) continue;
        for (const bool second : {false, true}) {
            const Stores stores = second != swapped ? Stores::streaming : Stores::cached;
            keep_least(stores == Stores::cached ? trial.cached_ns : trial.streaming_ns,
                       call_ns(stores, trial.bytes.count));
        }
    }
}

// Each member adds its share of all inputs and stores the sum into all outputs.
double StreamSampler::call_ns(Stores stores, std::int64_t bytes) {
    const auto members = static_cast<std::size_t>(team_.size());
    const std::size_t vector = static_cast<std::size_t>(bytes) / members / 2 / 64 * 64;
    const std::size_t share = vector / members / 64 * 64;
    std::vector<const std::byte*> inputs;
    std::vector<std::byte*> outputs;
    for (int member = 0; member < team_.size(); ++member) {
        std::byte* at = team_.memory_of(member) + share * static_cast<std::size_t>(team_.me());
        inputs.push_back(at);
        outputs.push_back(at + vector);
    }
    const auto call = [&] {
        team_.meet();
        kernels_[stores == Stores::streaming ? 1 : 0](outputs.data(), members, inputs.data(),
                                                      members, share / sizeof(float));
        team_.meet();
    };
    call();  // leaves the caches as calls with these stores find them
    const std::int64_t times = std::max<std::int64_t>(bytes_between_stamps / bytes, 1);
    const std::int64_t began = now_ns();
    for (std::int64_t i = 0; i < times; ++i) call();
    return team_.largest(static_cast<double>(now_ns() - began) / static_cast<double>(times));
}

}  // namespace tutti
