// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule/verify.hpp"

#include <gtest/gtest.h>

#include <set>

#include "collectives/algorithms/catalog.hpp"
#include "tests/base/messages.hpp"

namespace tutti {
namespace {

// Returns the schedule with its n-th transfer replaced: `change` adds to the step instead.
Schedule sabotaged(const Schedule& schedule, long nth,
                   std::function<void(const Transfer&, Step&)> change) {
    const Extent extent{schedule.ranks(), schedule.chunks(), schedule.steps()};
    return Schedule(extent, [=](int step, Step& out) {
        long number = 0;
        for (int earlier = 0; earlier < step; ++earlier)
            schedule.visit(earlier, [&](const Transfer&) { ++number; });
        schedule.visit(step, [&](const Transfer& transfer) {
            if (number++ == nth)
                change(transfer, out);
            else
                out.add(transfer);
        });
    });
}

long transfers_of(const Schedule& schedule) {
    long number = 0;
    for (int step = 0; step < schedule.steps(); ++step)
        schedule.visit(step, [&](const Transfer&) { ++number; });
    return number;
}

std::string fault_of(const Schedule& schedule, const CollectiveSpec& spec) {
    return find_fault(schedule, spec).value_or("no fault found");
}

// Whether the receiver of the n-th transfer has received all of its chunks before: this happens if
// a tree's gather or a butterfly's scatter is followed by a phase that sends ranks the data that
// they forwarded.
bool arrives_again(const Schedule& schedule, long nth) {
    std::set<std::pair<Rank, int>> received;
    bool is_known = false;
    long number = 0;
    for (int step = 0; step < schedule.steps(); ++step)
        schedule.visit(step, [&](const Transfer& transfer) {
            bool is_new = false;
            for (int i = 0; i < transfer.chunks.count; ++i)
                is_new |= received.insert({transfer.to, transfer.chunks.first + i}).second;
            if (number++ == nth) is_known = !is_new;
        });
    return is_known;
}

// No algorithm has a superfluous transfer: dropping any one must be detected. Exceptions: data that
// had arrived before, and a rank's copy from itself.
TEST(Verify, SeesEveryDroppedTransferOfEveryAlgorithm) {
    for (const Algorithm& algorithm : catalog())
        for (int ranks : {3, 4}) {
            const Job job{.collective = algorithm.collective, .ranks = ranks};
            if (algorithm.refuses(job)) continue;
            const Schedule schedule = algorithm.build(job);
            const CollectiveSpec spec{job.collective, ranks};
            for (long nth = 0; nth < transfers_of(schedule); ++nth) {
                bool moves_nothing = false;
                const Schedule dropped = sabotaged(schedule, nth, [&](const Transfer& t, Step&) {
                    moves_nothing = t.from == t.to && t.action == Action::copy;
                });
                const auto fault = find_fault(dropped, spec);
                const bool is_spare = !spec.reduces() && arrives_again(schedule, nth);
                EXPECT_TRUE(fault.has_value() || moves_nothing || is_spare)
                    << name_of(job.collective) << " " << algorithm.name << ", transfer " << nth;
            }
        }
}

// A reduction that arrives twice is always wrong; only a barrier's token may do so.
TEST(Verify, SeesEveryDoubledReductionOfEveryAlgorithm) {
    for (const Algorithm& algorithm : catalog())
        for (int ranks : {3, 4}) {
            const Job job{.collective = algorithm.collective, .ranks = ranks};
            if (algorithm.refuses(job) || !has_buffers(job.collective)) continue;
            const Schedule schedule = algorithm.build(job);
            for (long nth = 0; nth < transfers_of(schedule); ++nth) {
                bool is_reduction = false;
                const Schedule twice = sabotaged(schedule, nth, [&](const Transfer& t, Step& out) {
                    is_reduction = t.action == Action::reduce;
                    out.add(t);
                    out.add(t);
                });
                const std::string fault = fault_of(twice, CollectiveSpec{job.collective, ranks});
                EXPECT_TRUE(!is_reduction || fault.find("a second time") != std::string::npos)
                    << fault;
            }
        }
}

const Job four{.collective = Collective::all_reduce, .ranks = 4};

TEST(Verify, NamesTheLostShare) {
    const Schedule ring = find_algorithm(Collective::all_gather, "ring").build(four);
    const auto dropped = sabotaged(ring, 4, [](const Transfer&, Step&) {});  // step 1, rank 0 to 1
    EXPECT_TRUE(holds(fault_of(dropped, CollectiveSpec{Collective::all_gather, 4}),
                      {"step 2", "rank 1 sends", "chunk 3", "holds nothing"}));
    const Schedule tree = find_algorithm(Collective::reduce, "tree").build(four);
    const auto lost = sabotaged(tree, 0, [](const Transfer&, Step&) {});
    EXPECT_TRUE(holds(fault_of(lost, CollectiveSpec{Collective::reduce, 4}),
                      {"rank 0 lacks", "rank 2's share", "chunk 0"}));
}

TEST(Verify, NamesTheStepThatAddsAShareTwice) {
    const Schedule ring = find_algorithm(Collective::all_reduce, "ring").build(four);
    const auto doubled = sabotaged(ring, 0, [](const Transfer& t, Step& out) {
        out.add(t);
        out.add(t);
    });
    EXPECT_TRUE(holds(fault_of(doubled, CollectiveSpec{Collective::all_reduce, 4}),
                      {"step 0", "rank 1 adds", "rank 0's share", "chunk 3", "second time"}));
}

TEST(Verify, NamesTheRankThatGotAnothersData) {
    // Ranks 1 and 2 get each other's blocks, relabelled on the way: chunk names say 1 and 2.
    const Schedule swapped({.ranks = 3, .chunks = 3, .steps = 1}, [](int, Step& step) {
        step.copy({.chunks = {2, 1}, .from = {0}, .to = {1}});
        step.copy({.chunks = {1, 1}, .from = {0}, .to = {2}});
    });
    EXPECT_TRUE(holds(fault_of(swapped, CollectiveSpec{Collective::scatter, 3}),
                      {"rank 1 has", "chunk 1", "has nothing"}));
    const Schedule wrong_source({.ranks = 2, .chunks = 1, .steps = 1}, [](int, Step& step) {
        step.copy({.chunks = {}, .from = {1}, .to = {0}});
    });
    EXPECT_TRUE(holds(fault_of(wrong_source, CollectiveSpec{Collective::all_reduce, 2}),
                      {"rank 0 lacks", "rank 0's share", "chunk 0"}));
}

TEST(Verify, SwappedTransfersOfTheRingAreFound) {
    const Schedule ring = find_algorithm(Collective::all_reduce, "ring").build(four);
    for (long nth = 0; nth < transfers_of(ring); ++nth) {
        const auto swapped = sabotaged(ring, nth, [](Transfer t, Step& out) {
            std::swap(t.from, t.to);
            out.add(t);
        });
        EXPECT_TRUE(find_fault(swapped, CollectiveSpec{Collective::all_reduce, 4}).has_value())
            << nth;
    }
}

TEST(Verify, NamesTwoWritesOfOneStepThatRace) {
    const Schedule racing({.ranks = 3, .chunks = 1, .steps = 1}, [](int, Step& step) {
        step.copy({.chunks = {}, .from = {0}, .to = {2}});
        step.copy({.chunks = {}, .from = {1}, .to = {2}});
    });
    EXPECT_TRUE(holds(fault_of(racing, CollectiveSpec{Collective::all_reduce, 3}),
                      {"step 0", "rank 2's chunk 0", "overwritten"}));
}

TEST(Verify, CountsReadsThatRaceWithWritesOfTheSameStep) {
    const auto races = [](Collective collective, const char* name) {
        const Job job{.collective = collective, .ranks = 4};
        return prove(find_algorithm(collective, name).build(job), CollectiveSpec{collective, 4})
            .overwritten_while_read;
    };
    EXPECT_EQ(races(Collective::all_reduce, "butterfly"), 4 * 2);  // both partners, both steps
    EXPECT_EQ(races(Collective::all_reduce, "ring"), 0);
    EXPECT_EQ(races(Collective::broadcast, "tree"), 0);
}

// Every all_reduce of the catalog must give all ranks the same bits (docs/developers/guide.md).
TEST(Verify, KnowsWhichAlgorithmsGiveAllRanksTheSameBits) {
    for (int ranks : {2, 3, 5, 8})
        for (const Algorithm* algorithm : algorithms_of(Collective::all_reduce)) {
            const Job job{.collective = Collective::all_reduce, .ranks = ranks};
            if (algorithm->refuses(job)) continue;
            const CollectiveSpec spec{job.collective, ranks};
            EXPECT_TRUE(prove(algorithm->build(job), spec).same_order_everywhere)
                << algorithm->name << " on " << ranks
                << " ranks adds a chunk in different orders, so the ranks' bits differ";
        }
    // Every rank adds to its own vector first: four orders, four results.
    const Schedule own_first({.ranks = 4, .chunks = 1, .steps = 1}, [](int, Step& step) {
        for (Rank to : all_ranks(4))
            for (Rank from : all_ranks(4))
                if (from != to) step.reduce({.chunks = {}, .from = from, .to = to});
    });
    const Proof proof = prove(own_first, CollectiveSpec{Collective::all_reduce, 4});
    EXPECT_EQ(proof.fault, std::nullopt);
    EXPECT_FALSE(proof.same_order_everywhere);
}

// In a barrier each rank's end must depend on each rank's beginning.
TEST(Verify, NamesTheRankWhoseEntryABarrierDoesNotAwait) {
    // All tell the next rank at the same time, so no rank hears of the one two before it.
    const Schedule neighbours({.ranks = 3, .chunks = 1, .steps = 1}, [](int, Step& step) {
        for (Rank r : all_ranks(3)) step.reduce({.chunks = {}, .from = r, .to = Ring{3}.next(r)});
    });
    EXPECT_TRUE(holds(fault_of(neighbours, CollectiveSpec{Collective::barrier, 3}),
                      {"rank 0 lacks", "rank 1's share"}));
    // A token that replaces a rank's own says nothing of that rank.
    const Schedule replaced({.ranks = 2, .chunks = 1, .steps = 1}, [](int, Step& step) {
        for (Rank r : all_ranks(2)) step.copy({.chunks = {}, .from = r, .to = Ring{2}.next(r)});
    });
    EXPECT_TRUE(holds(fault_of(replaced, CollectiveSpec{Collective::barrier, 2}),
                      {"rank 0 lacks", "rank 0's share"}));
    const Schedule twice = find_algorithm(Collective::barrier, "dissemination")
                               .build({.collective = Collective::barrier, .ranks = 3});
    EXPECT_EQ(fault_of(twice, CollectiveSpec{Collective::barrier, 3}), "no fault found");
    EXPECT_TRUE(prove(twice, CollectiveSpec{Collective::barrier, 3}).same_order_everywhere);
}

TEST(Verify, NamesAShareThatIsNotPartOfAPrefix) {
    const Schedule whole = find_algorithm(Collective::all_reduce, "butterfly").build(four);
    EXPECT_TRUE(holds(fault_of(whole, CollectiveSpec{Collective::scan, 4}),
                      {"rank 0 has", "rank 3's share", "not part"}));
    const Schedule inclusive = find_algorithm(Collective::scan, "doubling")
                                   .build({.collective = Collective::scan, .ranks = 4});
    EXPECT_EQ(fault_of(inclusive, CollectiveSpec{Collective::scan, 4}), "no fault found");
    EXPECT_TRUE(prove(inclusive, CollectiveSpec{Collective::scan, 4}).same_order_everywhere);
    EXPECT_TRUE(holds(fault_of(inclusive, CollectiveSpec{Collective::exscan, 4}),
                      {"rank 1 has", "rank 1's share", "not part"}));
    EXPECT_TRUE(holds(fault_of(inclusive, CollectiveSpec{Collective::all_reduce, 4}),
                      {"rank 0 lacks", "rank 1's share"}));
}

TEST(Verify, RefusesToGiveARankItsOwnBlockBack) {
    const auto returning = [](int chunks, int own) {
        return Schedule({.ranks = 2, .chunks = chunks, .steps = 2}, [=](int number, Step& step) {
            const Rank from{number}, to{1 - number};
            step.copy({.chunks = {own, 1}, .from = from, .to = to});
        });
    };
    for (const Collective collective :
         {Collective::all_gather, Collective::gather, Collective::scatter, Collective::broadcast})
        EXPECT_TRUE(holds(fault_of(returning(2, 0), CollectiveSpec{collective, 2}),
                          {"step 1", "rank 0 receives", "chunk 0", "from the start"}));
    EXPECT_TRUE(holds(fault_of(returning(4, 1), CollectiveSpec{Collective::all_to_all, 2}),
                      {"step 1", "rank 0 receives", "chunk 1", "from the start"}));
}

// In a reduction a rank starts with only its share of a sum.
TEST(Verify, AllowsTheResultOfAReductionInPlaceOfARanksShare) {
    const Schedule there_and_back({.ranks = 2, .chunks = 1, .steps = 2}, [](int number, Step& out) {
        if (number == 0) out.reduce({.chunks = {}, .from = {0}, .to = {1}});
        if (number == 1) out.copy({.chunks = {}, .from = {1}, .to = {0}});
    });
    EXPECT_EQ(fault_of(there_and_back, CollectiveSpec{Collective::all_reduce, 2}),
              "no fault found");
}

}  // namespace
}  // namespace tutti
