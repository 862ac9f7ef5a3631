// SPDX-License-Identifier: Apache-2.0
#include "cli/auto/choice_on_devices.hpp"

#include <fmt/format.h>

#include "autotune/choice/subject.hpp"
#include "autotune/table/selector.hpp"
#include "collectives/planner/operation_maker.hpp"

namespace tutti {
namespace {

class PlanOfChoice final : public ChosenOperation {
public:
    PlanOfChoice(std::unique_ptr<Operation> plan, std::string choice)
        : plan_(std::move(plan)), choice_(std::move(choice)) {}

    void run() override { plan_->run(); }
    void start() override { plan_->start(); }
    bool test() override { return plan_->test(); }
    void wait() override { plan_->wait(); }
    bool is_done() override { return plan_->is_done(); }
    std::size_t progress_count() const override { return plan_->progress_count(); }
    std::string hang_report() const override { return plan_->hang_report(); }
    std::optional<std::int64_t> device_ns() const override { return plan_->device_ns(); }
    std::optional<std::string> left_over() const override { return plan_->left_over(); }
    std::string choice() override { return choice_; }

private:
    std::unique_ptr<Operation> plan_;
    std::string choice_;
};

std::optional<std::string> refusal_of(Planner& planner, const Configuration& choice,
                                      const Call& call, const PooledBuffers& buffers) {
    const auto refused =
        refusal(planner, choice, {call, buffers.call, buffers.registered}, planner.world().hosts());
    if (!choice.is_ours()) return refused;
    if (planner.runs_of_call(choice.transport) > 1)
        return "auto does not repeat calls on devices; leave out -G";
    if (planner.refuses(choice.transport, MemoryOf::device, buffers.registered) &&
        !planner.refuses(choice.transport, MemoryOf::device))
        return fmt::format("the buffers are not made for it; type --algo auto,ring --transport {}",
                           choice.transport);
    return refused;
}

// As tables of bench mark them: several ranks of one device.
std::string in_words(Planner& planner, const Configuration& choice) {
    const bool is_virtual = choice.is_ours() && planner.is_virtual(choice.transport);
    return to_string(choice) + (is_virtual ? "(v)" : "");
}

class ChoiceOnDevices final : public DeviceChooser {
public:
    explicit ChoiceOnDevices(std::optional<Selector> selector) : selector_(std::move(selector)) {}

    std::optional<std::string> refuses(Planner& planner, const Call& call,
                                       const PooledBuffers& buffers) const override {
        const auto choices = choices_for(planner, call);
        if (choices.empty())
            return fmt::format(
                "auto's table has nothing for {0} on devices; type first: tutti tune {0} --buffers "
                "device",
                name_of(call.collective));
        for (const Configuration& choice : choices)
            if (!refusal_of(planner, choice, call, buffers)) return std::nullopt;
        return fmt::format("the table says {}: {}", to_string(choices.front()),
                           *refusal_of(planner, choices.front(), call, buffers));
    }

    std::unique_ptr<ChosenOperation> operation(Planner& planner, const Call& call,
                                               const PooledBuffers& buffers) const override {
        for (const Configuration& choice : choices_for(planner, call)) {
            if (refusal_of(planner, choice, call, buffers)) continue;
            if (auto plan = make_operation_on_all(planner, choice,
                                                  {call, buffers.call, buffers.registered}))
                return std::make_unique<PlanOfChoice>(std::move(plan), in_words(planner, choice));
        }
        throw Error("auto's table says nothing that these ranks can do; type: tutti tune");
    }

private:
    // The best first.
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

}  // namespace

std::shared_ptr<const DeviceChooser> choice_on_devices(World& world,
                                                       const std::optional<Table>& table) {
    std::optional<Selector> selector;
    if (table) selector.emplace(*table, job_shape_of(world));
    return std::make_shared<ChoiceOnDevices>(std::move(selector));
}

}  // namespace tutti
