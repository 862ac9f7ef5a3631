// SPDX-License-Identifier: Apache-2.0
#include "autotune/communicator.hpp"

#include <exception>
#include <utility>

#include "autotune/communicator_state.hpp"
#include "base/clock.hpp"
#include "collectives/transport/mpi.hpp"
#include "results/identity.hpp"

namespace tutti {

Pending::Pending(Pending&& other) noexcept
    : slot_(std::exchange(other.slot_, nullptr)), run_(other.run_) {}

Pending& Pending::operator=(Pending&& other) noexcept {
    Pending ended(std::move(*this));
    slot_ = std::exchange(other.slot_, nullptr);
    run_ = other.run_;
    return *this;
}

Pending::~Pending() {
    try {
        wait();
    } catch (const Error&) {  // the communicator remembers, and refuses the next call
    }
}

bool Pending::test() {
    if (slot_ == nullptr) return true;
    bool is_done = slot_->run != run_ || slot_->is_done();
    if (!is_done) slot_->owner->guarded([&] { is_done = slot_->plan->test(); });
    if (is_done) slot_ = nullptr;
    return is_done;
}

bool Pending::is_over() const { return slot_ == nullptr || slot_->run != run_ || slot_->is_done(); }

std::size_t Pending::mark() const { return is_over() ? 0 : slot_->plan->mark(); }

std::string Pending::report_of_hang() const {
    return is_over() ? "a call that has ended" : slot_->plan->report_of_hang();
}

void Pending::wait() {
    if (slot_ == nullptr) return;
    Slot& slot = *std::exchange(slot_, nullptr);
    if (slot.run == run_ && !slot.is_done()) slot.owner->guarded([&] { slot.plan->wait(); });
}

Communicator::Communicator(World& world, CommunicatorOptions options)
    : Communicator(std::make_unique<State>(nullptr, world, std::move(options))) {}

Communicator::Communicator(std::unique_ptr<State> state) : state_(std::move(state)) {}

namespace {

std::unique_ptr<Communicator::State> on(std::unique_ptr<World> world, CommunicatorOptions options) {
    World& ranks = *world;
    return std::make_unique<Communicator::State>(std::move(world), ranks, std::move(options));
}

}  // namespace

Communicator Communicator::over_mpi(int fortran_handle, CommunicatorOptions options) {
    return Communicator(on(mpi_world(fortran_handle), std::move(options)));
}

Communicator Communicator::alone(CommunicatorOptions options) {
    return Communicator(on(world_of_one(), std::move(options)));
}

Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

Rank Communicator::rank() const { return state_->world.rank(); }
int Communicator::size() const { return state_->world.size(); }

void Communicator::run(const CallArguments& arguments) { state_->run(arguments); }

Pending Communicator::start(const CallArguments& arguments) { return state_->start(arguments); }

std::span<std::byte> Communicator::allocate_bytes(std::size_t bytes) {
    return state_->allocate(bytes);
}

void Communicator::release_bytes(std::span<std::byte> memory) { state_->release(memory); }

void Communicator::adopt(const ReachableMemory& memory) { state_->adopt(memory); }

void Communicator::disown(const ReachableMemory& memory) { state_->disown(memory); }

Configuration Communicator::choice_for(const CallArguments& arguments) {
    return state_->choice_for(arguments);
}

Table Communicator::learnt() {
    Table table{.written = utc_now()};
    if (state_->learner) table.sections = state_->learner->learnt(*state_->setting);
    return table;
}

}  // namespace tutti
