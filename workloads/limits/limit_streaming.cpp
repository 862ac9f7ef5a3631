// SPDX-License-Identifier: Apache-2.0
#include "workloads/limits/limit_streaming.hpp"

#include <algorithm>

#include "base/clock.hpp"

namespace tutti {
namespace {

constexpr std::int64_t smallest = 256 << 10;
constexpr std::int64_t few_bytes = 4 << 20;  // that many are exchanged between two time stamps

}  // namespace

StreamSampler::StreamSampler(RankTeam& crew, std::int64_t most)
    : crew_(crew),
      kernels_{find_reduce(DataType::float32, Op::sum, Stores::cached),
               find_reduce(DataType::float32, Op::sum, Stores::streaming)} {
    for (std::int64_t bytes = smallest; bytes <= most; bytes *= 2)
        trials_.push_back({.bytes = {bytes}});
}

void StreamSampler::sample_all(Round round) {
    const bool swapped = ++rounds_ % 2 == 0;  // A B, then B A
    for (StreamTrial& trial : trials_) {
        if (round == Round::short_one && trial.bytes.count > short_pass_bytes) continue;
        for (const bool second : {false, true}) {
            const Stores stores = second != swapped ? Stores::streaming : Stores::cached;
            keep_least(stores == Stores::cached ? trial.cached_ns : trial.streaming_ns,
                       call_ns(stores, trial.bytes.count));
        }
    }
}

// Each member adds its share of everyone's input and stores the sum into everyone's output.
double StreamSampler::call_ns(Stores stores, std::int64_t bytes) {
    const auto members = static_cast<std::size_t>(crew_.size());
    const std::size_t vector = static_cast<std::size_t>(bytes) / members / 2 / 64 * 64;
    const std::size_t share = vector / members / 64 * 64;
    std::vector<const std::byte*> inputs;
    std::vector<std::byte*> outputs;
    for (int member = 0; member < crew_.size(); ++member) {
        std::byte* at = crew_.memory_of(member) + share * static_cast<std::size_t>(crew_.me());
        inputs.push_back(at);
        outputs.push_back(at + vector);
    }
    const auto call = [&] {
        crew_.meet();
        kernels_[stores == Stores::streaming ? 1 : 0](outputs.data(), members, inputs.data(),
                                                      members, share / sizeof(float));
        crew_.meet();
    };
    call();  // leaves the caches as a call by the same stores finds them
    const std::int64_t times = std::max<std::int64_t>(few_bytes / bytes, 1);
    const std::int64_t began = now_ns();
    for (std::int64_t i = 0; i < times; ++i) call();
    return crew_.largest(static_cast<double>(now_ns() - began) / static_cast<double>(times));
}

}  // namespace tutti
