// SPDX-License-Identifier: Apache-2.0
// Ranks that are threads, but lie on several hosts.
#pragma once
#include <functional>
#include <utility>

#include "collectives/world/world.hpp"

namespace tutti {

/// The world of another one's ranks with other hosts. For tests of what only several hosts have.
class WorldOfHosts final : public World {
public:
    WorldOfHosts(World& threads, Placement hosts) : threads_(threads), hosts_(std::move(hosts)) {
        hang_timeout = threads.hang_timeout;
        oversubscribed = threads.oversubscribed;
    }

    Rank rank() const override { return threads_.rank(); }
    int size() const override { return threads_.size(); }
    std::string_view kind() const override { return threads_.kind(); }
    bool one_process() const override { return true; }
    void barrier() override { threads_.barrier(); }
    void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
        threads_.all_gather(mine, all);
    }
    void broadcast(std::span<std::byte> data) override { threads_.broadcast(data); }
    const Placement& hosts() const override { return hosts_; }
    std::unique_ptr<World> split(std::optional<int> group) override {
        return threads_.split(group);  // on one host
    }

private:
    World& threads_;
    Placement hosts_;
};

/// Runs `body` on each rank, each on a host of its own.
inline void run_as_hosts(int hosts, const std::function<void(World&)>& body) {
    run_as_threads(hosts, 60, [&](World& threads) {
        WorldOfHosts world(threads, Placement::in_nodes_of(hosts, 1));
        body(world);
    });
}

}  // namespace tutti
