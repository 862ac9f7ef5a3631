// SPDX-License-Identifier: Apache-2.0
#include "topology/rings.hpp"

#include <gtest/gtest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <chrono>

#include "tests/topology/machines.hpp"

namespace tutti {
namespace {
void show(const char* name, const RingPlan& plan) {
    for (const RingSet* s : {&plan.found, &plan.naive}) {
        fmt::print("{}: {} x {:.2f} = {:.2f} hops {} inside {} port {} limit {}\n", name, s->channels.size(), s->gigabytes_per_channel, s->gigabytes, s->hops, short_name(s->inside), short_name(s->to_port), s->limit);
    }
    for (auto& c : plan.found.channels) { for (auto& h : c) fmt::print("   {} {} {}\n", h.port_in.value_or(-1), fmt::join(h.members," "), h.port_out.value_or(-1)); }
}
TEST(Rings, Show) {
    std::vector<std::pair<const char*, Host>> hosts{{"dgx1", machines::dgx1()}, {"dgx2", machines::dgx2()}, {"a100", machines::dgx_a100()}, {"h100", machines::dgx_h100()}, {"mi250x", machines::mi250x()}, {"mi100", machines::two_xgmi_islands()}, {"lassen", machines::lassen()}, {"pcie", machines::pcie_only()}, {"pcie mixed", machines::pcie_only({0,4,1,5,2,6,3,7})}, {"2", machines::plain_gpus(2)}, {"1", machines::plain_gpus(1)}, {"0", machines::plain_gpus(0)}};
    for (auto& [n, h] : hosts) for (int c : {1, 2}) {
        auto t = std::chrono::steady_clock::now();
        try { auto p = plan_rings(copies_of(h, c)); 
        fmt::print("---- {} hosts, {:.3f} s\n", c, std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count());
        show(n, p); } catch (std::exception& e) { fmt::print("{}\n", e.what()); }
    }
}
}  // namespace
}  // namespace tutti
