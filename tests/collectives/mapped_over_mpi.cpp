// SPDX-License-Identifier: Apache-2.0
// Plans in the heaps of ranks that are processes. Each rank switches buffers at any time: in its
// heap, which grows and reuses memory, or elsewhere. Inputs may be read-only, which is tested over
// all transports between processes. Started by mapped_over_mpi_test.py.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "collectives/planner/planner.hpp"
#include "collectives/transport/messages/mpi.hpp"
#include "collectives/transport/table/transports.hpp"
#include "collectives/world/heap.hpp"
#include "read_only_memory.hpp"
#include "workloads/check/check_data.hpp"

namespace {

using namespace tutti;

enum class Kind { in_heap, elsewhere };

std::shared_ptr<std::byte> memory_of(Kind kind, std::size_t bytes) {
    if (kind == Kind::elsewhere) return {new std::byte[bytes], std::default_delete<std::byte[]>()};
    return Heap::find().value().allocate(bytes);
}

// A rank's buffers for a call, with a gap before each. Out of place, each may be of another kind.
struct Buffers {
    std::shared_ptr<std::byte> of_input, of_output;
    std::span<std::byte> input;
    CallBuffers call;
};

Buffers buffers_of(const Call& call, const World& world, bool in_place, Kind of_input,
                   Kind of_output, std::size_t gap) {
    const int ranks = world.size();
    const std::size_t input = input_bytes(call, ranks, world.rank()),
                      output = output_bytes(call, ranks, world.rank());
    Buffers made;
    if (in_place) {
        const InPlace at = in_place_offsets(call, ranks, world.rank());
        const std::size_t bytes = std::max(at.input + input, at.output + output);
        made.of_output = memory_of(of_output, gap + bytes);
        const std::span<std::byte> all(made.of_output.get() + gap, bytes);
        made.input = all.subspan(at.input, input);
        made.call = {made.input, all.subspan(at.output, output), in_place};
    } else {
        made.of_input = memory_of(of_input, gap + input);
        made.of_output = memory_of(of_output, gap + output);
        made.input = {made.of_input.get() + gap, input};
        made.call = {made.input, {made.of_output.get() + gap, output}, in_place};
    }
    return made;
}

// Chooses a rank's next action at random.
class Dice {
public:
    explicit Dice(const World& world) : random_(static_cast<unsigned>(world.rank().index)) {}

