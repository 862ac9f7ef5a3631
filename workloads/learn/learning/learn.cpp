// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/learning/learn.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/clock.hpp"

namespace tutti {
namespace {

std::int64_t differing(World& world, std::span<const float> mine) {
    std::vector<float> first(mine.begin(), mine.end());
    world.broadcast(std::as_writable_bytes(std::span(first)));
    std::int64_t count = 0;
    for (std::size_t i = 0; i < mine.size(); ++i)
        count += std::bit_cast<std::uint32_t>(mine[i]) != std::bit_cast<std::uint32_t>(first[i]);
    return count;
}

// Shares of losses to losses: added up in rank order.
std::vector<double> sums(World& world, std::span<const double> mine) {
    std::vector<double> all(mine.size() * static_cast<std::size_t>(world.size()));
    world.all_gather(std::as_bytes(mine), std::as_writable_bytes(std::span(all)));
    std::vector<double> sum(mine.size());
    for (std::size_t i = 0; i < all.size(); ++i) sum[i % sum.size()] += all[i];
    return sum;
}

}  // namespace

Learnt learn(World& world, const TrainingSetup& course, Exchange& exchange) {
    const auto trainer = trainer_of(course, world.rank(), world.size());
    std::vector<double> shares;
    world.barrier();
    const std::int64_t began = now_ns();
    for (int step = 0; step < course.steps(); ++step) {
        shares.push_back(trainer->step(step, exchange));
        world.heartbeat();  // a watchdog sees that they are alive
    }
    Learnt learnt;
    learnt.seconds = from_rank0(world, static_cast<double>(now_ns() - began) * 1e-9);
    learnt.losses = sums(world, shares);
    Network& network = trainer->network();
    learnt.differing_weights = differing(world, network.weights());
    learnt.accuracy = from_rank0(world, network.accuracy(course.data.test));
    return learnt;
}

Learnt learn_on_one_rank(World& world, const TrainingSetup& course) {
    std::unique_ptr<Trainer> trainer;
    if (world.is_first()) trainer = trainer_of(course, Rank{0}, 1);
    NoExchange nobody;
    Learnt learnt;
    const std::int64_t began = now_ns();
    // Step by step, so that nobody waits longer than for one.
    for (int step = 0; step < course.steps(); ++step)
        learnt.losses.push_back(from_rank0(world, trainer ? trainer->step(step, nobody) : 0.0));
    learnt.seconds = from_rank0(world, static_cast<double>(now_ns() - began) * 1e-9);
    learnt.accuracy =
        from_rank0(world, trainer ? trainer->network().accuracy(course.data.test) : 0.0);
    return learnt;
}

double difference_of_losses(const Learnt& one, const Learnt& other, int steps) {
    double most = 0;
    const std::size_t count = std::min(one.losses.size(), static_cast<std::size_t>(steps));
    for (std::size_t i = 0; i < count; ++i)
        most = std::max(most, std::abs(one.losses[i] - other.losses.at(i)));
    return one.losses.empty() ? 0 : most / std::abs(one.losses.front());
}

}  // namespace tutti
