// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/servers/server_trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "collectives/world/backoff.hpp"

namespace tutti {

// Precedes each gradient and each part of the weights.
struct ServerTrainer::Header {
    ServerReply reply = ServerReply::proceed;  // or `last`, if its worker sends no more
};

Rank rank_of_server(int server, int servers, int ranks) {
    return Rank{static_cast<int>(static_cast<std::int64_t>(server) * ranks / servers)};
}

ServerPart part_of_server(int server, int servers, std::size_t weights) {
    const auto border = [&](int i) { return weights * as_size(i) / as_size(servers); };
    return {border(server), border(server + 1) - border(server)};
}

ServerTrainer::ServerTrainer(World& world, Mailboxes mailboxes, DigitsLearner& learner,
                             const Architecture& architecture, const OptimizerKind& optimizer,
                             LearningRate rate)
    : world_(world),
      pushes_(mailboxes.pushes),
      pulls_(mailboxes.pulls),
      learner_(learner),
      architecture_(architecture),
      optimizer_(optimizer),
      rate_(rate),
      expected_(as_size(architecture.servers)) {
    for (int server = 0; server < architecture_.servers; ++server)
        if (rank_of(server) == world_.rank()) serves_ = server;
    reset();
}

Rank ServerTrainer::rank_of(int server) const {
    return rank_of_server(server, architecture_.servers, world_.size());
}

ServerPart ServerTrainer::part(int server) const {
    return part_of_server(server, architecture_.servers, learner_.first_weights().size());
}

void ServerTrainer::reset() {
    learner_.reset();
    traffic_ = {};
    steps_pushed_ = 0;
    if (!serves_) return;
    const ServerPart mine = part(*serves_);
    server_ = std::make_unique<Server>(
        architecture_.rules, std::span(learner_.first_weights()).subspan(mine.begin, mine.count),
        optimizer_, rate_, [this](int worker, ServerReply reply) { send_weights(worker, reply); });
}

// Sends a copy, as the weights may change meanwhile.
void ServerTrainer::send_weights(int worker, ServerReply reply) {
    const Rank to{worker};
    const auto weights = std::as_bytes(server_->weights());
    // The worker has the previous ones, or it would not have pushed. Serves no other rank while it
    // waits, as the server is in the middle of an update.
    Backoff backoff(world_);
    while (!pulls_.is_sent(to))
        if (!backoff.pause())
            throw Error(hang_report(fmt::format("rank {} to take its weights", worker)),
                        Exit::time_out);
    const auto room = pulls_.send_buffer(to, sizeof(Header) + weights.size());
    const Header header{reply};
    std::memcpy(room.data(), &header, sizeof header);
    std::ranges::copy(weights, room.begin() + sizeof header);
    pulls_.send(to);
    traffic_.served += static_cast<std::int64_t>(weights.size());
    if (reply != ServerReply::stop) pushes_.post_receive(to, sizeof(Header) + weights.size());
}

void ServerTrainer::expect_weights() {
    for (int server = 0; server < architecture_.servers; ++server) {
        pulls_.post_receive(rank_of(server), sizeof(Header) + part(server).count * sizeof(float));
        expected_[as_size(server)] = true;
    }
}

// Uses the first server's reply.
ServerReply ServerTrainer::pull() {
    ServerReply reply = ServerReply::proceed;
    const auto is_done = [&] {
        bool all = true;
        for (int server = 0; server < architecture_.servers; ++server) {
            const Rank from = rank_of(server);
            if (expected_[as_size(server)] && pulls_.has_arrived(from)) {
                expected_[as_size(server)] = false;
                const auto message = pulls_.message(from);
                const ServerPart of = part(server);
                if (server == 0) reply = reinterpret_cast<const Header*>(message.data())->reply;
                std::memcpy(learner_.network().weights().data() + of.begin,
                            message.data() + sizeof(Header), of.count * sizeof(float));
                traffic_.pulled += static_cast<std::int64_t>(of.count * sizeof(float));
            }
            all = all && !expected_[as_size(server)];
        }
        return all;
    };
    wait_until(is_done, "weights");
    return reply;
}

void ServerTrainer::push(Pushed pushed) {
    if (pushed != Pushed::last) expect_weights();
    const Header header{pushed == Pushed::last ? ServerReply::last : ServerReply::proceed};
    for (int server = 0; server < architecture_.servers; ++server) {
        const Rank to = rank_of(server);
        const ServerPart of = part(server);
        const auto gradient =
            std::as_bytes(learner_.network().gradients().subspan(of.begin, of.count));
        wait_until([&] { return pushes_.is_sent(to); }, "its gradient to be taken");
        const auto room = pushes_.send_buffer(to, sizeof header + gradient.size());
        std::memcpy(room.data(), &header, sizeof header);
        std::ranges::copy(gradient, room.begin() + sizeof header);
        pushes_.send(to);
        traffic_.pushed += static_cast<std::int64_t>(gradient.size());
    }
    ++steps_pushed_;
}

// Takes the gradients that have arrived and makes progress. Returns whether any was taken.
bool ServerTrainer::serve() {
    bool took_any = false;
    for (int rank = 0; rank < world_.size(); ++rank) {
        pushes_.is_sent(Rank{rank});
        pulls_.is_sent(Rank{rank});
        if (!serves_ || !pushes_.has_arrived(Rank{rank})) continue;
        const auto message = pushes_.message(Rank{rank});
        const ServerReply reply = reinterpret_cast<const Header*>(message.data())->reply;
        const std::span gradient(reinterpret_cast<const float*>(message.data() + sizeof(Header)),
                                 part(*serves_).count);
        traffic_.served += static_cast<std::int64_t>(gradient.size_bytes());
        took_any = true;
        server_->take(rank, gradient,
                      reply == ServerReply::last ? Pushed::last : Pushed::one_of_many);
    }
    if (took_any) world_.heartbeat();  // a sign of life for the watchdog
    return took_any;
}

bool ServerTrainer::has_sent_all() {
    bool all = true;
    for (int rank = 0; rank < world_.size(); ++rank)
        all = pushes_.is_sent(Rank{rank}) && pulls_.is_sent(Rank{rank}) && all;
    return all;
}

template <class Done>
void ServerTrainer::wait_until(const Done& is_done, const char* what) {
    Backoff backoff(world_);
    while (!is_done()) {
        if (serve())
            backoff.renew();
        else if (!backoff.pause())
            throw Error(hang_report(what), Exit::time_out);
    }
    world_.heartbeat();
}

std::string ServerTrainer::hang_report(const std::string& what) const {
    std::string of;
    for (std::size_t server = 0; server < expected_.size() && of.empty(); ++server)
        if (expected_[server])
            of =
                fmt::format(" from the server on rank {}", rank_of(static_cast<int>(server)).index);
    if (const auto late = server_ ? server_->waits_for() : std::nullopt)
        of += fmt::format("; its own server waits for the gradient of rank {}", *late);
    return fmt::format("rank {} waited {:g} s in parameter-server, step {}, for {}{}",
                       world_.rank().index, world_.hang_timeout, steps_pushed_, what, of);
}

StepStamps ServerTrainer::run(std::int64_t steps, StepPart part) {
    StepStamps stamps{.begin_ns = now_ns(), .end_ns = 0, .compute_ns = 0, .calls = {{}}};
    const double times = architecture_.skew.factor_of(world_.rank());
    const auto compute = [&] {
        if (computes(part))
            stamps.compute_ns += learner_.compute_gradients(times, [&] {
                if (communicates(part)) serve();
            });
    };
    if (!communicates(part)) {
        for (std::int64_t step = 0; step < steps; ++step) compute();
        stamps.end_ns = now_ns();
        return stamps;
    }
    expect_weights();
    if (server_) server_->begin(steps, part);
    // the first step, from pushing this rank's gradient to having the new weights
    StepStamps::Span span;
    for (std::int64_t step = 0;; ++step) {
        const ServerReply reply = pull();
        if (step == 1) span.end_ns = now_ns();
        if (reply == ServerReply::stop) break;
        compute();
        if (step == 0) span.start_ns = now_ns();
        push(reply == ServerReply::last ? Pushed::last : Pushed::one_of_many);
        if (reply == ServerReply::last) break;
    }
    wait_until([&] { return (!server_ || server_->is_over()) && has_sent_all(); },
               "the last gradients");
    // A step ends when the servers have the new weights, even if some workers are late.
    stamps.end_ns = server_ ? server_->updated_ns() : stamps.begin_ns;
    if (span.end_ns == 0) span.end_ns = now_ns();
    const ServerRules& rules = architecture_.rules;
    if (rules.is_synchronous() && rules.dropped == 0) stamps.calls = {span};
    return stamps;
}

void ServerTrainer::gather_weights() {
    const int servers = architecture_.servers;
    const std::size_t most =
        (learner_.first_weights().size() + as_size(servers) - 1) / as_size(servers);
    std::vector<float> mine(most), all(most * as_size(world_.size()));
    if (server_) std::ranges::copy(server_->weights(), mine.begin());
    world_.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
    for (int server = 0; server < servers; ++server) {
        const auto rank = rank_of(server).index;
        const ServerPart of = part(server);
        std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(most) * rank, of.count,
                    learner_.network().weights().begin() + static_cast<std::ptrdiff_t>(of.begin));
    }
}

