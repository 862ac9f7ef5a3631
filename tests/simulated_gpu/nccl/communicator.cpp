// SPDX-License-Identifier: Apache-2.0
#include "tests/simulated_gpu/nccl/communicator.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "base/hashes.hpp"
#include "tests/simulated_gpu/gpu.hpp"

namespace tutti::simulated {

const Mishap& mishap() {
    static const Mishap once = [] {
        const char* const text = std::getenv("SIMULATED_NCCL_FAIL");
        const std::string all = text == nullptr ? "" : text;
        const auto colon = all.find(':');
        if (colon == all.npos) return Mishap{all, {}};
        return Mishap{all.substr(0, colon), std::stoi(all.substr(colon + 1))};
    }();
    return once;
}

ncclResult_t complain(ncclResult_t result, const std::string& what) {
    std::fprintf(stderr, "simulated NCCL: %s\n", what.c_str());
    return result;
}

namespace {

std::uint64_t hash_of(const ncclUniqueId& id) {
    return fnv1a(std::as_bytes(std::span(id.internal)));
}

}  // namespace

Communicator::Communicator(const ncclUniqueId& id, int ranks, int rank, int channels)
    : mailbox_(id),
      plugins_(hash_of(id), ranks, rank, channels),
      ranks_(ranks),
      rank_(rank),
      gpu_(current_number()),
      chance_(static_cast<unsigned>(rank) + 1) {
    if (!mishap().is("missed", rank)) mailbox_.announce_gpu(rank, gpu_);
}

ncclResult_t Communicator::fail(ncclResult_t result, const std::string& why) {
    const std::lock_guard lock(mutex_);
    last_error_ = why;
    return state_ = result;
}

ncclResult_t Communicator::begin(Phase phase) {
    phase_ = phase;
    looks_left_ = static_cast<unsigned>(chance_()) % 4;
    state_ = ncclInProgress;
    return state();
}

ncclResult_t Communicator::state() {
    const std::lock_guard lock(mutex_);
    if (state_ != ncclInProgress) return state_;
    if (looks_left_ > 0) {
        --looks_left_;
        return ncclInProgress;
    }
    return move_on();
}

ncclResult_t Communicator::move_on() {
    if (phase_ == Phase::joining) return joined();
    if (phase_ == Phase::finalizing && ended_ < asked_) return ncclInProgress;
    if (phase_ == Phase::starting && mishap().what == "stuck" && mishap().number == asked_)
        return ncclInProgress;
    if (phase_ == Phase::starting && enqueue() != ncclSuccess) return state_;
    phase_ = phase_ == Phase::finalizing ? Phase::finalized : Phase::idle;
    return state_ = ncclSuccess;
}

ncclResult_t Communicator::joined() {
    if (mishap().is("init", rank_))
        return fail(ncclSystemError, "Call to connect failed : Connection refused");
    for (int one = 0; one < ranks_; ++one) {
        if (mailbox_.gpu_of(one) < 0) return ncclInProgress;
        for (int other = 0; other < one; ++other)
            if (mailbox_.gpu_of(one) == mailbox_.gpu_of(other))
                return fail(ncclInvalidUsage, "Duplicate GPU detected : rank " +
                                                  std::to_string(other) + " and rank " +
                                                  std::to_string(one) + " both on CUDA device " +
                                                  std::to_string(mailbox_.gpu_of(one)));
    }
    phase_ = Phase::idle;
    return state_ = ncclSuccess;
}

ncclResult_t Communicator::ready() {
    const std::lock_guard lock(mutex_);
    if (phase_ == Phase::finalizing || phase_ == Phase::finalized)
        return complain(ncclInvalidUsage, "a call on a communicator that is finalized");
    if (state_ == ncclInProgress)
        return complain(ncclInvalidArgument,
                        "a call on a communicator before the previous one has returned success");
    return state_;
}

ncclResult_t Communicator::start(Group group, cudaStream_t stream) {
    const std::lock_guard lock(mutex_);
    next_ = std::move(group);
    stream_ = stream;
    return begin(Phase::starting);
}

ncclResult_t Communicator::finalize() {
    const std::lock_guard lock(mutex_);
    return begin(Phase::finalizing);
}

void Communicator::abort() {
    const std::lock_guard lock(mutex_);
    aborted_ = true;
}

// A call without an algorithm makes the communicator unusable, as in NCCL.
ncclResult_t Communicator::enqueue() {
    for (const Work& work : next_.works()) {
        const Selection& selection = work.description.selection;
        if (!plugins_.can_launch(work.description) ||
            (selection.is_forced && mishap().is("choice", rank_) && mishap().number))
            return fail(selection.is_forced ? ncclInvalidArgument : ncclInternalError,
                        "no algorithm in the selected set is available");
    }
    const long number = asked_++;
    for (Work& work : next_.works()) work.handle = plugins_.launch(work.description);
    stream_of(stream_).add(
        [self = shared_from_this(), number, group = std::make_shared<Group>(std::move(next_))] {
            while (!self->go_on(number, *group))
                std::this_thread::sleep_for(std::chrono::microseconds(20));
        });
    return ncclSuccess;
}

// Returns true when the stream has nothing more to wait for.
bool Communicator::go_on(long number, Group& group) {
    const std::lock_guard lock(mutex_);
    if (aborted_) return true;
    if (number > ended_ || mishap().is("absent", rank_)) return false;
    if (state_ != ncclSuccess && state_ != ncclInProgress) return false;
    if (mishap().what == "async" && mishap().number == number) {
        fail(ncclRemoteError, "socketProgress: Connection closed by remote peer");
        return false;
    }
    try {
        if (!group.go_on(mailbox_, rank_)) return false;
    } catch (const std::runtime_error& error) {
        fail(complain(ncclInternalError, error.what()), error.what());
        return false;
    }
    ++ended_;
    for (const Work& work : group.works()) plugins_.end(work.handle);
    return true;
}

}  // namespace tutti::simulated
