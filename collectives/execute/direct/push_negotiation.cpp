// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/direct/push_negotiation.hpp"

#include "collectives/execute/plan/exchange_lists.hpp"

namespace tutti {

PushNegotiation negotiate_pushes(World& world, PushFacts told) {
    PushFacts heard;
    heard.havings = exchanged(world, told.havings);
    heard.offers = exchanged(world, told.offers);
    return {std::move(told), std::move(heard)};
}

}  // namespace tutti
