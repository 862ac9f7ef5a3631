// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <type_traits>

#include "base/clock.hpp"
#include "results/comparison/quads.hpp"

namespace tutti {

/// One of the two that are compared.
enum class Side { a, b };

/// When a launch has enough quads of a metric.
struct EnoughQuads {
    int exactly = 0;     ///< even; 0: from 8 on
    double seconds = 0;  ///< then until this time is over, or until there are 100

    bool operator()(int quads, double spent) const {
        constexpr int least = 8, most = 100;
        if (exactly > 0) return quads >= exactly;
        if (quads < least || quads % 2 != 0) return false;  // equal numbers begin with A and B
        return quads >= most || spent >= seconds;
    }
};

/// Measures A and B in quads, which they begin by turns.
class QuadLoop {
public:
    explicit QuadLoop(EnoughQuads enough, Side first = Side::a) : enough_(enough), first_(first) {}

    bool goes_on() const { return !enough_(done_, seconds_since(began_ns_)); }
    int done() const { return done_; }

    /// The next one, of what `block` returns for a side.
    template <class Block>
    auto quad(const Block& block) {
        QuadOf<std::invoke_result_t<Block, Side>> quad{.a_first = first_ == Side::a};
        if (quad.a_first) {
            quad.a1 = block(Side::a);
            quad.b1 = block(Side::b);
            quad.b2 = block(Side::b);
            quad.a2 = block(Side::a);
        } else {
            quad.b1 = block(Side::b);
            quad.a1 = block(Side::a);
            quad.a2 = block(Side::a);
            quad.b2 = block(Side::b);
        }
        ++done_;
        first_ = quad.a_first ? Side::b : Side::a;
        return quad;
    }

private:
    EnoughQuads enough_;
    Side first_;
    int done_ = 0;
    std::int64_t began_ns_ = now_ns();
};

}  // namespace tutti
