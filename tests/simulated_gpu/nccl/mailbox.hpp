// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nccl.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::simulated {

/// Bytes from one rank to another, in order.
class Pipe {
public:
    /// Move as many bytes as there is room for, or as there are; return their number.
    std::size_t write(std::span<const std::byte> bytes);
    std::size_t read(std::span<std::byte> bytes);
    std::size_t waiting() const { return written_.load() - read_.load(); }

private:
    static constexpr std::size_t room = 1 << 16;
    std::atomic<std::uint64_t> written_, read_;
    std::array<std::byte, room> bytes_;
};

/// The meeting place of a communicator's ranks: threads, or processes of one host. A file without a
/// name, so that nothing remains when its last user has ended, in whatever way.
class Mailbox {
public:
    static constexpr int most_ranks = 16;

    /// Makes the id of a new one, which lasts as long as this process.
    static bool create(ncclUniqueId& id);

    /// Throws std::runtime_error if there is none.
    explicit Mailbox(const ncclUniqueId& id);
    ~Mailbox();
    Mailbox(const Mailbox&) = delete;
    Mailbox& operator=(const Mailbox&) = delete;

    void announce_gpu(int rank, int gpu);
    /// Returns -1 if the rank has not joined yet.
    int gpu_of(int rank) const;

    Pipe& pipe(int from, int to);

private:
    struct Room {
        std::array<std::atomic<int>, most_ranks> gpus;  // by rank, plus one; 0: not known yet
        Pipe pipes[most_ranks][most_ranks];
    };
    Room* room_;  // initially zero
};

}  // namespace tutti::simulated
