// SPDX-License-Identifier: Apache-2.0
// Plans that bind another call at each start: other counts, types, operations and buffers, on each
// rank at any place.
#include <random>

#include "collectives/execute/plans.hpp"
#include "collectives/transport/messages/loopback.hpp"
#include "threads.hpp"

namespace tutti {
namespace {

class Bind : public testing::TestWithParam<std::string_view> {};

// Buffers for a call at any position in their own memory; input and output may even touch.
class Memory {
public:
    Memory(const Call& call, int ranks, Rank me, bool in_place, std::size_t gap) {
        const std::size_t input = input_bytes(call, ranks, me),
                          output = output_bytes(call, ranks, me);
        const auto at = in_place ? in_place_offsets(call, ranks, me)
                                 : InPlace{.input = 8, .output = 8 + input + gap};
        bytes_.resize(std::max(at.input + input, at.output + output) + 64);
        writable_input = std::span(bytes_).subspan(at.input, input);
        buffers = {writable_input, std::span(bytes_).subspan(at.output, output), in_place};
    }

    std::span<std::byte> writable_input;
    CallBuffers buffers;

private:
    std::vector<std::byte> bytes_;
};

constexpr std::int64_t most = 301;  // elements of 4 bytes

// All ranks make the same calls, but each has its buffers anywhere. Returns the wrong elements.
std::int64_t wrong_elements(Planner& planner, const Algorithm& algorithm, bool in_place,
                            std::string_view transport, int runs) {
    World& world = planner.world();
    const int ranks = world.size();
    const Call first{algorithm.collective, DataType::int32, Op::sum, Rank{ranks - 1}, most};
    const Memory first_memory(first, ranks, world.rank(), in_place, 0);
    const auto plan =
        planner.plan({&algorithm, {.transport = std::string(transport), .segment = {256}}}, first,
                     first_memory.buffers, nullptr);
    std::mt19937 of_calls(static_cast<unsigned>(algorithm.name.size())),
        of_buffers(static_cast<unsigned>(world.rank().index));
    const bool is_of_host = !find_transport(transport).methods.are_of_devices();
    constexpr std::array types{DataType::int32, DataType::float64, DataType::int8,
                               DataType::bfloat16};
    constexpr std::array ops{Op::sum, Op::max, Op::min, Op::avg};
    std::int64_t wrong = 0;
    for (int run = 0; run < runs; ++run) {
        Call call = first;
        if (is_of_host) {
            call.type = types[of_calls() % types.size()];
            if (reduces(call.collective)) call.op = ops[of_calls() % ops.size()];
            if (call.op == Op::avg && call.type != DataType::float64) call.op = Op::sum;
            const std::int64_t fit = most * 4 / static_cast<std::int64_t>(size_of(call.type));
            const std::array<std::int64_t, 7> counts{0, 1, 2, ranks - 1, ranks, fit, -1};
            call.count = counts[of_calls() % counts.size()];
            if (call.count < 0) call.count = static_cast<std::int64_t>(of_calls()) % fit;
        }
        const std::array<std::size_t, 3> gaps{0, 24, 4096};
        const Memory here(call, ranks, world.rank(), in_place, gaps[of_buffers() % gaps.size()]);
        const CheckCase check{call.collective, call.type,  call.op,     ranks,
                              ranks - 1,       call.count, as_size(run)};
        poison(here.buffers.output);
        fill_input(check, world.rank(), here.writable_input);
        plan->bind(call, here.buffers);
        plan->run();
        wrong += count_wrong(check, world.rank(), here.buffers.output);
    }
    world.barrier();
    return wrong;
}

void expect_right_in_any_call(int ranks, std::string_view transport) {
    test::run_over(transport, ranks, 20, [&](World& world) {
        Planner planner(world);
        if (planner.refuses(transport)) return;
        const int runs = find_transport(transport).methods.are_of_devices() ? 4 : 8;
        for (const Algorithm& algorithm : catalog()) {
            if (algorithm.refuses({.collective = algorithm.collective, .ranks = ranks})) continue;
            for (const bool in_place : {false, true})
                EXPECT_EQ(wrong_elements(planner, algorithm, in_place, transport, runs), 0)
                    << name_of(algorithm.collective) << " " << algorithm.name << ", " << ranks
                    << " ranks" << (in_place ? " in place" : "");
        }
    });
}

TEST_P(Bind, IsRightWhateverTheCall) {
    for (const int ranks : {2, 3}) expect_right_in_any_call(ranks, GetParam());
}

TEST_P(Bind, OfMoreRanksIsRightWhateverTheCall) {
    for (const int ranks : {1, 4}) expect_right_in_any_call(ranks, GetParam());
}

// Element `i` of a block, as rank `from` has it before the call.
std::int32_t value_of(std::int64_t block, std::int64_t i, int from) {
    return static_cast<std::int32_t>(1'000'000 * (from + 1) + 5000 * block + i);
}

// Makes a call whose blocks have the given lengths, with other buffers each time. Returns the wrong
// elements of this rank.
std::int64_t wrong_in_blocks(World& world, Plan& plan, Collective collective, bool in_place,
                             const BlockLengths& lengths) {
    const int ranks = world.size();
    const Rank me = world.rank();
    const CollectiveSpec spec(collective, ranks, Rank{ranks - 1});
    const Call call{collective,      DataType::int32,   Op::sum,
                    Rank{ranks - 1}, lengths.longest(), &lengths};
    const Memory here(call, ranks, me, in_place, 8);
    poison(here.buffers.output);
    std::vector<std::int32_t> input;
    for (std::int64_t place = 0; place < spec.input_blocks(me); ++place) {
        const std::int64_t block = spec.block_in_input(me, place);
        for (std::int64_t i = 0; i < lengths.of(block); ++i)
            input.push_back(value_of(block, i, me.index));
    }
    EXPECT_EQ(input.size() * 4, here.writable_input.size());
    std::ranges::copy(std::as_bytes(std::span(input)), here.writable_input.begin());
    plan.bind(call, here.buffers);
    plan.run();
    std::vector<std::int32_t> expected;
    for (std::int64_t place = 0; place < spec.output_blocks(me); ++place) {
        const std::int64_t block = spec.block_in_output(me, place);
        for (std::int64_t i = 0; i < lengths.of(block); ++i) {
            std::int32_t value = 0;
            for (int from = 0; from < ranks; ++from)
                if (spec.reduces() || spec.source_of(block).index == from)
                    value += value_of(block, i, from);
            expected.push_back(value);
        }
    }
    EXPECT_EQ(expected.size() * 4, here.buffers.output.size());
    const auto wanted = std::as_bytes(std::span(expected));
    std::int64_t wrong = 0;
    for (std::size_t at = 0; at < wanted.size(); at += 4)
        wrong +=
            std::ranges::equal(wanted.subspan(at, 4), here.buffers.output.subspan(at, 4)) ? 0 : 1;
    return wrong;
}

// Lengths of all kinds: equal, random, one giant, most of them empty, all empty.
std::vector<std::int64_t> random_lengths(std::mt19937& dice, std::size_t blocks) {
    std::vector<std::int64_t> lengths(blocks, 0);
    switch (dice() % 5) {
        case 0:
            std::ranges::fill(lengths, static_cast<std::int64_t>(dice() % most));
            break;
        case 1:
            for (auto& length : lengths) length = static_cast<std::int64_t>(dice() % most);
            break;
        case 2:
            lengths[dice() % blocks] = most;
            break;
        case 3:
            for (auto& length : lengths)
                length = dice() % 3 == 0 ? static_cast<std::int64_t>(dice() % 9) : 0;
            break;
        default:
            break;
    }
    return lengths;
}

void expect_right_in_blocks_of_any_length(int ranks, std::string_view transport) {
    test::run_over(transport, ranks, 20, [&](World& world) {
        Planner planner(world);
        if (planner.refuses(transport) || find_transport(transport).methods.are_of_devices())
            return;
        for (const Algorithm& algorithm : catalog()) {
            const CollectiveSpec spec(algorithm.collective, ranks, Rank{ranks - 1});
            if (algorithm.refuses({.collective = algorithm.collective, .ranks = ranks}) ||
                spec.blocks() == 1)
                continue;
            for (const bool in_place : {false, true}) {
                const Call first{algorithm.collective, DataType::int32, Op::sum, spec.root(), most};
                const Memory memory(first, ranks, world.rank(), in_place, 0);
                const auto plan = planner.plan(
                    {&algorithm, {.transport = std::string(transport), .segment = {256}}}, first,
                    memory.buffers, nullptr);
                std::mt19937 dice(7);  // equal on all ranks
                for (int run = 0; run < 7; ++run) {
                    auto lengths = random_lengths(dice, as_size(static_cast<int>(spec.blocks())));
                    if (in_place && spec.exchanges())  // a block makes room for the one that comes
                        for (std::size_t i = 0; i < lengths.size(); ++i)
                            lengths[i] =
                                lengths[i % as_size(ranks) * as_size(ranks) + i / as_size(ranks)];
                    EXPECT_EQ(wrong_in_blocks(world, *plan, algorithm.collective, in_place,
                                              BlockLengths(lengths)),
                              0)
                        << name_of(algorithm.collective) << " " << algorithm.name << ", " << ranks
                        << " ranks" << (in_place ? " in place" : "") << ", run " << run;
                }
                world.barrier();
            }
        }
    });
}

TEST_P(Bind, IsRightWhateverTheLengthsOfTheBlocks) {
    for (const int ranks : {2, 3}) expect_right_in_blocks_of_any_length(ranks, GetParam());
}

TEST_P(Bind, OfMoreRanksIsRightWhateverTheLengthsOfTheBlocks) {
    for (const int ranks : {1, 4, 5}) expect_right_in_blocks_of_any_length(ranks, GetParam());
}

TEST_P(Bind, RefusesCallsThatDoNotFit) {
    run_as_threads(2, 20, [&](World& world) {
        Planner planner(world);
        if (planner.refuses(GetParam())) return;
        const Algorithm& ring = find_algorithm(Collective::all_reduce, "ring");
        std::vector<std::byte> input(800), output(800);
        const Call call{.count = 100};
        const CallBuffers first{std::span(input).first(400), std::span(output).first(400)};
        const auto plan =
            planner.plan({&ring, {.transport = std::string(GetParam())}}, call, first, nullptr);
        EXPECT_THROW(plan->bind(call, {std::span(input).first(404), first.output}), Error);
        EXPECT_THROW(plan->bind(call, {first.output, first.output, true}), Error);
        EXPECT_THROW(
            plan->bind({.count = 101}, {std::span(input).first(404), std::span(output).first(404)}),
            Error);
        EXPECT_THROW(plan->bind({.collective = Collective::reduce, .count = 100}, first), Error);
        EXPECT_NO_THROW(
            plan->bind(call, {std::span(input).last(400), std::span(output).last(400)}));
        world.barrier();
    });
}

INSTANTIATE_TEST_SUITE_P(Threads, Bind, testing::ValuesIn(test::transports_of_threads()),
                         test::name_of_transport);
INSTANTIATE_TEST_SUITE_P(Gpus, Bind, testing::Values("cuda"), test::name_of_transport);

// Cuts messages after 100 bytes, and expects that no plan needs more than it has said.
class CuttingTransport final : public MessageTransport {
public:
    explicit CuttingTransport(World& world) : messages_(loopback_transport(world)) {}
    std::string_view name() const override { return "cutting"; }
    std::size_t most_bytes() const override { return 100; }
    std::unique_ptr<Endpoint> connect(const EndpointNeeds& needs) override {
        return std::make_unique<Watched>(messages_->connect(needs), needs);
    }

private:
    class Watched final : public Endpoint {
    public:
        Watched(std::unique_ptr<Endpoint> endpoint, const EndpointNeeds& needs)
            : endpoint_(std::move(endpoint)), needs_(needs) {}
        void post_receive(int step, Rank from, std::span<std::byte> into) override {
            expect_needed(from, into.size());
            endpoint_->post_receive(step, from, into);
        }
        void post_send(int step, Rank to, std::span<const std::byte> from) override {
            expect_needed(to, from.size());
            endpoint_->post_send(step, to, from);
        }
        bool all_done() override {
            const bool are_done = endpoint_->all_done();
            if (are_done) posts_ = 0;
            return are_done;
        }
        std::optional<Rank> waits_for() const override { return endpoint_->waits_for(); }
        std::optional<std::string> left_over() const override { return endpoint_->left_over(); }

