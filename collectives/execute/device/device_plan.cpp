// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "base/rounding.hpp"
#include "collectives/device/accelerator.hpp"
#include "collectives/execute/device/device_draft.hpp"
#include "collectives/execute/plans.hpp"
#include "collectives/transport/gpu/device_memory.hpp"

namespace tutti {
namespace {

// The device gives up before the host does, because it can name the peer that it waits for.
constexpr double part_of_timeout = 0.9;

// One launch of all ranks of this process on one device: blocks that wait for each other must all
// run at once. The last rank to start it launches.
class JointLaunch {
public:
    JointLaunch(Accelerator& device, std::vector<Rank> ranks, const Work& work)
        : ranks_(std::move(ranks)),
          launch_(device.prepare(work)),
          starts_(std::make_unique<std::atomic<std::uint64_t>[]>(ranks_.size())) {}

    void start(Rank rank, std::uint64_t deadline_ns) {
        const std::lock_guard lock(mutex_);
        for (std::size_t i = 0; i < ranks_.size(); ++i)
            if (ranks_[i] == rank) starts_[i].fetch_add(1);
        if (++waiting_ < ranks_.size() || has_left_) return;
        waiting_ = 0;
        launch_->start(deadline_ns);
        launched_.fetch_add(1);
    }

    // Call this before a rank releases memory that its blocks use: blocks of a call that was given
    // up may still run, and a call that has not begun must not begin any more.
    void leave() {
        {
            const std::lock_guard lock(mutex_);
            has_left_ = true;
        }
        launch_->settle();
    }

    bool has_begun(std::uint64_t run) const { return launched_.load() >= run; }
    bool has_ended(std::uint64_t run) { return has_begun(run) && launch_->is_over(); }
    // Returns a rank that has not started that run; nothing if all have.
    std::optional<Rank> missing_in(std::uint64_t run) const {
        for (std::size_t i = 0; i < ranks_.size(); ++i)
            if (starts_[i].load() < run) return ranks_[i];
        return std::nullopt;
    }
    std::optional<std::int64_t> device_ns() { return launch_->device_ns(); }

private:
    std::vector<Rank> ranks_;
    std::unique_ptr<DeviceLaunch> launch_;
    std::unique_ptr<std::atomic<std::uint64_t>[]> starts_;  // one per rank
    std::mutex mutex_;
    std::size_t waiting_ = 0;
    bool has_left_ = false;                    // some rank has left
    std::atomic<std::uint64_t> launched_ = 0;  // runs
};

// Returns the launch that this rank takes part in. `programs` are those of its blocks, in device
// memory; the rest of the work is the same on all ranks. Collective.
std::shared_ptr<JointLaunch> joint_launch(World& world, const DevicePlaces& places,
                                          const DeviceProgram* programs, Work work) {
    const auto all = gather_all(world, programs);
    for (const Rank rank : places.neighbours) work.of_rank.push_back(at(all, rank));
    const Rank first = places.neighbours.front();
    const auto own = make_on_all_ranks(world, "launch", [&]() -> std::shared_ptr<JointLaunch> {
        if (first != world.rank()) return nullptr;
        return std::make_shared<JointLaunch>(*places.device, places.neighbours, work);
    });
    return shared_by_first(world, first, own);
}

class DevicePlan final : public Plan {
public:
    DevicePlan(Progress& progress, const DevicePlaces& places, const PlanRequest& request)
        : Plan(progress, request),
          places_(places),
          lengths_(request.call.lengths != nullptr ? *request.call.lengths : BlockLengths()),
          compiled_for_(request.call),
          is_in_lines_(request.method == TransferMethod::device_lines),
          is_registered_(request.registered != nullptr) {
        if (request.call.lengths != nullptr) compiled_for_.lengths = &lengths_;
        place_buffers(CallerMemory(request.buffers), request.registered);
        DeviceDraft draft = is_in_lines_ ? ll_draft(request) : direct_draft(request);
        if (request.call.op == Op::avg && reduces(request.call.collective)) {
            draft.divided = output_;
            draft.divided_bytes = request.buffers.output.size();
            draft.divisor = static_cast<std::uint32_t>(world().size());
        }
        launch_ = load(request, draft, blocks_for(request.call));
    }

    ~DevicePlan() override { launch_->leave(); }

    std::optional<std::int64_t> device_ns() const override { return launch_->device_ns(); }

private:
    Accelerator& device() const { return *places_.device; }

    // Programs of devices hold addresses, and how many blocks run them depends on the length.
    void adapt() override {
        const auto is_elsewhere = [&](std::span<const std::byte> buffer, const std::byte* begin) {
            return is_registered_ && !buffer.empty() && buffer.data() != begin;
        };
        const bool is_other = is_elsewhere(caller().given().input, input_) ||
                              is_elsewhere(caller().given().output, output_);
        if (call() != compiled_for_ || is_other)
            throw Error(what() + " serves one call only; make a new plan for another one");
    }

    // Where the memories of a rank's buffers begin in `buffers_`.
    struct Begins {
        std::size_t input = 0, output = 0;
    };

