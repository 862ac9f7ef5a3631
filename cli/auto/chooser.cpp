// SPDX-License-Identifier: Apache-2.0
#include "cli/auto/chooser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>

#include "autotune/choice/subject.hpp"
#include "autotune/table/selector.hpp"
#include "autotune/table/table_for_ranks.hpp"
#include "autotune/table/table_json.hpp"
#include "collectives/planner/operation_maker.hpp"

namespace tutti {
namespace {

std::optional<std::string> refusal_of(Planner& planner, const Configuration& choice,
                                      const Call& call, const PooledBuffers& buffers) {
    const auto refused =
        refusal(planner, choice, {call, buffers.call, buffers.registered}, planner.world().hosts());
    if (!choice.is_ours()) return refused;
    if (planner.runs_of_call(choice.transport) > 1)
        return "auto does not repeat calls on devices; do not use -G";
    if (planner.refuses(choice.transport, BufferKind::device, buffers.registered) &&
        !planner.refuses(choice.transport, BufferKind::device))
        return fmt::format(
            "the buffers do not fit this transport; use --algo auto,ring --transport {}",
            choice.transport);
    return refused;
}

// Adds the mark of bench's tables for several ranks on one device.
std::string marked_name(Planner& planner, const Configuration& choice) {
    const bool is_virtual = choice.is_ours() && planner.is_virtual(choice.transport);
    return to_string(choice) + (is_virtual ? "(v)" : "");
}

// Chooses for buffers on devices by an adapted table: its choice, or else a runner-up. There are no
// built-in rules for devices, so without a table it refuses every call.
class ChoiceOnDevices final : public DeviceChooser {
public:
    ChoiceOnDevices(World& world, const std::optional<Table>& table) {
        if (table) selector_.emplace(*table, job_shape_of(world));
    }

    std::optional<std::string> refuses(Planner& planner, const Call& call,
                                       const PooledBuffers& buffers) const override {
        const auto choices = choices_for(planner, call);
        if (choices.empty())
            return fmt::format(
                "the tuning table has no entries for {0} on devices; run: tutti tune {0} --buffers "
                "device",
                name_of(call.collective));
        for (const Configuration& choice : choices)
            if (!refusal_of(planner, choice, call, buffers)) return std::nullopt;
        return fmt::format("the tuning table chooses {}: {}", to_string(choices.front()),
                           *refusal_of(planner, choices.front(), call, buffers));
    }

    ChosenOperation operation(Planner& planner, const Call& call,
                              const PooledBuffers& buffers) const override {
        for (const Configuration& choice : choices_for(planner, call)) {
            if (refusal_of(planner, choice, call, buffers)) continue;
            if (auto plan = make_operation_on_all(planner, choice,
                                                  {call, buffers.call, buffers.registered}))
                return {std::move(plan), [name = marked_name(planner, choice)] { return name; }};
        }
        throw Error("no entry of the tuning table fits these ranks; run: tutti tune");
    }

private:
    // Returns the choices, best first.
    std::vector<Configuration> choices_for(Planner& planner, const Call& call) const {
        const Bytes bytes{total_bytes(call, planner.world().size())};
        const Range* range = selector_ ? selector_->pick(call.collective, call.type, call.op,
                                                         BufferKind::device, bytes)
                                       : nullptr;
        if (range == nullptr) return {};
        std::vector<Configuration> choices{range->choice};
        for (const RangeEvidence& seen : range->evidence)
            if (seen.runner_up) choices.push_back(*seen.runner_up);
        return choices;
    }

