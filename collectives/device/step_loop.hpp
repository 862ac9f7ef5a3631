// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "collectives/device/device_program.hpp"

#ifdef __CUDACC__
#define TUTTI_ON_DEVICE __device__
#else
#define TUTTI_ON_DEVICE
#endif

namespace tutti {

/// Executes one block of a rank in a run; the same source for GPUs and for threads of the host.
/// `Machine` supplies the primitives: the thread's number in its block and the block's barrier
/// (`all`), acquire loads and release stores of counters, a clock, and the combining of bytes.
///
/// A block waits for the dependencies of its part: for peers, and for the rank's own blocks to have
/// finished the previous phase. The last block that arrives at the end of a phase signals the
/// peers. There is no barrier over a device.
template <class Machine>
class StepLoop {
public:
    TUTTI_ON_DEVICE StepLoop(Machine& machine, const DeviceProgram& program)
        : machine_(machine), program_(program), run_(program.state->run) {}

    /// Ends early if any block has waited too long.
    TUTTI_ON_DEVICE void run() {
        base_ = run_ * program_.steps_of_run;
        arrivals_ = run_ * program_.phases_count * program_.blocks;
        for (std::uint32_t number = 0; number < program_.phases_count; ++number) {
            const DevicePhase& before = program_.phases[number];
            const DevicePhase& phase = program_.phases[number + 1];
            step_ = phase.step;
            const bool own_have_come = number == 0 || own_blocks_have_come();
            const bool peers_have_come = wait_for_peers(before.waits_end, phase.waits_end);
            if (!machine_.all(own_have_come && peers_have_come)) return;

            move(before.moves_end, phase.packing_end);
            const bool has_messages =
                phase.sends_end > before.sends_end || phase.receives_end > before.receives_end;
            if (has_messages) machine_.all(true);  // packing is finished
            for (auto i = before.sends_end; i < phase.sends_end; ++i) send(program_.sends[i]);
            bool came = true;
            for (auto i = before.receives_end; i < phase.receives_end; ++i)
                came = came && receive(program_.receives[i]);
            if (has_messages && !machine_.all(came)) return;
            move(phase.packing_end, phase.moves_end);

            machine_.all(true);
            arrivals_ += program_.blocks;
            if (machine_.thread() == 0) arrive(phase.finished, number + 1 == program_.phases_count);
        }
    }

private:
    TUTTI_ON_DEVICE bool own_blocks_have_come() {
        return program_.blocks == 1 || machine_.thread() != 0 ||
               has_come(program_.state->arrived, arrivals_, program_.rank);
    }

    // Each thread polls different counters.
    TUTTI_ON_DEVICE bool wait_for_peers(std::uint32_t first, std::uint32_t end) {
        for (auto i = first + machine_.thread(); i < end; i += machine_.threads()) {
            const DeviceWait& wait = program_.waits[i];
            const std::uint64_t steps = base_ + static_cast<std::uint64_t>(wait.steps);
            if (!has_come(*wait.finished, steps, wait.peer)) return false;
        }
        return true;
    }

    TUTTI_ON_DEVICE bool has_come(const std::uint64_t& counter, std::uint64_t value, int peer) {
        return wait_for(peer, [&] { return machine_.acquire(counter) >= value; });
    }

    // Returns false at a timeout, or if another block has given up. The clock and the host's word
    // are slow to read compared with a counter, so they are read only occasionally.
    template <class Holds>
    TUTTI_ON_DEVICE bool wait_for(int peer, Holds holds) {
        constexpr int looks_between = 512;
        if (holds()) return true;
        const std::uint64_t began = machine_.now_ns();
        for (int looks = 1; !holds(); ++looks) {
            machine_.pause();
            if (looks % looks_between != 0) continue;
            if (machine_.has_stopped()) return false;
            if (machine_.now_ns() - began < machine_.timeout_ns()) continue;
            machine_.stop(to_word({program_.rank, step_, peer}));
            return false;
        }
        return true;
    }

    TUTTI_ON_DEVICE void move(std::uint32_t first, std::uint32_t end) {
        for (std::uint32_t i = first; i < end; ++i) {
            const DeviceMove& move = program_.moves[i];
            std::byte* const* outs = &program_.outs[move.first_out];
            if (move.divisor > 0)
                machine_.divide(outs[0], move.bytes, move.divisor);
            else
                machine_.combine(outs, move.outs, &program_.sources[move.first_source],
                                 move.sources, move.bytes);
        }
    }

    TUTTI_ON_DEVICE static std::uint32_t lines_of(const LlMessage& message) {
        return (message.size + 7) / 8;
    }
    TUTTI_ON_DEVICE static std::uint32_t bytes_in(const LlMessage& message, std::uint32_t line) {
        return message.size - line * 8 < 8 ? message.size - line * 8 : 8;
    }

    // The receiver has read these lines' earlier content two runs ago: the phase has waited for
    // that.
    TUTTI_ON_DEVICE void send(const LlMessage& message) {
        for (std::uint32_t i = machine_.thread(); i < lines_of(message); i += machine_.threads()) {
            std::uint64_t data = 0;
            for (std::uint32_t byte = 0; byte < bytes_in(message, i); ++byte)
                data |= static_cast<std::uint64_t>(message.bytes[i * 8 + byte]) << 8 * byte;
            machine_.store_line(message.lines[run_ % 2][i], {data, run_});
        }
    }

    TUTTI_ON_DEVICE bool receive(const LlMessage& message) {
        for (std::uint32_t i = machine_.thread(); i < lines_of(message); i += machine_.threads()) {
            DeviceLine line{};
            const auto is_there = [&] {
                line = machine_.load_line(message.lines[run_ % 2][i]);
                return line.run == run_;
            };
            if (!wait_for(message.peer, is_there)) return false;
            for (std::uint32_t byte = 0; byte < bytes_in(message, i); ++byte)
                message.bytes[i * 8 + byte] = static_cast<std::byte>(line.data >> 8 * byte & 0xff);
        }
        return true;
    }

    // Data written by all blocks is visible to a peer that sees the finished phase.
    TUTTI_ON_DEVICE void arrive(std::uint64_t finished, bool is_last) {
        DeviceState& state = *program_.state;
        if (program_.blocks > 1 && machine_.arrive(state.arrived) != arrivals_) return;
        if (is_last) state.run = run_ + 1;
        if (finished != DevicePhase::nothing) machine_.release(state.finished, base_ + finished);
    }

    Machine& machine_;
    const DeviceProgram& program_;
    const std::uint64_t run_;
    std::uint64_t base_ = 0;      // steps finished at the start of the run
    std::uint64_t arrivals_ = 0;  // blocks that arrived, over all runs
    int step_ = 0;
};

}  // namespace tutti
