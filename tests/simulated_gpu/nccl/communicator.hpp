// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/simulated_gpu/nccl/group.hpp"

namespace tutti::simulated {

/// A fault requested by a test (SIMULATED_NCCL_FAIL):
///   id        there is no unique id
///   init      no communicator can be made; init:R only rank R finds that out
///   async:N   each communicator breaks under its call N, which never ends
///   missed:R  rank R never joins
///   stuck:N   call N never reaches the stream
///   absent:R  rank R starts its calls, but does nothing
///   choice:R  no algorithm that a call forces is available on rank R
struct Mishap {
    std::string what;
    std::optional<int> number;
    bool is(const char* name, int now) const { return what == name && number.value_or(now) == now; }
};
const Mishap& mishap();

/// A non-blocking communicator of one rank.
class Communicator : public std::enable_shared_from_this<Communicator> {
public:
    Communicator(const ncclUniqueId& id, int ranks, int rank, int channels);

    int ranks() const { return ranks_; }
    int rank() const { return rank_; }
    int gpu() const { return gpu_; }
    const char* last_error() const { return last_error_.c_str(); }

    /// Returns its state, and advances it.
    ncclResult_t state();
    /// Returns anything but success if no operation is possible now.
    ncclResult_t ready();
    /// Starts a group, which reaches the stream by the time that the state is ncclSuccess, not
    /// earlier.
    ncclResult_t start(Group group, cudaStream_t stream);
    ncclResult_t finalize();
    bool is_finalized() const { return phase_ == Phase::finalized; }
    /// From here on it touches no memory.
    void abort();

    ncclResult_t fail(ncclResult_t result, const std::string& why);

private:
    enum class Phase { joining, idle, starting, finalizing, finalized };
    ncclResult_t begin(Phase phase);
    ncclResult_t joined();
    ncclResult_t move_on();
    ncclResult_t enqueue();
    bool go_on(long number, Group& group);

    Mailbox mailbox_;
    Plugins plugins_;
    int ranks_, rank_, gpu_;
    std::recursive_mutex mutex_;
    Phase phase_ = Phase::joining;
    ncclResult_t state_ = ncclInProgress;
    std::string last_error_;
    unsigned looks_left_ = 2;  // until the current operation is done
    std::minstd_rand chance_;
    Group next_;
    cudaStream_t stream_ = nullptr;
    long asked_ = 0, ended_ = 0;  // groups, which run one after the other on any streams
    bool aborted_ = false;
};

/// Reports a misuse by the program.
ncclResult_t complain(ncclResult_t result, const std::string& what);

}  // namespace tutti::simulated