    std::optional<Selector> selector_;
};

// Registers memory of a stage while there are calls in it: the stage may end before the
// communicator does.
class AdoptedMemory {
public:
    AdoptedMemory(std::shared_ptr<Communicator> communicator, const ReachableMemory& memory)
        : communicator_(std::move(communicator)), memory_(memory) {
        communicator_->adopt(memory_);
    }
    AdoptedMemory(const AdoptedMemory&) = delete;
    AdoptedMemory& operator=(const AdoptedMemory&) = delete;
    // Not during an exception, which other ranks may not have.
    ~AdoptedMemory() {
        try {
            if (std::uncaught_exceptions() == 0) communicator_->disown(memory_);
        } catch (const Error&) {  // the communicator refuses the next call
        }
    }

private:
    std::shared_ptr<Communicator> communicator_;
    const ReachableMemory& memory_;
};

class CommunicatorCall final : public Operation {
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

private:
    std::shared_ptr<Communicator> communicator_;
    std::shared_ptr<AdoptedMemory> adopted_;  // null in unregistered memory
    CallArguments arguments_;
    Request request_;
};

// Returns the buffers as programs pass them: in place, all of the memory.
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
        const CallArguments arguments{call, as_programs_give(buffers.call)};
        return ChosenOperation{std::make_unique<CommunicatorCall>(communicator, adopted, arguments),
                               [=] { return to_string(communicator->choice_for(arguments)); }};
    };
    return {.candidate = {.configuration = {.algorithm = name}, .chooser = chooser},
            .learnt = [communicator] { return communicator->learnt(); }};
}

}  // namespace

CommunicatorCandidate candidate_by_table(World& world, const std::optional<Table>& table,
                                         std::size_t most_plans) {
    CommunicatorCandidate made = candidate_of(
        world, "auto", {.table = table, .most_plans = most_plans, .deadline = world.hang_timeout});
    made.candidate.on_devices = std::make_shared<ChoiceOnDevices>(world, table);
    return made;
}

CommunicatorCandidate candidate_that_learns(World& world, const std::optional<Table>& table,
                                            double bound) {
    return candidate_of(
        world, "learn",
        {.table = table, .learn = Learning{.bound = bound}, .deadline = world.hang_timeout});
}

namespace {

// Returns false for an invalid file. Its error is reported when the table is used.
bool is_without_choices(const std::string& file) {
    try {
        return read_table(file).sections.empty();
    } catch (const Error&) {
        return false;
    }
}

}  // namespace

bool has_table(World& world, const std::string& file, bool is_named) {
    bool is_there = world.is_first() && std::filesystem::exists(file);
    if (is_there && !is_named && is_without_choices(file)) {
        is_there = false;
        fmt::print(stderr,
                   "tutti: ignoring '{0}': the tuning table has no entries (was 'tutti tune' "
                   "interrupted?); run: tutti tune --table {0}\n",
                   file);
    }
    return from_rank0(world, is_there);
}

namespace {

class ByTable final : public GroupMethod {
public:
    ByTable(Planner& group, CommunicatorCandidate communicator)
        : group_(group), communicator_(std::move(communicator)) {}

    // A start sometimes has to synchronise the ranks, to agree on another plan.
    bool blocks() const override { return true; }
    std::optional<std::string> refuses(const Call& call, const PooledBuffers& buffers) override {
        return refusal(group_, communicator_.candidate, call, buffers, {});
    }
    std::unique_ptr<Operation> operation(const Call& call, const PooledBuffers& buffers) override {
        return operation_of(group_, communicator_.candidate, call, buffers, {}).operation;
    }

private:
    Planner& group_;
    CommunicatorCandidate communicator_;
};

std::optional<Table> table_for_group(World& group, const std::string& file, bool anyway) {
    if (!from_rank0(group, std::filesystem::exists(file))) return std::nullopt;
    try {
        return table_for_ranks(group, file, {.anyway = anyway});
    } catch (const Error& error) {
        if (group.parent == nullptr || error.code() != Exit::usage) throw;
        return std::nullopt;
    }
}

}  // namespace

Method method_by_table(const std::string& file, bool anyway) {
    return {.name = "auto", .of_group = [file, anyway](Planner& group, const Environment&) {
                World& world = group.world();
                // Keeps a plan for each call of the program, as the other methods do: with a limit,
                // plans would be made again in the middle of a step.
                constexpr auto no_limit = std::numeric_limits<std::size_t>::max();
                return std::make_unique<ByTable>(
                    group,
                    candidate_by_table(world, table_for_group(world, file, anyway), no_limit));
            }};
}

}  // namespace tutti
