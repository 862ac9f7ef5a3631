// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/device/device_plan.hpp"

#include <algorithm>

#include "base/rounding.hpp"
#include "collectives/execute/device/device_draft.hpp"
#include "collectives/execute/device/device_mailboxes.hpp"
#include "collectives/execute/device/joint_launch.hpp"
#include "collectives/execute/direct/push_negotiation.hpp"
#include "collectives/transport/gpu/device_memory.hpp"

namespace tutti {
namespace {

// The device gives up before the host does, as it can tell for whom.
constexpr double part_of_patience = 0.9;

class DevicePlan final : public Plan {
public:
    DevicePlan(Progress& progress, const DeviceTransport& transport, const PlanRequest& request)
        : Plan(progress, request.what, request.schedule.steps()),
          transport_(transport),
          caller_(CallBuffers{request.input, request.output}),
          is_there_(request.registered != nullptr) {
        const DeviceRoom room = is_there_ ? room_of(request) : guest_room(request);
        const Bytes vector{total_bytes(request.call, world().size())};
        DeviceDraft draft = vector <= transport.ll_up_to() ? draft_letters(request, room)
                                                           : draft_direct(request, room);
        if (request.call.op == Op::avg && reduces(request.call.collective)) {
            draft.divided = room.output;
            draft.divided_bytes = request.output.size();
            draft.divisor = static_cast<std::uint32_t>(world().size());
        }
        launch_ = load(request, draft, blocks_for(vector));
    }

    bool rebinds() const override { return !is_there_; }

    void rebind(const CallBuffers& buffers) override {
        if (caller_.is(buffers)) return;
        if (!rebinds()) return Plan::rebind(buffers);
        const CallerMemory caller(buffers);
        caller_.check_fits(caller);
        caller_ = caller;
    }

    std::optional<std::int64_t> device_ns() const override { return launch_->device_ns(); }

private:
    Accelerator& device() const { return transport_.device(); }

    // The caller's buffers are in memory of the device.
    static DeviceRoom room_of(const PlanRequest& request) {
        return {.memory = request.registered,
                .input = const_cast<std::byte*>(request.input.data()),
                .output = request.output.data()};
    }

    // Or they get a place there, laid out as the caller's.
    DeviceRoom guest_room(const PlanRequest& request) {
        const std::size_t input = request.input.size(), output = request.output.size();
        std::size_t input_at = 0, output_at = round_up(input, line);
        if (caller_.is_together()) {
            const std::byte* begin = std::min<const std::byte*>(
                request.input.empty() ? request.output.data() : request.input.data(),
                request.output.empty() ? request.input.data() : request.output.data());
            input_at = request.input.empty() ? 0 : request.input.data() - begin;
            output_at = request.output.empty() ? 0 : request.output.data() - begin;
        }
        guest_ = std::make_unique<DeviceMemory>(world(), transport_.places().device,
                                                std::max(input_at + input, output_at + output));
        guest_input_ = guest_->mine().data() + input_at;
        guest_output_ = guest_->mine().data() + output_at;
        return {.memory = guest_.get(), .input = guest_input_, .output = guest_output_};
    }

    DeviceDraft draft_direct(const PlanRequest& request, const DeviceRoom& room) {
        const auto place_of = [&](const std::byte* buffer) {
            const auto offset = buffer == nullptr
                                    ? 0
                                    : static_cast<std::size_t>(buffer - room.memory->mine().data());
            return Place{Place::In::registered, offset};
        };
        const Rank me = world().rank();
        const Buffers buffers{place_of(request.input.empty() ? nullptr : room.input),
                              place_of(request.output.empty() ? nullptr : room.output)};
        const PushNegotiation talk = negotiate_pushes(world(), push_facts(request, me, buffers));
        const DirectProgram program = compile_direct(request, me, buffers, talk);
        allocate(program.plan_bytes);
        return draft_for_device(program, request, world(),
                                {.place =
                                     [&](Rank owner, Place place) {
                                         return place.in == Place::In::plan
                                                    ? plan_bytes_of(owner) + place.offset
                                                    : room.memory->of(owner).data() + place.offset;
                                     },
                                 .finished = [&](Rank rank) { return &state_of(rank)->finished; }});
    }

