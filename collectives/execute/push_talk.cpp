// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/push_talk.hpp"

#include "collectives/execute/exchange_lists.hpp"

namespace tutti {

PushTalk talk_of(World& world, PushFacts told) {
    PushFacts heard;
    heard.havings = exchanged(world, told.havings);
    heard.offers = exchanged(world, told.offers);
    return {std::move(told), std::move(heard)};
}

}  // namespace tutti