    bool once_in(unsigned times) { return random_() % times == 0; }
    Kind kind() { return once_in(3) ? Kind::elsewhere : Kind::in_heap; }
    Buffers buffers(const Call& call, const World& world, bool in_place) {
        constexpr std::size_t beyond_the_first_growth = std::size_t{65} << 20;
        const std::size_t gap = once_in(8) ? beyond_the_first_growth : once_in(2) ? 24 : 0;
        return buffers_of(call, world, in_place, kind(), kind(), gap);
    }

private:
    std::mt19937 random_;
};

std::int64_t wrong_in_run(Plan& plan, const Call& call, const CheckCase& check, Rank me,
                          const Buffers& buffers) {
    poison(buffers.call.output);
    fill_input(check, me, buffers.input);
    const std::vector<std::byte> given(buffers.input.begin(), buffers.input.end());
    plan.bind(call, buffers.call);
    plan.run();
    std::int64_t wrong = count_wrong(check, me, buffers.call.output);
    if (!buffers.call.in_place) wrong += std::ranges::equal(given, buffers.input) ? 0 : 1;
    return wrong;
}

// Returns the wrong elements over some runs; in two of three of them this rank has other buffers.
// The previous ones are freed, so memory is reused; some lie where the heap must grow first.
std::int64_t wrong_in_changing_buffers(Planner& planner, std::string_view transport,
                                       const Algorithm& algorithm, bool in_place, Dice& dice) {
    World& world = planner.world();
    const bool divides = reduces(algorithm.collective) && in_place;
    const Call call{algorithm.collective, DataType::int32, divides ? Op::avg : Op::sum,
                    Rank{world.size() - 1}, 2003};
    Buffers buffers = dice.buffers(call, world, in_place);
    const auto plan =
        planner.plan({&algorithm, {.transport = std::string(transport), .segment = {1024}}}, call,
                     buffers.call, nullptr);
    std::int64_t wrong = 0;
    for (std::uint64_t run = 0; run < 7; ++run) {
        const CheckCase check = check_of(call, world.size(), run);
        wrong += wrong_in_run(*plan, call, check, world.rank(), buffers);
        if (dice.once_in(3)) continue;
        buffers = dice.buffers(call, world, in_place);
    }
    world.barrier();
    return wrong;
}

std::int64_t wrong_in_changing_buffers(World& world) {
    Planner planner(world);
    Dice dice(world);
    std::int64_t wrong = 0;
    for (const Algorithm& algorithm : catalog()) {
        if (algorithm.refuses({.collective = algorithm.collective, .ranks = world.size()}))
            continue;
        for (const char* transport : {"shm-mapped", "shm"})
            for (const bool in_place : {false, true}) {
                const std::int64_t here =
                    wrong_in_changing_buffers(planner, transport, algorithm, in_place, dice);
                if (here != 0)
                    std::fprintf(stderr, "%s %s over %s%s\n",
                                 std::string(name_of(algorithm.collective)).c_str(),
                                 std::string(algorithm.name).c_str(), transport,
                                 in_place ? " in place" : "");
                wrong += here;
            }
    }
    return wrong;
}

// Counts the heaps that this process has mapped, including its own.
int heaps_mapped() {
    std::set<std::string> files;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
        if (line.find("/memfd:tutti_heap") != line.npos) {
            std::string field;
            std::istringstream fields(line);
            for (int number = 0; number < 5; ++number) fields >> field;  // the last is the inode
            files.insert(field);
        }
    return static_cast<int>(files.size());
}

// Ranks map each other's heaps if shm works there: from the first plan on for which most of them
// have their buffers there. Returns for how many ranks that was not the case.
std::int64_t wrong_choices(World& world) {
    Planner planner(world);
    const auto own = memory_of(Kind::in_heap, 1);
    std::int64_t wrong = 0;
    const Call call{.collective = Collective::all_reduce, .count = 3000};
    for (int in_heap = 0; in_heap <= world.size(); ++in_heap) {
        const Kind kind = world.rank().index < in_heap ? Kind::in_heap : Kind::elsewhere;
        const Buffers buffers = buffers_of(call, world, false, kind, kind, 0);
        const auto plan =
            planner.plan({&find_algorithm(call.collective, "two-shot"), {.transport = "shm"}}, call,
                         buffers.call, nullptr);
        wrong += wrong_in_run(*plan, call, check_of(call, world.size(), 1), world.rank(), buffers);
        wrong += heaps_mapped() != (2 * in_heap > world.size() ? world.size() : 1);
        world.barrier();
    }
    return wrong;
}

// Returns how many runs write into read-only memory of this rank, or end with a wrong result.
std::int64_t runs_that_change_read_only_input(World& world) {
    Planner planner(world);
    std::vector<std::byte> memory(test::ReadOnlyInput::bytes);
    test::ReadOnlyInput input(memory.data());
    std::int64_t found = 0;
    for (const TransportRow& row : transports()) {
        if (planner.refuses(row.name)) continue;
        for (const Algorithm& algorithm : catalog())
            for (const std::int64_t count : {1, 1009, 16'385}) {
                const Collective collective = algorithm.collective;
                if (algorithm.refuses({.collective = collective, .ranks = world.size()})) continue;
                const Call call{collective, DataType::float32,
                                reduces(collective) ? Op::avg : Op::sum, Rank{0}, count};
                const auto plan =
                    planner.plan({&algorithm, {.transport = std::string(row.name)}}, call,
                                 input.buffers_for(call, world.size(), world.rank()));
                const bool is_wrong = input.wrong_in_run(*plan, call, world, 1) != 0;
                const bool is_written = input.memory().take_writes() != 0;
                if (!is_wrong && !is_written) continue;
                ++found;
                std::fprintf(stderr, "rank %d: %s by %s %s over %s, %lld elements\n",
                             world.rank().index, is_written ? "input is written" : "wrong result",
                             std::string(name_of(collective)).c_str(),
                             std::string(algorithm.name).c_str(), std::string(row.name).c_str(),
                             static_cast<long long>(count));
            }
    }
    world.barrier();
    return found;
}

std::int64_t on_all_ranks(World& world, std::int64_t of_this) {
    std::int64_t sum = 0;
    for (const std::int64_t of_rank : gather_all(world, of_this)) sum += of_rank;
    return sum;
}

}  // namespace

int main() {
    try {
        MpiSession session;
        World& world = session.world();
        if (!Heap::load()) throw Error("libtutti_heap.so is missing");
        const std::int64_t choices = on_all_ranks(world, wrong_choices(world));
        const std::int64_t elements = on_all_ranks(world, wrong_in_changing_buffers(world));
        const std::int64_t runs = on_all_ranks(world, runs_that_change_read_only_input(world));
        if (world.is_first())
            std::printf(
                "%d processes, %lld choices, %lld elements and %lld runs of read-only input are "
                "wrong\n",
                world.size(), static_cast<long long>(choices), static_cast<long long>(elements),
                static_cast<long long>(runs));
        return choices + elements + runs == 0 && !world.one_process() ? 0 : 1;
    } catch (const Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 2;
    }
}
