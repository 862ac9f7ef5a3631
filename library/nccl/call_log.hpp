// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/open_file.hpp"
#include "collectives/baselines/tutti_nccl.h"

namespace tutti {

/// A rank's communicator, as NCCL describes it to a profiler.
struct ProfiledCommunicator {
    std::uint64_t communicator = 0;
    std::string name;
    int hosts = 1, ranks = 1, rank = 0;
};

/// The description of a collective by NCCL, in its words. Null: unknown.
struct ProfiledCall {
    std::uint64_t sequence = 0, count = 0;
    const char* collective = nullptr;
    const char* type = nullptr;
    const char* algorithm = nullptr;
    const char* protocol = nullptr;
    int channels = 0;
};

/// The last collectives of this process, which may be called from several threads, and a file of
/// JSON Lines. A call gets a line when it begins and another when it has ended on the GPU, each by
/// one write, so that the file can be read after a crash, and several processes may append to it
/// (docs/how-to/nccl_plugin.md).
class CallLog {
public:
    static constexpr std::size_t kept = 1024;

    /// Appends lines to `file` from now on. Returns false, with errno, if it cannot be opened.
    bool append_to(const std::string& file);

    void add(const ProfiledCommunicator& communicator);
    /// Returns the call's id.
    std::uint64_t begin(const ProfiledCommunicator& communicator, const ProfiledCall& call);
    /// Ignore calls that are no longer kept.
    void channel_started(std::uint64_t id, int channel, std::uint64_t gpu_time);
    void channel_ended(std::uint64_t id, int channel, std::uint64_t gpu_time);

    /// Implements tutti_nccl_last_call().
    std::uint64_t last() const;
    /// Implements tutti_nccl_calls().
    std::size_t copy(std::uint64_t after, std::span<tutti_nccl_call> calls) const;

private:
    struct ChannelTime {
        int channel = 0;
        std::uint64_t start = 0, end = 0;  // in ns; end 0: still running
    };
    struct KeptCall {
        tutti_nccl_call call{};
        std::vector<ChannelTime> channels;
    };

    KeptCall* find(std::uint64_t id);
    void write(const std::string& line) const;

    mutable std::mutex mutex_;
    std::array<KeptCall, kept> calls_;  // by id modulo their number
    std::uint64_t last_ = 0;
    std::unique_ptr<OpenFile> file_;
};

/// The log of this process.
CallLog& call_log();

}  // namespace tutti