std::vector<Metric> ServerTrainer::metrics() {
    std::int64_t served = 0, pushed = 0, steps = 0;
    for (const std::int64_t of_rank : gather_all(world_, traffic_.served))
        served = std::max(served, of_rank);
    for (const std::int64_t of_rank : gather_all(world_, traffic_.pushed + traffic_.pulled))
        pushed += of_rank;
    for (const std::int64_t of_rank : gather_all(world_, steps_pushed_)) steps += of_rank;
    std::vector<Metric> metrics{
        {"gradients", static_cast<double>(steps)},
        {"worker_bytes",
         static_cast<double>(pushed) / static_cast<double>(std::max(steps, std::int64_t{1}))},
        {"server_bytes", static_cast<double>(served * world_.size()) /
                             static_cast<double>(std::max(steps, std::int64_t{1}))}};
    // from the first server, which is on rank 0
    const auto late = from_rank0(world_, server_ ? server_->late() : 0);
    if (architecture_.rules.dropped > 0) metrics.push_back({"late", static_cast<double>(late)});
    if (architecture_.rules.is_synchronous()) return metrics;
    const auto sizes = gather_all(world_, server_ ? server_->staleness().size() : 0);
    std::vector<std::int64_t> times(sizes.front());
    if (world_.is_first()) times = server_->staleness();
    world_.broadcast(std::as_writable_bytes(std::span(times)));
    double sum = 0, count = 0;
    for (std::size_t value = 0; value < times.size(); ++value) {
        count += static_cast<double>(times[value]);
        sum += static_cast<double>(times[value]) * static_cast<double>(value);
    }
    metrics.push_back({"mean_staleness", count > 0 ? sum / count : 0});
    metrics.push_back({"max_staleness", static_cast<double>(times.empty() ? 0 : times.size() - 1)});
    for (std::size_t value = 0; value < times.size(); ++value)
        if (times[value] > 0)
            metrics.push_back({fmt::format("stale_{}", value), static_cast<double>(times[value])});
    return metrics;
}

}  // namespace tutti
