// SPDX-License-Identifier: Apache-2.0
// Calls of a communicator whose blocks have different lengths.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "collectives/world/world.hpp"
#include "library/communicator_state.hpp"
#include "tests/base/messages.hpp"

namespace tutti {
namespace {

using Counts = std::vector<std::int64_t>;
using Data = std::vector<std::int32_t>;

enum class Memory { unregistered, registered };
enum class Place { apart, in_place };

// Lengths of all kinds: equal, random, one giant, most of them empty, all empty.
Counts random_counts(std::mt19937& dice, int blocks, std::int64_t most) {
    Counts counts(as_size(blocks), 0);
    const auto fill_with = [&](auto&& length) {
        for (auto& count : counts) count = static_cast<std::int64_t>(length());
    };
    switch (dice() % 5) {
        case 0:
            std::ranges::fill(counts, static_cast<std::int64_t>(dice()) % most);
            break;
        case 1:
            fill_with([&] { return dice() % static_cast<std::uint64_t>(most); });
            break;
        case 2:
            counts[dice() % counts.size()] = most;
            break;
        case 3:
            fill_with([&] { return dice() % 3 == 0 ? dice() % 9 : 0; });
            break;
        default:
            break;
    }
    return counts;
}

std::int64_t sum_of(const Counts& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

// The elements that rank `from` has of the block of `to`.
Data block(int from, int to, std::int64_t length) {
    Data elements(as_size(length));
    for (std::size_t i = 0; i < elements.size(); ++i)
        elements[i] = 100'000 * (from + 1) + 1000 * to + static_cast<std::int32_t>(i % 997);
    return elements;
}

void append(Data& all, const Data& more) { all.insert(all.end(), more.begin(), more.end()); }

// Makes random calls, in one kind of memory, and counts the wrong results of this rank. All ranks
// draw the same numbers.
class Blocks {
public:
    Blocks(Communicator& communicator, Memory memory, std::int64_t most, unsigned seed)
        : all_(communicator), most_(most), dice_(seed) {
        if (memory == Memory::registered) {
            const auto room = as_size(most) * as_size(all_.size());
            input_ = all_.allocate<std::int32_t>(room);
            output_ = all_.allocate<std::int32_t>(room);
        }
    }

    void all_gather(Place place) {
        const Counts counts = random_counts(dice_, all_.size(), most_);
        Data expected;
        for (int from = 0; from < all_.size(); ++from)
            append(expected, block(from, 0, at(counts, from)));
        const Data mine = block(me(), 0, at(counts, me()));
        if (place == Place::apart)
            return expect(expected, mine, expected.size(), [&](auto in, auto out, bool is_started) {
                if (!is_started) return all_.all_gather_v(in, out, counts);
                all_.start_all_gather_v(in, out, Counts(counts)).wait();
            });
        Data data(expected.size(), -1);
        std::ranges::copy(mine, data.begin() + before(counts, me()));
        expect(expected, data, 0, [&](auto in, auto, bool is_started) {
            if (!is_started) return all_.all_gather_v(in, counts);
            all_.start_all_gather_v(in, Counts(counts)).wait();
        });
    }

    void reduce_scatter(Place place) {
        const Counts counts = random_counts(dice_, all_.size(), most_);
        Data data, expected(as_size(at(counts, me())), 0);
        for (int to = 0; to < all_.size(); ++to) append(data, block(me(), to, at(counts, to)));
        for (int from = 0; from < all_.size(); ++from) {
            const Data share = block(from, me(), at(counts, me()));
            std::ranges::transform(expected, share, expected.begin(), std::plus<>());
        }
        if (place == Place::apart)
            return expect(expected, data, expected.size(), [&](auto in, auto out, bool is_started) {
                if (!is_started) return all_.reduce_scatter_v(in, out, counts);
                all_.start_reduce_scatter_v(in, out, Counts(counts)).wait();
            });
        expect(
            expected, data, 0,
            [&](auto in, auto, bool is_started) {
                if (!is_started) return all_.reduce_scatter_v(in, counts);
                all_.start_reduce_scatter_v(in, Counts(counts)).wait();
            },
            before(counts, me()));
    }

    void gather(Rank root) {
        const Counts counts = random_counts(dice_, all_.size(), most_);
        const bool is_root = all_.rank() == root;
        Data expected;
        for (int from = 0; is_root && from < all_.size(); ++from)
            append(expected, block(from, 0, at(counts, from)));
        expect(expected, block(me(), 0, at(counts, me())), expected.size(),
               [&](auto in, auto out, bool is_started) {
                   const Counts given = is_root ? counts : Counts();
                   if (!is_started) return all_.gather_v(in, out, given, root);
                   all_.start_gather_v(in, out, given, root).wait();
               });
    }

    void scatter(Rank root) {
        const Counts counts = random_counts(dice_, all_.size(), most_);
        const bool is_root = all_.rank() == root;
        Data data;
        for (int to = 0; is_root && to < all_.size(); ++to)
            append(data, block(root.index, to, at(counts, to)));
        const Data expected = block(root.index, me(), at(counts, me()));
        expect(expected, data, expected.size(), [&](auto in, auto out, bool is_started) {
            const Counts given = is_root ? counts : Counts();
            if (!is_started) return all_.scatter_v(in, out, given, root);
            all_.start_scatter_v(in, out, given, root).wait();
        });
    }

    void all_to_all(Place place) {
        const int ranks = all_.size();
        Counts matrix = random_counts(dice_, ranks * ranks, most_);
        const auto of = [&](int from, int to) -> std::int64_t& {
            return at(matrix, from * ranks + to);
        };
        if (place == Place::in_place)
            for (int from = 0; from < ranks; ++from)
                for (int to = 0; to < from; ++to) of(from, to) = of(to, from);
        Counts sent, received;
        Data data, expected;
        for (int peer = 0; peer < ranks; ++peer) {
            sent.push_back(of(me(), peer));
            received.push_back(of(peer, me()));
            append(data, block(me(), peer, sent.back()));
            append(expected, block(peer, me(), received.back()));
        }
        if (place == Place::apart)
            return expect(expected, data, expected.size(), [&](auto in, auto out, bool is_started) {
                if (!is_started) return all_.all_to_all_v(in, out, sent, received);
                all_.start_all_to_all_v(in, out, Counts(sent), Counts(received)).wait();
            });
        expect(expected, data, 0, [&](auto in, auto, bool is_started) {
            if (!is_started) return all_.all_to_all_v(in, sent);
            all_.start_all_to_all_v(in, Counts(sent)).wait();
        });
    }

    int wrong() const { return wrong_; }

private:
    int me() const { return all_.rank().index; }

    static std::ptrdiff_t before(const Counts& counts, int rank) {
        return std::accumulate(counts.begin(), counts.begin() + rank, std::ptrdiff_t{0});
    }

    // Calls `make` with an input and an output, blocking and started. Without output the call is in
    // place, and the result begins at element `result`.
    template <class Make>
    void expect(const Data& expected, const Data& data, std::size_t output, Make&& make,
                std::ptrdiff_t result = 0) {
        Data own_input(data.size()), own_output(output);
        for (const bool is_started : {false, true}) {
            const std::span in = input_.empty() ? std::span(own_input) : input_.first(data.size()),
                            out = output_.empty() ? std::span(own_output) : output_.first(output);
            std::ranges::copy(data, in.begin());
            std::ranges::fill(out, -7);
            make(in, out, is_started);
            const auto found = out.empty() && !expected.empty()
                                   ? in.subspan(static_cast<std::size_t>(result), expected.size())
                                   : out;
            if (!std::ranges::equal(found, expected)) ++wrong_;
            if (found.data() == out.data() && !out.empty() && !std::ranges::equal(in, data))
                ++wrong_;  // an input that changed
        }
    }

    Communicator& all_;
    std::int64_t most_;
    std::mt19937 dice_;
    std::span<std::int32_t> input_, output_;
    int wrong_ = 0;
};

void make_calls(Blocks& blocks, int ranks, int calls) {
    for (int i = 0; i < calls; ++i) {
        const Place place = i % 2 == 0 ? Place::apart : Place::in_place;
        blocks.all_gather(place);
        blocks.reduce_scatter(place);
        blocks.gather(Rank{i % ranks});
        blocks.scatter(Rank{i % ranks});
        blocks.all_to_all(place);
    }
}

TEST(CommunicatorLengths, AreRightForBlocksOfAnyLength) {
    for (const int ranks : {1, 2, 3, 4})
        run_as_threads(ranks, 20, [&](World& world) {
            Communicator communicator(world);
            for (const std::int64_t most : {3, 700, 20'000}) {
                Blocks blocks(communicator, Memory::unregistered, most, 5);
                make_calls(blocks, ranks, 20);
                EXPECT_EQ(blocks.wrong(), 0) << ranks << " ranks, up to " << most;
            }
        });
}

TEST(CommunicatorLengths, AreRightInRegisteredMemory) {
    for (const int ranks : {2, 3})
        run_as_threads(ranks, 20, [&](World& world) {
            Communicator communicator(world);
            Blocks blocks(communicator, Memory::registered, 700, 9);
            make_calls(blocks, ranks, 20);
            EXPECT_EQ(blocks.wrong(), 0) << ranks << " ranks";
        });
}

// Both kinds of calls learn, each by itself.
TEST(CommunicatorLengths, AreRightWhileTheCommunicatorLearns) {
    run_as_threads(2, 20, [&](World& world) {
        Communicator communicator(world, {.learn = Learning{}});
        Blocks blocks(communicator, Memory::unregistered, 700, 11);
        for (int i = 0; i < 20; ++i) {
            make_calls(blocks, 2, 2);
            std::vector<float> data(700);
            for (int call = 0; call < 50; ++call) communicator.all_reduce(data);
        }
        EXPECT_EQ(blocks.wrong(), 0);
    });
}

TEST(CommunicatorLengths, AreLearntByThemselves) {
    run_as_threads(2, 20, [&](World& world) {
        Communicator::State state(nullptr, world, {.learn = Learning{}});
        Data mine(100), all(200);
        CallArguments equal = arguments::all_gather(mine, all), different = equal;
        const BlockLengths lengths(Counts{100, 100});
        different.call.lengths = &lengths;
        state.run(different);
        EXPECT_EQ(state.learner->find(state.key_of(equal, CallMode::blocking)), nullptr);
        EXPECT_NE(state.learner->find(state.key_of(different, CallMode::blocking)), nullptr);
    });
}

// Plans of equal blocks serve these calls, too.
TEST(CommunicatorLengths, NeedNoPlansOfTheirOwn) {
    run_as_threads(2, 20, [&](World& world) {
        Communicator::State state(nullptr, world, {});
        Data mine(100), all(200);
        state.run(arguments::all_gather(mine, all));
        const std::size_t plans = state.plans.size();
        const Counts counts{28, 100};
        const auto in = std::span(mine).first(as_size(at(counts, world.rank().index)));
        const auto out = std::span(all).first(128);
        for (int i = 0; i < 3; ++i)
            state.run(state.with_lengths(arguments::all_gather(in, out), {counts}));
        EXPECT_EQ(state.plans.size(), plans);
    });
}

TEST(CommunicatorLengths, MayBeManyAndUnderWayAtOnce) {
    run_as_threads(3, 20, [&](World& world) {
        Communicator all(world);
        const int me = world.rank().index;
        std::mt19937 dice(3);
        std::vector<Counts> counts;
        std::vector<Data> inputs, outputs;
        for (int i = 0; i < 30; ++i) {
            counts.push_back(random_counts(dice, 3, 900));
            inputs.push_back(block(me, i, at(counts.back(), me)));
            outputs.emplace_back(as_size(sum_of(counts.back())));
        }
        std::vector<Request> requests;
        for (std::size_t i = 0; i < counts.size(); ++i)
            requests.push_back(all.start_all_gather_v(inputs[i], outputs[i], Counts(counts[i])));
        for (std::size_t i = counts.size(); i-- > 0;) {
            requests[i].wait();
            Data expected;
            for (int from = 0; from < 3; ++from)
                append(expected, block(from, static_cast<int>(i), at(counts[i], from)));
            EXPECT_EQ(outputs[i], expected) << i;
        }
    });
}

// A rank that finds such a mistake sends nothing.
TEST(CommunicatorLengths, AreCheckedBeforeAnythingIsSent) {
    run_as_threads(2, 20, [&](World& world) {
        Communicator all(world);
        Data two(2), five(5);
        const Counts fit{2, 2}, few{2}, negative{-1, 3},
            huge{std::int64_t{1} << 62, std::int64_t{1} << 62};
        EXPECT_TRUE(holds(thrown_by([&] { all.all_gather_v(two, five, few); }).text, "2 ranks"));
        EXPECT_TRUE(holds(thrown_by([&] { all.all_gather_v(two, five, negative); }).text, "-1"));
        EXPECT_THROW(all.all_gather_v(two, five, huge), Error);
        EXPECT_TRUE(
            holds(thrown_by([&] { all.all_gather_v(two, five, fit); }).text, "all_gather_v"));
        EXPECT_THROW(all.reduce_scatter_v(five, two, fit), Error);
        EXPECT_THROW(all.all_to_all_v(five, two, fit, {}), Error);
        EXPECT_THROW(all.run(arguments::all_reduce(two, Op::sum), {fit}), Error);
        EXPECT_THROW((void)all.start_all_gather_v(two, five, fit), Error);
        const BlockLengths lengths(few);
        CallArguments wrong = arguments::all_gather(two, five);
        wrong.call.lengths = &lengths;
        EXPECT_THROW(all.run(wrong), Error);
        all.all_reduce(five);  // nothing of this has broken it
    });
}

// Where ranks exchange their counts, all of them get the error.
TEST(CommunicatorLengths, ThatContradictEachOtherAreAnErrorOnAllRanks) {
    run_as_threads(3, 20, [&](World& world) {
        Communicator all(world);
        const bool is_root = world.rank().index == 2, is_first = world.is_first();
        Data mine(is_first ? 4 : 3), whole(9);
        const Counts threes{3, 3, 3}, four_first{4, 3, 3};
        const auto given = [&] { return is_root ? threes : Counts(); };
        for (int i = 0; i < 2; ++i) {
            const Thrown gathered = thrown_by([&] { all.gather_v(mine, whole, given(), Rank{2}); });
            EXPECT_EQ(gathered.code, Exit::usage);
            EXPECT_TRUE(holds(gathered.text, "rank 2 expects"));
            const Thrown scattered =
                thrown_by([&] { (void)all.start_scatter_v(whole, mine, given(), Rank{2}); });
            EXPECT_TRUE(holds(scattered.text, "scatter_v"));
            Data ten(10);
            const Thrown exchanged = thrown_by([&] {
                all.all_to_all_v(std::span(whole), std::span(ten).first(is_first ? 10 : 9), threes,
                                 is_first ? four_first : threes);
            });
            EXPECT_EQ(exchanged.code, Exit::usage);
            EXPECT_TRUE(holds(exchanged.text, "rank 0 expects"));
        }
        Data threes_of_me(3);
        all.gather_v(threes_of_me, whole, given(), Rank{2});  // it is still usable
    });
}

TEST(CommunicatorLengths, AreNotMixedWithEqualBlocks) {
    run_as_threads(2, 20, [&](World& world) {
        Communicator all(world);
        Data mine(3), whole(6);
        const Counts threes{3, 3};
        const Thrown thrown = thrown_by([&] {
            if (world.is_first()) return all.all_gather_v(mine, whole, threes);
            all.all_gather(mine, whole);
        });
        EXPECT_TRUE(holds(thrown.text, "all_gather_v of at most 3 int32"));
    });
}

}  // namespace
}  // namespace tutti
