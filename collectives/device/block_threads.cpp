// SPDX-License-Identifier: Apache-2.0
#include "collectives/device/block_threads.hpp"

namespace tutti {

BlockThreads::~BlockThreads() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
    }
    more_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void BlockThreads::start(const std::vector<Block>& blocks) {
    {
        const std::lock_guard lock(mutex_);
        waiting_.insert(waiting_.end(), blocks.begin(), blocks.end());
        for (; idle_ < waiting_.size(); ++idle_) threads_.emplace_back([this] { work(); });
    }
    more_.notify_all();
}

void BlockThreads::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        more_.wait(lock, [&] { return ends_ || !waiting_.empty(); });
        if (waiting_.empty()) return;
        const Block block = std::move(waiting_.front());
        waiting_.pop_front();
        --idle_;
        lock.unlock();
        block();
        lock.lock();
        ++idle_;
    }
}

}  // namespace tutti
