// SPDX-License-Identifier: Apache-2.0
#pragma once
// A rank that calls a communicator with known data, in buffers that it takes as it likes.
#include <deque>
#include <random>

#include "tutti/communicator.hpp"
#include "workloads/check/check_data.hpp"

namespace tutti::test {

/// Calls must be the same on all ranks; which buffers are taken depends on the seed, which need not
/// be.
class Caller {
public:
    Caller(Communicator& communicator, int seed)
        : communicator_(communicator), dice_(static_cast<unsigned>(seed)) {}

    /// One call, with one buffer or two in round; in a part of `given`, if it is not empty.
    void call(const Call& call, std::span<std::byte> given = {}) {
        Job& job = prepared(call, given);
        communicator_.run(job.arguments);
        finish(job);
    }

    /// The result is checked when the caller waits for it: by number, from the oldest on.
    void start(const Call& call) {
        Job& job = prepared(call);
        job.pending = communicator_.start(job.arguments);
    }
    std::size_t under_way() const { return jobs_.size(); }
    void wait_for(std::size_t number) {
        jobs_[number].pending.wait();
        finish(jobs_[number]);
    }
    /// Asks all that are under way, and checks those that are done.
    void test_all() {
        for (std::size_t i = 0; i < jobs_.size();)
            if (jobs_[i].pending.test())
                finish(jobs_[i]);
            else
                ++i;
    }

    std::int64_t wrong() const { return wrong_; }

private:
    struct Job {
        CheckCase check;
        std::vector<std::byte>* memory = nullptr;
        CallArguments arguments;
        std::span<std::byte> output;
        Request pending = {};
    };

    Job& prepared(const Call& call, std::span<std::byte> given = {}) {
        const int ranks = communicator_.size();
        const Rank me = communicator_.rank();
        const bool in_place = (++calls_ % 2 == 0) && call.collective != Collective::scatter &&
                              call.collective != Collective::gather;
        const std::size_t input = input_bytes(call, ranks, me),
                          output = output_bytes(call, ranks, me);
        const std::size_t gap = 8 * (dice_() % 8);
        const InPlace at = in_place ? in_place_offsets(call, ranks, me)
                                    : InPlace{.input = 0, .output = input + gap};
        const std::size_t bytes = std::max(at.input + input, at.output + output);
        const std::size_t begin = 8 * (dice_() % 4);
        std::vector<std::byte>* const own = given.empty() ? &some_memory(begin + bytes) : nullptr;
        const auto all = (own != nullptr ? std::span(*own) : given).subspan(begin, bytes);
        Job job{.check = {call.collective, call.type, call.op, ranks, call.root.index, call.count,
                          calls_},
                .memory = own,
                .arguments = {call, {}},
                .output = all.subspan(at.output, output)};
        job.arguments.buffers = in_place
                                    ? CallBuffers{all, all, true}
                                    : CallBuffers{all.subspan(at.input, input), job.output, false};
        poison(job.output);
        fill_input(job.check, me, all.subspan(at.input, input));
        return jobs_.emplace_back(std::move(job));
    }

    // One that is at hand, or a new one.
    std::vector<std::byte>& some_memory(std::size_t bytes) {
        if (idle_.empty() || dice_() % 3 == 0) idle_.push_back(&memory_.emplace_back());
        const std::size_t taken = dice_() % idle_.size();
        std::vector<std::byte>& memory = *idle_[taken];
        idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(taken));
        if (memory.size() < bytes) memory.resize(bytes);
        return memory;
    }

    void finish(Job& job) {
        wrong_ += count_wrong(job.check, communicator_.rank(), job.output);
        if (job.memory != nullptr) idle_.push_back(job.memory);
        const auto number = std::ranges::find(jobs_, &job, [](Job& one) { return &one; });
        jobs_.erase(number);
    }

    Communicator& communicator_;
    std::mt19937 dice_;
    std::deque<std::vector<std::byte>> memory_;
    std::vector<std::vector<std::byte>*> idle_;
    std::deque<Job> jobs_;
    std::uint64_t calls_ = 0;
    std::int64_t wrong_ = 0;
};

}  // namespace tutti::test
