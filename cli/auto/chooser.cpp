// SPDX-License-Identifier: Apache-2.0
#include "cli/auto/chooser.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <memory>

#include "cli/auto/choice_on_devices.hpp"

namespace tutti {
namespace {

// A method's memory, adopted for as long as there are calls in it: the memory may be freed before
// the communicator.
class AdoptedMemory {
public:
    AdoptedMemory(std::shared_ptr<Communicator> communicator, const ReachableMemory& memory)
        : communicator_(std::move(communicator)), memory_(memory) {
        communicator_->adopt(memory_);
    }
    AdoptedMemory(const AdoptedMemory&) = delete;
    AdoptedMemory& operator=(const AdoptedMemory&) = delete;
    // Not while an error goes up, which other ranks may not share.
    ~AdoptedMemory() {
        try {
            if (std::uncaught_exceptions() == 0) communicator_->disown(memory_);
        } catch (const Error&) {  // the communicator remembers, and refuses the next call
        }
    }

private:
    std::shared_ptr<Communicator> communicator_;
    const ReachableMemory& memory_;
};

class CommunicatorCall final : public ChosenOperation {
public:
    CommunicatorCall(std::shared_ptr<Communicator> communicator,
                     std::shared_ptr<AdoptedMemory> adopted, const CallArguments& arguments)
        : communicator_(std::move(communicator)),
          adopted_(std::move(adopted)),
          arguments_(arguments) {}

    void run() override { communicator_->run(arguments_); }
    void start() override { request_ = communicator_->start(arguments_); }
    bool test() override { return request_.test(); }
    void wait() override { request_.wait(); }
    bool is_done() override { return request_.is_done(); }
    std::size_t progress_count() const override { return request_.progress_count(); }
    std::string hang_report() const override { return request_.hang_report(); }
    std::string choice() override { return to_string(communicator_->choice_for(arguments_)); }

private:
    std::shared_ptr<Communicator> communicator_;
    std::shared_ptr<AdoptedMemory> adopted_;  // none in unregistered memory
    CallArguments arguments_;
    Request request_;
};

// In place, a communicator is given all of the memory, as programs give it.
CallBuffers as_programs_give(const CallBuffers& buffers) {
    if (!buffers.in_place) return buffers;
    auto* const input = const_cast<std::byte*>(buffers.input.data());
    std::byte* const output = buffers.output.data();
    std::byte* begin = buffers.input.empty() ? output : input;
    std::byte* end = begin;
    if (!buffers.input.empty()) end = input + buffers.input.size();
    if (!buffers.output.empty()) {
        begin = std::min(begin, output);
        end = std::max(end, output + buffers.output.size());
    }
    const auto bytes = static_cast<std::size_t>(end - begin);
    return {{begin, bytes}, {begin, bytes}, true};
}

CommunicatorCandidate candidate_of(World& world, const char* name, CommunicatorOptions options) {
    const auto communicator = std::make_shared<Communicator>(world, std::move(options));
    const auto adoptions =
        std::make_shared<std::map<const ReachableMemory*, std::weak_ptr<AdoptedMemory>>>();
    const Chooser chooser = [communicator, adoptions](const Call& call,
                                                      const PooledBuffers& buffers) {
        std::shared_ptr<AdoptedMemory> adopted;
        if (buffers.registered != nullptr) {
            auto& known = (*adoptions)[buffers.registered];
            adopted = known.lock();
            if (!adopted)
                adopted = std::make_shared<AdoptedMemory>(communicator, *buffers.registered);
            known = adopted;
        }
        return std::make_unique<CommunicatorCall>(
            communicator, adopted, CallArguments{call, as_programs_give(buffers.call)});
    };
    return {.candidate = {.configuration = {.algorithm = name}, .chooser = chooser},
            .learnt = [communicator] { return communicator->learnt(); }};
}

}  // namespace

CommunicatorCandidate candidate_by_table(World& world, const std::optional<Table>& table,
                                         std::size_t most_plans) {
    CommunicatorCandidate made = candidate_of(
        world, "auto", {.table = table, .most_plans = most_plans, .deadline = world.hang_timeout});
    made.candidate.on_devices = choice_on_devices(world, table);
    return made;
}

CommunicatorCandidate candidate_that_learns(World& world, const std::optional<Table>& table,
                                            double bound) {
    return candidate_of(
        world, "learn",
        {.table = table, .learn = Learning{.bound = bound}, .deadline = world.hang_timeout});
}

}  // namespace tutti
