// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "collectives/algorithms/building_blocks.hpp"
#include "collectives/schedule/compose.hpp"

namespace tutti {
namespace {

// The binary tree over seats 1..last in which even seats are inner nodes and odd seats are leaves:
// a seat's height is the number of its trailing zero bits, its children lie half that far to both
// sides. The top is the largest power of two.
class InOrderTree {
public:
    explicit InOrderTree(int last) : last_(last) {}

    int top() const { return static_cast<int>(std::bit_floor(static_cast<unsigned>(last_))); }
    int depth() const { return std::bit_width(static_cast<unsigned>(last_)); }

    // Calls tell(parent, child) for the children at `level` below the top (1: the top's children).
    template <class Tell>
    void at_level(int level, Tell&& tell) const {
        visit(top(), level, tell);
    }

private:
    template <class Tell>
    void visit(int seat, int level, Tell& tell) const {
        for (const int child : {lower_child(seat), upper_child(seat)}) {
            if (child == 0) continue;
            if (level == 1)
                tell(seat, child);
            else
                visit(child, level - 1, tell);
        }
    }

    static int reach(int seat) { return (seat & -seat) / 2; }
    static int lower_child(int seat) { return reach(seat) == 0 ? 0 : seat - reach(seat); }

    // To the right the tree may be incomplete: then the child is the nearest smaller node there.
    int upper_child(int seat) const {
        for (int step = reach(seat); step > 0; step /= 2)
            if (seat + step <= last_) return seat + step;
        return 0;
    }

    int last_;
};

}  // namespace

// Two binary trees, each carrying half of the message. Who is an inner node in one is a leaf in the
// other, so each rank forwards one half twice and the other not at all: full bandwidth (each rank
// sends and receives about one vector) at the latency of a tree, log2 P + segments steps when
// pipelined. Best for large messages on many ranks (Sanders, Speck, Traeff 2009).
Schedule double_tree_broadcast(int ranks, Rank root) {
    const Ring ring{ranks};
    const int others = ranks - 1;
    if (others == 0) return Schedule({ranks, 1, 0}, [](int, Step&) {});
    const InOrderTree tree{others};
    // CoreAssignment of the second tree: mirrored where that turns even seats into odd ones, else
    // shifted.
    const auto second = [=](int seat) { return ranks % 2 == 1 ? ranks - seat : seat % others + 1; };
    return Schedule({ranks, /*chunks=*/2, tree.depth()}, [=](int level, Step& step) {
        const auto tell = [&](int parent, int child) {
            step.copy({.chunks = {0, 1},
                       .from = ring.ahead(root, parent),
                       .to = ring.ahead(root, child)});
            step.copy({.chunks = {1, 1},
                       .from = parent == 0 ? root : ring.ahead(root, second(parent)),
                       .to = ring.ahead(root, second(child))});
        };
        if (level == 0)
            tell(0, tree.top());
        else
            tree.at_level(level, tell);
    });
}

Schedule double_tree_reduce(int ranks, Rank root) {
    return mirrored(double_tree_broadcast(ranks, root), Action::reduce);
}

Schedule double_tree_all_reduce(int ranks, int segments) {
    return pipelined(double_tree_reduce(ranks, Rank{0}).then(double_tree_broadcast(ranks, Rank{0})),
                     segments);
}

}  // namespace tutti
