// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "collectives/algorithms/building_blocks.hpp"
#include "collectives/schedule/compose.hpp"

namespace tutti {
namespace {

// The binary tree over relative ranks 1..last in which even ones are inner nodes and odd ones are
// leaves: a node's height is the number of its trailing zero bits, and its children are half that
// distance away on both sides. The top is the largest power of two.
class InOrderTree {
public:
    explicit InOrderTree(int last) : last_(last) {}

    int top() const { return static_cast<int>(std::bit_floor(static_cast<unsigned>(last_))); }
    int depth() const { return std::bit_width(static_cast<unsigned>(last_)); }

    // Calls send(parent, child) for the children at `level` below the top (1: the top's children).
    template <class Send>
    void at_level(int level, Send&& send) const {
        visit(top(), level, send);
    }

private:
    template <class Send>
    void visit(int node, int level, Send& send) const {
        for (const int child : {lower_child(node), upper_child(node)}) {
            if (child == 0) continue;
            if (level == 1)
                send(node, child);
            else
                visit(child, level - 1, send);
        }
    }

    static int reach(int node) { return (node & -node) / 2; }
    static int lower_child(int node) { return reach(node) == 0 ? 0 : node - reach(node); }

    // On the right the tree may be incomplete: then the child is the nearest smaller node there.
    int upper_child(int node) const {
        for (int step = reach(node); step > 0; step /= 2)
            if (node + step <= last_) return node + step;
        return 0;
    }

    int last_;
};

}  // namespace

// Two binary trees, each carrying half of the message. An inner node of one tree is a leaf of the
// other, so each rank forwards one half twice and the other not at all: full bandwidth (each rank
// sends and receives about one vector) at the latency of a tree, log2 P + segments steps when
// pipelined. Best for large messages on many ranks (Sanders, Speck, Traeff 2009).
Schedule double_tree_broadcast(int ranks, Rank root) {
    const Ring ring{ranks};
    const int others = ranks - 1;
    if (others == 0) return Schedule({ranks, 1, 0}, [](int, Step&) {});
    const InOrderTree tree{others};
    // The second tree is mirrored if that turns even relative ranks into odd ones, else shifted.
    const auto second = [=](int node) { return ranks % 2 == 1 ? ranks - node : node % others + 1; };
    return Schedule({ranks, /*chunks=*/2, tree.depth()}, [=](int level, Step& step) {
        const auto send = [&](int parent, int child) {
            step.copy({.chunks = {0, 1},
                       .from = ring.ahead(root, parent),
                       .to = ring.ahead(root, child)});
            step.copy({.chunks = {1, 1},
                       .from = parent == 0 ? root : ring.ahead(root, second(parent)),
                       .to = ring.ahead(root, second(child))});
        };
        if (level == 0)
            send(0, tree.top());
        else
            tree.at_level(level, send);
    });
}

Schedule double_tree_reduce(int ranks, Rank root) {
    return mirrored(double_tree_broadcast(ranks, root), Action::reduce);
}

Schedule double_tree_all_reduce(int ranks) {
    return double_tree_reduce(ranks, Rank{0}).then(double_tree_broadcast(ranks, Rank{0}));
}

}  // namespace tutti