    DeviceDraft draft_letters(const PlanRequest& request, const DeviceRoom& room) {
        const LetterDraft letters(request, world());
        allocate(letters.bytes());
        return letters.with_addresses(
            room, [&](Rank rank) { return plan_bytes_of(rank); },
            [&](Rank rank) { return &state_of(rank)->finished; });
    }

    void allocate(std::size_t bytes) {
        memory_ = std::make_unique<DeviceMemory>(world(), transport_.places().device,
                                                 sizeof(DeviceState) + bytes);
    }
    std::byte* plan_bytes_of(Rank rank) const {
        return memory_->of(rank).data() + sizeof(DeviceState);
    }
    DeviceState* state_of(Rank rank) const {
        return reinterpret_cast<DeviceState*>(memory_->of(rank).data());
    }

    // As many as the call is worth; the same on all ranks.
    unsigned blocks_for(Bytes vector) const {
        if (vector <= transport_.ll_up_to()) return 1;
        const auto neighbours = static_cast<int>(transport_.places().neighbours.size());
        const std::uint64_t most = device().most_blocks(neighbours);
        const auto grains = static_cast<std::uint64_t>(vector.count) / device().grain();
        const auto on_all = gather_all(world(), std::clamp<std::uint64_t>(grains, 1, most));
        return static_cast<unsigned>(*std::ranges::min_element(on_all));
    }

    std::shared_ptr<JointLaunch> load(const PlanRequest& request, const DeviceDraft& draft,
                                      unsigned blocks) {
        const Rank me = world().rank();
        const DeviceImage image =
            image_of(draft, me, blocks, device().grain(), state_of(me), [&](std::size_t bytes) {
                programs_ = allocated(transport_.places().device, bytes);
                return programs_.get();
            });
        device().copy_in(programs_.get(), image.bytes);
        const DeviceState state = DeviceState::fresh(draft.steps_of_run, image.phases * blocks);
        device().copy_in(memory_->mine().data(), std::as_bytes(std::span(&state, 1)));
        Work work{.blocks = blocks,
                  .runs = request.runs,
                  .type = request.call.type,
                  .op = request.call.op};
        const auto* programs =
            reinterpret_cast<const DeviceProgram*>(programs_.get() + image.programs);
        // Collective, so nobody runs before all have set their counters.
        return joint_launch(world(), transport_.places(), programs, work);
    }

    void begin() override {
        ++run_;
        if (!is_there_) device().copy_in(guest_input_, caller_.given().input);
        launch_->start(world().rank(),
                       static_cast<std::uint64_t>(world().hang_timeout * part_of_patience * 1e9));
    }

    bool advance() override {
        if (const auto stop = device().stopped())
            throw Error(report_of(Rank{stop->rank}, {stop->step, Rank{stop->peer}}),
                        Exit::time_out);
        if (!launch_->has_begun(run_)) return false;
        at_ = 1;  // from here on the device watches the time
        if (!launch_->is_over(run_)) return false;
        if (!is_there_) device().copy_out(caller_.given().output, guest_output_);
        return true;
    }

    ProgressState stand() const override { return {0, launch_->missing_in(run_)}; }

    static constexpr std::size_t line = 256;

    const DeviceTransport& transport_;
    CallerMemory caller_;
    bool is_there_;                        // the caller's memory is registered on the device
    std::unique_ptr<DeviceMemory> guest_;  // in its place, if not
    std::byte *guest_input_ = nullptr, *guest_output_ = nullptr;
    std::unique_ptr<DeviceMemory> memory_;
    std::shared_ptr<std::byte> programs_;
    std::shared_ptr<JointLaunch> launch_;
    std::uint64_t run_ = 0;
};

}  // namespace

std::unique_ptr<Plan> device_plan(Progress& progress, const DeviceTransport& transport,
                                  const PlanRequest& request) {
    return std::make_unique<DevicePlan>(progress, transport, request);
}

}  // namespace tutti
