// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tutti {

/// Threads that emulate the blocks of a device: each started block gets its own thread at once, so
/// that blocks may wait for each other. Threads are kept for the next start.
class BlockThreads {
public:
    using Block = std::function<void()>;

    BlockThreads() = default;
    ~BlockThreads();
    BlockThreads(const BlockThreads&) = delete;
    BlockThreads& operator=(const BlockThreads&) = delete;

    void start(const std::vector<Block>& blocks);

private:
    void work();

    std::mutex mutex_;
    std::condition_variable more_;
    std::deque<Block> waiting_;
    std::size_t idle_ = 0;
    bool ends_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace tutti
