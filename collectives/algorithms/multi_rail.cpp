// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <utility>

#include "base/index.hpp"
#include "collectives/algorithms/building_blocks.hpp"
#include "collectives/schedule/compose.hpp"
#include "topology/placement/placement.hpp"

namespace tutti {
namespace {

// Rail k consists of the k-th rank of every node, its owner there: there are as many rails as the
// smallest node has ranks. The root's node comes first, and the root first in it.
class Rails {
public:
    Rails(int ranks, const Placement& placement, Rank root = {0}) : ranks_(ranks) {
        Grouping nodes = placement.nodes();
        for (auto& node : nodes) {
            const auto found = std::ranges::find(node, root);
            if (found == node.end()) continue;
            std::rotate(node.begin(), found, found + 1);
            std::swap(nodes.front(), node);
            break;
        }
        const auto [least, most] = std::ranges::minmax(nodes, {}, &std::vector<Rank>::size);
        rails_ = static_cast<int>(least.size());
        most_in_a_node_ = static_cast<int>(most.size());
        std::vector<int> node_of(as_size(ranks));
        for (int node = 0; node < int_size(nodes); ++node)
            for (const Rank rank : at(nodes, node)) at(node_of, rank) = node;
        nodes_ = std::make_shared<const Nodes>(Nodes{std::move(nodes), std::move(node_of)});
    }

    int rails() const { return rails_; }
    int nodes() const { return int_size(nodes_->members); }
    const Grouping& members() const { return nodes_->members; }

    // Returns the ranks of a node whose blocks a rail carries: its owner, and ranks without a rail.
    std::vector<Rank> on(int rail, const std::vector<Rank>& node) const {
        std::vector<Rank> ranks;
        for (int at = rail; at < static_cast<int>(node.size()); at += rails_)
            ranks.push_back(member(node, at));
        return ranks;
    }

    // The k-th ranks run `inner` with the pieces of rail k, all rails at the same time.
    using PiecesOfRail = std::function<std::vector<std::vector<Chunks>>(int rail)>;
    Schedule across(int chunks, const PiecesOfRail& pieces,
                    const std::function<Schedule(int)>& inner) const {
        std::vector<Group> groups;
        for (int rail = 0; rail < rails_; ++rail) {
            Group& group = groups.emplace_back();
            for (const auto& node : members()) group.members.push_back(member(node, rail));
            group.pieces = pieces(rail);
        }
        return on_each(ranks_, chunks, groups, inner);
    }

    // In round t each owner sends to the rank t + 1 places ahead, so that no rank receives from two
    // at once: one round less than the largest node has ranks.
    using SendShare = std::function<void(int rail, Rank owner, Rank other, Step& step)>;
    Schedule inside(int chunks, const SendShare& send_share) const {
        return Schedule({ranks_, chunks, most_in_a_node_ - 1},
                        [*this, send_share](int round, Step& step) {
                            for_each_node(step, [&](const std::vector<Rank>& node) {
                                const int size = int_size(node);
                                for (int rail = 0; rail < rails_ && round + 1 < size; ++rail) {
                                    const Rank owner = member(node, rail);
                                    const Rank other = member(node, (rail + round + 1) % size);
                                    if (step.concerns(owner, other))
                                        send_share(rail, owner, other, step);
                                }
                            });
                        });
    }

    // Each rank without a rail sends to an owner in its node, which carries its blocks.
    using Give = std::function<void(Rank rank, Step& step, Rank from, Rank to)>;
    Schedule from_ranks_without_a_rail(int chunks, const Give& give) const {
        const int rounds = (most_in_a_node_ - 1) / rails_;
        return Schedule({ranks_, chunks, rounds}, [*this, give](int round, Step& step) {
            for_each_node(step, [&](const std::vector<Rank>& node) {
                for (int rail = 0; rail < rails_; ++rail) {
                    const int giver = (round + 1) * rails_ + rail;
                    if (giver >= int_size(node)) continue;
                    const Rank from = member(node, giver);
                    const Rank to = member(node, rail);
                    if (step.concerns(from, to)) give(from, step, from, to);
                }
            });
        });
    }
    // The same backwards.
    Schedule to_ranks_without_a_rail(int chunks, const Give& take) const {
        const auto backwards = [take](Rank rank, Step& step, Rank from, Rank to) {
            take(rank, step, to, from);
        };
        return from_ranks_without_a_rail(chunks, backwards);
    }

