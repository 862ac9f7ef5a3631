// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory that plans may only read, as a program may map it, and buffers of calls in it.
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <csignal>
#include <span>
#include <string>

#include "base/error.hpp"
#include "collectives/execute/plan/plan.hpp"
#include "workloads/check/check_data.hpp"

namespace tutti::test {

/// One region of pages. A write into a read-only one is counted and then allowed, so that the test
/// continues and can name the plan.
class ReadOnlyMemory {
public:
    static constexpr std::size_t bytes = std::size_t{2} << 20;  // a huge page if available

    /// `begin` is a multiple of `bytes`.
    explicit ReadOnlyMemory(std::byte* begin) : region_(free_region()) {
        region_.writes = 0;
        region_.begin = begin;
    }
    ReadOnlyMemory(const ReadOnlyMemory&) = delete;
    ReadOnlyMemory& operator=(const ReadOnlyMemory&) = delete;
    ~ReadOnlyMemory() {
        allow(region_.begin, PROT_READ | PROT_WRITE);
        region_.begin = nullptr;
    }

    std::byte* begin() const { return region_.begin; }
    void make_read_only() { allow(region_.begin, PROT_READ); }
    void make_writable() { allow(region_.begin, PROT_READ | PROT_WRITE); }

    /// Returns the number of runs in which something was written since the last call.
    int take_writes() { return region_.writes.exchange(0); }

private:
    struct Region {
        std::atomic<std::byte*> begin;
        std::atomic<int> writes;
    };
    static inline std::array<Region, 64> regions{};

    static void allow(std::byte* begin, int protection) {
        if (mprotect(begin, bytes, protection) != 0) throw Error("mprotect failed");
    }

    // Claims a region, and installs the signal handler for writes into read-only memory.
    static Region& free_region() {
        struct sigaction action = {};
        action.sa_sigaction = note_write;
        action.sa_flags = SA_SIGINFO;
        sigaction(SIGSEGV, &action, nullptr);
        for (Region& region : regions) {
            std::byte* none = nullptr;
            if (region.begin.compare_exchange_strong(none, reserved())) return region;
        }
        throw Error("too many regions of read-only memory");
    }
    static std::byte* reserved() { return reinterpret_cast<std::byte*>(&regions); }

    // The write is repeated when this returns: it then succeeds, or ends the test.
    static void note_write(int, siginfo_t* signal, void*) {
        const auto* const at = static_cast<std::byte*>(signal->si_addr);
        for (Region& region : regions) {
            std::byte* const begin = region.begin;
            if (begin == nullptr || at < begin || at >= begin + bytes) continue;
            mprotect(begin, bytes, PROT_READ | PROT_WRITE);
            region.writes.fetch_add(1);
            return;
        }
        std::signal(SIGSEGV, SIG_DFL);
    }

    Region& region_;
};

/// A rank's buffers for calls up to ReadOnlyMemory::bytes, in memory of the caller. Data that MPI
/// must not write lies in read-only memory: the input, and the message of a broadcast's root.
class ReadOnlyInput {
public:
    static constexpr std::size_t bytes = 3 * ReadOnlyMemory::bytes;

    explicit ReadOnlyInput(std::byte* memory)
        : input_(memory + (ReadOnlyMemory::bytes -
                           reinterpret_cast<std::uintptr_t>(memory) % ReadOnlyMemory::bytes) %
                              ReadOnlyMemory::bytes) {}

    /// A broadcast is in place, as in MPI.
    CallBuffers buffers_for(const Call& call, int ranks, Rank rank) const {
        const std::size_t input = input_bytes(call, ranks, rank),
                          output = output_bytes(call, ranks, rank);
        const bool in_place = call.collective == Collective::broadcast;
        std::byte* const of_output =
            in_place && input > 0 ? input_.begin() : input_.begin() + ReadOnlyMemory::bytes;
        return {{input_.begin(), input}, {of_output, output}, in_place};
    }

    /// Runs the plan, which was made for these buffers, with new data; returns the number of wrong
    /// elements. Collective.
    std::int64_t wrong_in_run(Plan& plan, const Call& call, World& world, std::uint64_t seed) {
        const CallBuffers buffers = buffers_for(call, world.size(), world.rank());
        const std::span<std::byte> input(input_.begin(), buffers.input.size());
        const CheckCase check = check_of(call, world.size(), seed);
        poison(buffers.output);
        fill_input(check, world.rank(), input);
        input_.make_read_only();
        world.barrier();  // peers may write as soon as they run
        plan.run();
        world.barrier();
        input_.make_writable();
        return count_wrong(check, world.rank(), buffers.output);
    }

    ReadOnlyMemory& memory() { return input_; }

private:
    ReadOnlyMemory input_;
};

}  // namespace tutti::test
