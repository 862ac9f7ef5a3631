// SPDX-License-Identifier: Apache-2.0
#include "tutti/communicator.hpp"

#include <fmt/format.h>

#include <utility>

#include "collectives/transport/messages/mpi.hpp"
#include "collectives/world/rendezvous/process_world.hpp"
#include "collectives/world/rendezvous/rendezvous.hpp"
#include "library/communicator_state.hpp"
#include "results/records/identity.hpp"

namespace tutti {

Request::Request(Request&& other) noexcept
    : slot_(std::exchange(other.slot_, nullptr)), run_(other.run_) {}

Request& Request::operator=(Request&& other) noexcept {
    Request ended(std::move(*this));
    slot_ = std::exchange(other.slot_, nullptr);
    run_ = other.run_;
    return *this;
}

Request::~Request() {
    try {
        wait();
    } catch (const std::exception&) {  // the communicator refuses the next call
    }
}

bool Request::test() {
    if (slot_ == nullptr) return true;
    bool done = slot_->run != run_ || slot_->is_done();
    if (!done) slot_->owner->guarded([&] { done = slot_->owner->test(*slot_); });
    if (done) slot_ = nullptr;
    return done;
}

bool Request::is_done() const { return slot_ == nullptr || slot_->run != run_ || slot_->is_done(); }

std::size_t Request::progress_count() const {
    return is_done() ? 0 : slot_->plan->progress_count();
}

std::string Request::hang_report() const {
    return is_done() ? "the call is complete" : slot_->plan->hang_report();
}

void Request::wait() {
    if (slot_ == nullptr) return;
    Slot& slot = *std::exchange(slot_, nullptr);
    if (slot.run == run_ && !slot.is_done()) slot.owner->guarded([&] { slot.plan->wait(); });
}

Communicator::Communicator(World& world, CommunicatorOptions options)
    : Communicator(std::make_unique<State>(nullptr, world, std::move(options))) {}

Communicator::Communicator(std::unique_ptr<State> state) : state_(std::move(state)) {}

namespace {

void expect_deadline(double seconds) {
    if (!(seconds > 0))
        throw Error(fmt::format("deadline {} s is invalid; use more than 0", seconds));
}

std::unique_ptr<Communicator::State> on(std::unique_ptr<World> world, CommunicatorOptions options) {
    World& ranks = *world;
    return std::make_unique<Communicator::State>(std::move(world), ranks, std::move(options));
}

}  // namespace

Communicator Communicator::over_mpi(int fortran_handle, CommunicatorOptions options) {
    expect_deadline(options.deadline);
    return Communicator(on(mpi_world(fortran_handle), std::move(options)));
}

Communicator Communicator::over_rendezvous(const Rendezvous& where, CommunicatorOptions options) {
    expect_deadline(where.deadline);
    expect_deadline(options.deadline);
    auto state = on(rendezvous_world(where), std::move(options));
    state->messages.emplace(static_cast<ProcessWorld&>(state->world));
    return Communicator(std::move(state));
}

Communicator Communicator::self(CommunicatorOptions options) {
    expect_deadline(options.deadline);
    return Communicator(on(world_of_one(), std::move(options)));
}

Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

Rank Communicator::rank() const { return state_->world.rank(); }
int Communicator::size() const { return state_->world.size(); }

void Communicator::barrier() { state_->run(arguments::barrier()); }

void Communicator::send_bytes(std::span<const std::byte> data, Rank to, int tag) {
    state_->peer_messages().send(data, to, tag);
}

void Communicator::receive_bytes(std::span<std::byte> data, Rank from, int tag) {
    state_->peer_messages().receive(data, from, tag);
}

void Communicator::run(const CallArguments& arguments) { state_->run(arguments); }

Request Communicator::start(const CallArguments& arguments) { return state_->start(arguments); }

void Communicator::run(const CallArguments& arguments, const BlockCounts& counts) {
    state_->run(state_->with_lengths(arguments, counts));
}

Request Communicator::start(const CallArguments& arguments, const BlockCounts& counts) {
    return state_->start(state_->with_lengths(arguments, counts));
}

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
    if (state_->learner) table.sections = state_->learner->learnt(*state_->job_shape);
    return table;
}

}  // namespace tutti