    static Rank member(const std::vector<Rank>& node, int number) { return at(node, number); }

private:
    struct Nodes {
        Grouping members;
        std::vector<int> node_of;  // by rank
    };

    // Visits the nodes with ranks whose transfers the step takes.
    template <class Visit>
    void for_each_node(const Step& step, const Visit& visit) const {
        if (step.only()) return visit(at(members(), at(nodes_->node_of, *step.only())));
        for (const auto& node : members()) visit(node);
    }

    int ranks_;
    std::shared_ptr<const Nodes> nodes_;
    int rails_ = 1;
    int most_in_a_node_ = 1;
};

}  // namespace

// Inside each node every owner adds up its rail's share of the message, the rails all-reduce their
// shares at the same time, and every owner sends to its node: each of H nodes sends and receives
// 2(H-1)/H of the message, the minimum, spread evenly over the R ranks that own a rail (and over
// their NICs). Best for large messages; cut into segments, the network never waits for transfers
// inside nodes.
Schedule multi_rail_all_reduce(int ranks, const Placement& placement) {
    const Rails rails{ranks, placement};
    const int nodes = rails.nodes(), chunks = rails.rails() * nodes;
    const Schedule spread = rails.inside(chunks, [=](int rail, Rank owner, Rank other, Step& step) {
        step.copy({.chunks = {rail * nodes, nodes}, .from = owner, .to = other});
    });
    const auto pieces = [&](int rail) {
        std::vector<std::vector<Chunks>> of_rail;
        for (int node = 0; node < nodes; ++node) of_rail.push_back({{rail * nodes + node, 1}});
        return of_rail;
    };
    return mirrored(spread, Action::reduce)
        .then(rails.across(chunks, pieces, ring_all_reduce))
        .then(spread);
}

// The root distributes the message to the owners of its node, every rail is a chain through the
// nodes, and the owners send to their nodes: each node sends and receives the message once.
Schedule multi_rail_broadcast(int ranks, Rank root, const Placement& placement) {
    const Rails rails{ranks, placement, root};
    const int chunks = rails.rails();
    const Schedule deal({ranks, chunks, chunks - 1}, [=](int round, Step& step) {
        const Rank owner = Rails::member(rails.members().front(), round + 1);
        step.copy({.chunks = {round + 1, 1}, .from = root, .to = owner});
    });
    const auto piece = [](int rail) { return std::vector<std::vector<Chunks>>{{{rail, 1}}}; };
    return deal
        .then(
            rails.across(chunks, piece, [](int nodes) { return chain_broadcast(nodes, Rank{0}); }))
        .then(rails.inside(chunks, [=](int rail, Rank owner, Rank other, Step& step) {
            if (other != root) step.copy({.chunks = {rail, 1}, .from = owner, .to = other});
        }));
}

Schedule multi_rail_reduce(int ranks, Rank root, const Placement& placement) {
    return mirrored(multi_rail_broadcast(ranks, root, placement), Action::reduce);
}

// Ranks without a rail send their block to an owner, the rails gather at the same time, and the
// owners send to their nodes. Each of H equal nodes sends and receives (H-1)/H of the message.
Schedule multi_rail_all_gather(int ranks, const Placement& placement) {
    const Rails rails{ranks, placement};
    const int count = rails.rails();
    const Schedule give =
        rails.from_ranks_without_a_rail(ranks, [](Rank rank, Step& step, Rank from, Rank to) {
            step.copy({.chunks = chunk_of(rank), .from = from, .to = to});
        });
    const auto pieces = [&](int rail) {
        std::vector<std::vector<Chunks>> of_nodes;
        for (const auto& node : rails.members()) of_nodes.push_back(runs_of(rails.on(rail, node)));
        return of_nodes;
    };
    std::vector<std::vector<Chunks>> blocks_on;
    for (int rail = 0; rail < count; ++rail) {
        std::vector<Rank> all;
        for (const auto& node : rails.members())
            for (const Rank rank : rails.on(rail, node)) all.push_back(rank);
        blocks_on.push_back(runs_of(all));
    }
    const auto send_share = [=](int rail, Rank owner, Rank other, Step& step) {
        for (const Chunks run : at(blocks_on, rail))
            for (const Chunks part : around(run, other))
                step.copy({.chunks = part, .from = owner, .to = other});
    };
    return give.then(rails.across(ranks, pieces, ring_all_gather))
        .then(rails.inside(ranks, send_share));
}

// The all-gather backwards: inside a node the rails' shares are added up first.
Schedule multi_rail_reduce_scatter(int ranks, const Placement& placement) {
    return mirrored(multi_rail_all_gather(ranks, placement), Action::reduce);
}

// The root distributes the blocks to the owners of its node, every owner sends to its counterparts
// the blocks that they carry, and these send on those of ranks without a rail: the root's node
// sends each block of other nodes once, spread evenly over its rails.
Schedule multi_rail_scatter(int ranks, Rank root, const Placement& placement) {
    const Rails rails{ranks, placement, root};
    const auto deal = [=](int round, Step& step) {
        const Rank owner = Rails::member(rails.members().front(), round + 1);
        if (!step.concerns(root, owner)) return;
        std::vector<Rank> carried;
        for (const auto& node : rails.members())
            for (const Rank rank : rails.on(round + 1, node)) carried.push_back(rank);
        for (const Chunks run : runs_of(carried))
            step.copy({.chunks = run, .from = root, .to = owner});
    };
    const auto across = [=](int round, Step& step) {
        const auto& node = at(rails.members(), round + 1);
        for (int rail = 0; rail < rails.rails(); ++rail) {
            const Rank from = Rails::member(rails.members().front(), rail);
            const Rank to = Rails::member(node, rail);
            if (!step.concerns(from, to)) continue;
            for (const Chunks run : runs_of(rails.on(rail, node)))
                step.copy({.chunks = run, .from = from, .to = to});
        }
    };
    return Schedule({ranks, /*chunks=*/ranks, rails.rails() - 1}, deal)
        .then(Schedule({ranks, ranks, rails.nodes() - 1}, across))
        .then(rails.to_ranks_without_a_rail(ranks, [](Rank rank, Step& step, Rank from, Rank to) {
            step.copy({.chunks = chunk_of(rank), .from = from, .to = to});
        }));
}

Schedule multi_rail_gather(int ranks, Rank root, const Placement& placement) {
    return mirrored(multi_rail_scatter(ranks, root, placement), Action::copy);
}

// Every owner sends its counterpart in each other node one message with the blocks that its rail
// carries for all ranks there, then to each rank of its node the blocks that have arrived for it:
// of H nodes of R ranks, a rank sends H - 1 messages to other nodes instead of R (H - 1).
Schedule multi_rail_all_to_all(int ranks, const Placement& placement) {
    const Rails rails{ranks, placement};
    const int chunks = ranks * ranks, nodes = rails.nodes();
    const Schedule give =
        rails.from_ranks_without_a_rail(chunks, [=](Rank rank, Step& step, Rank from, Rank to) {
            copy_blocks(step, ranks, {{rank}, {{0, ranks}}, from, to});
        });
    const auto exchange = [=](int round, Step& step) {
        for (int node = 0; node < nodes; ++node) {
            const auto& sending = at(rails.members(), node);
            const auto& receiving = at(rails.members(), (node + round + 1) % nodes);
            for (int rail = 0; rail < rails.rails(); ++rail) {
                const Rank from = Rails::member(sending, rail);
                const Rank to = Rails::member(receiving, rail);
                if (step.concerns(from, to))
                    copy_blocks(step, ranks,
                                {rails.on(rail, sending), runs_of(receiving), from, to});
            }
        }
    };
    const auto send_arrived = [=](int rail, Rank owner, Rank other, Step& step) {
        for (const auto& node : rails.members())
            copy_blocks(step, ranks, {rails.on(rail, node), {chunk_of(other)}, owner, other});
    };
    return give.then(Schedule({ranks, chunks, nodes - 1}, exchange))
        .then(rails.inside(chunks, send_arrived));
}

}  // namespace tutti
