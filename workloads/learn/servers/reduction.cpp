// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/servers/reduction.hpp"

#include "collectives/world/backoff.hpp"

namespace tutti {
namespace {

std::vector<BufferKind> kinds_of(std::optional<BufferKind> one) {
    return one ? std::vector{*one} : std::vector<BufferKind>{};
}

}  // namespace

WholeReduction::Site::Site(Planner& of, std::size_t count, std::optional<BufferKind> buffers)
    : planner(of),
      call{.collective = Collective::all_reduce,
           .type = DataType::float32,
           .op = Op::sum,
           .count = static_cast<std::int64_t>(count)},
      environment{.ranks = of.world().size(),
                  .hosts = of.world().hosts(),
                  .default_segment = default_segment(of.world())},
      stage(of.world(), BufferPool::bytes_for(call, of.world().size(), true), kinds_of(buffers)) {}

std::unique_ptr<WholeReduction> WholeReduction::make(Site& site, const Method& way,
                                                     std::string& reason) {
    std::unique_ptr<WholeReduction> made(new WholeReduction(site));
    made->way_ = way.of_group(site.planner, site.environment);
    made->buffers_ = site.stage.set(site.call, true, site.stage.kinds().front());
    const auto refused = made->way_->is_for(Collective::all_reduce)
                             ? made->way_->refuses(site.call, made->buffers_)
                             : "all_reduce has no algorithm of this name";
    for (const std::string& of_rank : gather_all_texts(site.planner.world(), refused.value_or("")))
        if (reason = of_rank; !reason.empty()) return nullptr;
    made->operation_ = made->way_->operation(site.call, made->buffers_);
    return made;
}

std::span<float> WholeReduction::values() const {
    const std::span<std::byte> memory = buffers_.writable_input;
    return {reinterpret_cast<float*>(memory.data()), memory.size() / sizeof(float)};
}

void WholeReduction::run() {
    World& world = site_.planner.world();
    operation_->start();
    Backoff patience(world);
    while (!operation_->test())
        if (!patience.pause()) throw Error(operation_->hang_report(), Exit::time_out);
    world.heartbeat();
}

}  // namespace tutti
