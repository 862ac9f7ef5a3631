// SPDX-License-Identifier: Apache-2.0
// Tests programs whose lengths vary from call to call.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "library/communicator_state.hpp"
#include "tests/autotune/caller.hpp"

namespace tutti {
namespace {

using test::Caller;

// Returns a call with a length from 0 to some segments, mostly close to the slot sizes.
Call random_call(std::mt19937& dice, int ranks) {
    const auto one_of = [&](const auto& all) { return all[dice() % all.size()]; };
    const std::int64_t most = dice() % 20 == 0 ? 17 : 13;
    const std::int64_t around = std::int64_t{1} << dice() % most;
    Call call{.collective = one_of(all_collectives()),
              .type = one_of(all_data_types()),
              .op = one_of(all_ops()),
              .count = std::max<std::int64_t>(0, around + dice() % 5 - 2)};
    if (has_root(call.collective)) call.root.index = static_cast<int>(dice() % as_size(ranks));
    return call;
}

// Random calls in ordinary memory, with different alignments on each rank, and in registered
// memory. Every result is compared with a closed form.
TEST(VaryingLengths, HaveRightResults) {
    constexpr unsigned seed = 7;
    for (const int ranks : {1, 2, 3, 4})
        run_as_threads(ranks, 20, [&](World& world) {
            Communicator communicator(world);
            const auto registered = communicator.allocate_bytes(std::size_t{9} << 20);
            Caller caller(communicator, /*seed=*/world.rank().index);
            std::mt19937 same(seed);
            for (int i = 0; i < 600 && caller.wrong() == 0; ++i) {
                const Call call = random_call(same, ranks);
                switch (same() % 4) {
                    case 0:
                        caller.start(call);
                        caller.wait_for(0);
                        break;
                    case 1:
                        caller.call(call);
                        break;
                    default:
                        caller.call(call, registered);
                }
                EXPECT_EQ(caller.wrong(), 0)
                    << "seed " << seed << ", call " << i << " of " << ranks
                    << " ranks: " << name_of(call.collective) << " " << name_of(call.type) << " "
                    << name_of(call.op) << " root " << call.root.index << " count " << call.count;
            }
        });
}

std::size_t bytes_in_memory() {
    std::ifstream file("/proc/self/statm");
    std::size_t all = 0, resident = 0;
    file >> all >> resident;
    return resident * as_size(sysconf(_SC_PAGESIZE));
}

// A new length costs no memory: only a new octave does, and the first thousand calls have all.
TEST(VaryingLengths, KeepTheirMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer keeps what is freed";
#endif
    for (const auto& [ranks, calls] : {std::pair{1, 100'000}, std::pair{2, 10'000}})
        run_as_threads(ranks, 20, [calls = calls](World& world) {
            Communicator communicator(world);
            constexpr std::size_t lengths = 100'003;  // a prime: all lengths are different
            std::vector<std::uint8_t> input(lengths), output(lengths);
            std::size_t before = 0;
            for (int call = 0; call < calls; ++call) {
                const std::size_t count = as_size(call) * 40'009 % lengths;
                communicator.all_reduce(std::span(input).first(count),
                                        std::span(output).first(count), Op::max);
                if (call == 1000) before = bytes_in_memory();
            }
            EXPECT_LE(bytes_in_memory(), before + (std::size_t{1} << 20));
        });
}

TEST(VaryingLengths, ShareFewPlans) {
    run_as_threads(2, 20, [](World& world) {
        Communicator::State state(nullptr, world, {});
        std::vector<double> data(5000);
        for (int length = 1; length <= 4096; ++length) {
            const auto bytes = std::as_writable_bytes(std::span(data)).first(8 * as_size(length));
            state.run({{Collective::all_reduce, DataType::float64, Op::sum, Rank{0}, length},
                       {bytes, bytes, /*in_place=*/true}});
        }
        EXPECT_EQ(state.plans.size(), 13U);  // from 8 B to 32 KiB
    });
}

}  // namespace
}  // namespace tutti