    private:
        void expect_needed(Rank peer, std::size_t bytes) {
            EXPECT_LE(++posts_, needs_.most_posts);
            EXPECT_GT(bytes, 0U);
            EXPECT_LE(bytes, needs_.most_bytes);
            EXPECT_TRUE(std::ranges::binary_search(needs_.peers, peer));
        }

        std::unique_ptr<Endpoint> endpoint_;
        EndpointNeeds needs_;
        std::size_t posts_ = 0;
    };

    std::unique_ptr<MessageTransport> messages_;
};

// How ranks exchange data: by messages alone, or by memory within hosts of `ranks_of_host` ranks.
struct Way {
    TransferMethod method;
    int ranks_of_host = 0;
};

// Makes each call twice, the second time in other buffers.
std::int64_t wrong_by(const Way& way, World& world, const Algorithm& algorithm, bool in_place) {
    const int ranks = world.size();
    Progress progress(world);
    CuttingTransport transport(world);
    const Job job{.collective = algorithm.collective,
                  .ranks = ranks,
                  .root = {ranks - 1},
                  .segments = 9,  // in two lanes
                  .placement = Placement::in_nodes_of(ranks, 2)};
    const Call largest{algorithm.collective, DataType::int32, Op::sum, job.root, most};
    PlanRequest request{.schedule = build_in_order(algorithm, job),
                        .call = largest,
                        .buffers = {.in_place = in_place},
                        .what = "trial",
                        .method = way.method};
    if (!in_place || !CollectiveSpec(algorithm.collective, ranks).exchanges())
        request.lanes = lanes_for(algorithm, job, request.schedule);
    if (way.ranks_of_host > 0)
        for (int rank = 0; rank < ranks; ++rank) request.hosts.push_back(rank / way.ranks_of_host);
    const auto plan = host_plan(progress, &transport, request);
    std::mt19937 dice(3);  // equal on all ranks
    std::int64_t wrong = 0;
    std::uint64_t seed = 0;
    for (const std::int64_t count : {most, std::int64_t{0}, std::int64_t{1}, ranks + 1L, 2L, 150L})
        for (int times = 0; times < 2; ++times) {
            Call call = largest;
            call.count = count;
            if (times == 0) call.type = dice() % 2 == 0 ? DataType::int32 : DataType::int16;
            const Memory here(call, ranks, world.rank(), in_place, 8 * (dice() % 9));
            const CheckCase check{call.collective, call.type,  call.op, ranks,
                                  ranks - 1,       call.count, ++seed};
            poison(here.buffers.output);
            fill_input(check, world.rank(), here.writable_input);
            plan->bind(call, here.buffers);
            plan->run();
            wrong += count_wrong(check, world.rank(), here.buffers.output);
            world.barrier();
        }
    EXPECT_EQ(plan->left_over(), std::nullopt);
    return wrong;
}

void expect_right_by(const Way& way, int ranks) {
    run_as_threads(ranks, 20, [&](World& world) {
        for (const Algorithm& algorithm : catalog()) {
            if (algorithm.refuses({.collective = algorithm.collective, .ranks = ranks})) continue;
            for (const bool in_place : {false, true})
                EXPECT_EQ(wrong_by(way, world, algorithm, in_place), 0)
                    << name_of(algorithm.collective) << " " << algorithm.name << ", " << ranks
                    << " ranks" << (in_place ? " in place" : "");
        }
    });
}

TEST(BindMessages, IsRightInAllCalls) {
    for (const int ranks : {2, 3, 5}) expect_right_by({TransferMethod::messages}, ranks);
}

// In one step a rank may exchange messages with some peers, and read the memory of others.
TEST(BindMessages, IsRightBesideMemory) {
    for (const auto method :
         {TransferMethod::copy_in_copy_out, TransferMethod::single_copy, TransferMethod::mapped}) {
        expect_right_by({method, 2}, 4);
        expect_right_by({method, 3}, 5);
    }
}

// Ranks that are threads may take over another rank's buffer: then an address changes its owner.
TEST(BindMapped, IsRightWhereRanksTakeEachOthersBuffers) {
    constexpr int ranks = 3;
    const Call call{.collective = Collective::all_reduce, .count = 301};
    std::vector<std::unique_ptr<Memory>> memory;
    for (const Rank rank : all_ranks(ranks))
        memory.push_back(std::make_unique<Memory>(call, ranks, rank, /*in_place=*/false, 0));
    run_as_threads(ranks, 20, [&](World& world) {
        Planner planner(world);
        const int me = world.rank().index;
        for (const Algorithm& algorithm : catalog()) {
            if (algorithm.collective != call.collective ||
                algorithm.refuses({.collective = call.collective, .ranks = ranks}))
                continue;
            const auto plan = planner.plan({&algorithm, {.transport = "shm-mapped"}}, call,
                                           at(memory, me)->buffers, nullptr);
            for (int run = 0; run < 2 * ranks; ++run) {
                const Memory& here = *at(memory, (me + run) % ranks);
                const CheckCase check = check_of(call, ranks, as_size(run));
                poison(here.buffers.output);
                fill_input(check, world.rank(), here.writable_input);
                plan->bind(call, here.buffers);
                plan->run();
                EXPECT_EQ(count_wrong(check, world.rank(), here.buffers.output), 0)
                    << algorithm.name << ", run " << run;
                world.barrier();
            }
        }
    });
}

// Several may also read one input, until one of them switches to another.
TEST(BindMapped, LeavesItsPeersWhereTheyAre) {
    constexpr int ranks = 3;
    const Call call{.collective = Collective::all_reduce, .count = 301};
    const std::vector<float> ones(301, 1), tens(301, 10);
    run_as_threads(ranks, 20, [&](World& world) {
        Planner planner(world);
        std::vector<float> sums(301);
        const auto sum_of = [&](const std::vector<float>& input) {
            return CallBuffers{std::as_bytes(std::span(input)),
                               std::as_writable_bytes(std::span(sums))};
        };
        for (const char* name : {"one-shot", "two-shot", "ring"}) {
            const auto plan =
                planner.plan({&find_algorithm(call.collective, name), {.transport = "shm-mapped"}},
                             call, sum_of(ones), nullptr);
            plan->run();
            EXPECT_EQ(sums, std::vector<float>(301, 3)) << name;
            if (world.is_first()) plan->bind(call, sum_of(tens));
            plan->run();
            EXPECT_EQ(sums, std::vector<float>(301, 12)) << name;
            world.barrier();
        }
    });
}

// Peers look up where the buffers are, so each rank may choose other places in the memory.
TEST(BindRegistered, IsRightWhereverTheBuffersAreInTheMemory) {
    constexpr int ranks = 3;
    run_as_threads(ranks, 20, [&](World& world) {
        Planner planner(world);
        SharedMemory shared(world, 65536);
        std::vector<std::byte> elsewhere(4096);
        for (const Algorithm& algorithm : catalog()) {
            const Call call{algorithm.collective, DataType::int32, Op::sum, Rank{ranks - 1}, 301};
            if (algorithm.refuses({.collective = algorithm.collective, .ranks = ranks})) continue;
            const std::size_t input = input_bytes(call, ranks, world.rank()),
                              output = output_bytes(call, ranks, world.rank());
            std::unique_ptr<Plan> plan;
            for (std::size_t run = 0; run < 6; ++run) {
                const std::size_t at = (run * 5 + as_size(world.rank()) * 3) % 7 * 4096;
                const auto in = shared.mine().subspan(at, input),
                           out = shared.mine().subspan(at + 12288 + 64 * run, output);
                const CheckCase check = check_of(call, ranks, run);
                poison(out);
                fill_input(check, world.rank(), in);
                if (plan == nullptr)
                    plan = planner.plan({&algorithm, {.transport = "shm-direct"}}, call, {in, out},
                                        &shared);
                plan->bind(call, {in, out});
                plan->run();
                EXPECT_EQ(count_wrong(check, world.rank(), out), 0)
                    << name_of(algorithm.collective) << " " << algorithm.name << ", run " << run;
            }
            if (input > 0 && output > 0) {
                EXPECT_THROW(plan->bind(call, {std::span(elsewhere).first(input),
                                               shared.mine().first(output)}),
                             Error);
            }
            world.barrier();
        }
    });
}

}  // namespace
}  // namespace tutti