    // Finds the caller's buffers in registered memory; without it, allocates buffers in device
    // memory with the layout of the caller's. Collective.
    void place_buffers(const CallerMemory& caller, const ReachableMemory* registered) {
        const auto input = caller.memory(Place::In::input),
                   output = caller.memory(Place::In::output);
        Begins mine{.output = round_up(input.size(), alignment)};
        buffers_ = registered;
        if (registered == nullptr) {
            own_buffers_ = std::make_unique<DeviceMemory>(world(), places_.device,
                                                          mine.output + output.size());
            buffers_ = own_buffers_.get();
        } else {
            mine = {input.empty() ? 0 : registered->offset_of(input).value(),
                    output.empty() ? 0 : registered->offset_of(output).value()};
        }
        if (input.empty()) mine.input = mine.output;  // in place, one buffer holds both
        begins_ = gather_all(world(), mine);
        const auto address_of = [&](const std::byte* given) -> std::byte* {
            const auto place = caller.place_of(given);
            return place ? address(world().rank(), *place) : nullptr;
        };
        input_ = address_of(caller.given().input.data());
        output_ = address_of(caller.given().output.data());
    }

    DeviceAddresses addresses() const {
        return {.place = [this](Rank owner, Place place) { return address(owner, place); },
                .finished = [this](Rank rank) { return &state_of(rank)->finished; }};
    }

    std::byte* address(Rank owner, Place place) const {
        switch (place.in) {
            case Place::In::input:
                return buffers_->of(owner).data() + at(begins_, owner).input + place.offset;
            case Place::In::output:
                return buffers_->of(owner).data() + at(begins_, owner).output + place.offset;
            default:
                return memory_->of(owner).data() + sizeof(DeviceState) + place.offset;
        }
    }

    DeviceDraft direct_draft(const PlanRequest& request) {
        const Rank me = world().rank();
        const RankProgram program = std::move(compile(request, me).front());
        allocate(ProgramMemory(program, MostBytes(request)).end());
        return draft_direct(program, request, me, addresses());
    }

    DeviceDraft ll_draft(const PlanRequest& request) {
        const LlDraft draft(request, world());
        allocate(draft.bytes());
        return draft.with_addresses(addresses());
    }

    void allocate(std::size_t bytes) {
        memory_ =
            std::make_unique<DeviceMemory>(world(), places_.device, sizeof(DeviceState) + bytes);
    }
    DeviceState* state_of(Rank rank) const {
        return reinterpret_cast<DeviceState*>(memory_->of(rank).data());
    }

    // Returns a number of blocks suitable for the size of the call; the same on all ranks.
    unsigned blocks_for(const Call& call) const {
        if (is_in_lines_) return 1;
        const auto neighbours = static_cast<int>(places_.neighbours.size());
        const std::uint64_t most = device().most_blocks(neighbours);
        const auto grains =
            static_cast<std::uint64_t>(total_bytes(call, world().size())) / device().grain();
        const auto on_all = gather_all(world(), std::clamp<std::uint64_t>(grains, 1, most));
        return static_cast<unsigned>(*std::ranges::min_element(on_all));
    }

    std::shared_ptr<JointLaunch> load(const PlanRequest& request, const DeviceDraft& draft,
                                      unsigned blocks) {
        const Rank me = world().rank();
        const DeviceImage image =
            image_of(draft, me, blocks, device().grain(), state_of(me), [&](std::size_t bytes) {
                programs_ = allocated(places_.device, bytes);
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
        // Collective, so no rank runs before all have set their counters.
        return joint_launch(world(), places_, programs, work);
    }

    void begin() override {
        ++run_;
        if (!is_registered_) device().copy_in(input_, caller().given().input);
        launch_->start(world().rank(), static_cast<std::uint64_t>(
                                           limit_in_ns(world().hang_timeout * part_of_timeout)));
    }

    bool advance() override {
        if (const auto stop = device().stopped())
            throw Error(hang_report_of(Rank{stop->rank}, {stop->step, Rank{stop->peer}}),
                        Exit::time_out);
        if (!launch_->has_begun(run_)) return false;
        at_ = 1;  // from here on the device measures the timeout
        if (!launch_->has_ended(run_)) return false;
        if (!is_registered_ && !has_result_before(call(), caller().given(), world().rank()))
            device().copy_out(caller().given().output, output_);
        return true;
    }

    ProgressState progress_state() const override { return {0, launch_->missing_in(run_)}; }

    static constexpr std::size_t alignment = 256;

    const DevicePlaces& places_;
    BlockLengths lengths_;  // lengths of its blocks, if they differ
    Call compiled_for_;
    bool is_in_lines_;                           // by the LL protocol
    bool is_registered_;                         // the caller's memory is registered on the device
    std::unique_ptr<DeviceMemory> own_buffers_;  // used instead, if not
    const ReachableMemory* buffers_ = nullptr;   // the buffers in use
    std::vector<Begins> begins_;                 // by rank
    std::byte *input_ = nullptr, *output_ = nullptr;
    std::unique_ptr<DeviceMemory> memory_;
    std::shared_ptr<std::byte> programs_;
    std::shared_ptr<JointLaunch> launch_;
    std::uint64_t run_ = 0;
};

}  // namespace

std::unique_ptr<Plan> device_plan(Progress& progress, const DevicePlaces& places,
                                  const PlanRequest& request) {
    return std::make_unique<DevicePlan>(progress, places, request);
}

}  // namespace tutti
