// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <vector>

namespace tutti::simulated {

/// A position in a stream, which the stream has reached or not.
class Moment {
public:
    void come();
    bool is_past() const { return ns_.load() != 0; }
    void wait();
    std::int64_t ns() const { return ns_.load(); }

private:
    std::mutex mutex_;
    std::condition_variable past_;
    std::atomic<std::int64_t> ns_ = 0;
};

/// Work done in order by a separate thread, some of it late.
class Stream {
public:
    using Task = std::function<void()>;

    explicit Stream(int gpu);
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    /// It accepts only kernels and events of that GPU.
    int gpu() const { return gpu_; }

    /// Queues work; or records it while the stream is captured.
    void add(Task task);
    std::shared_ptr<Moment> mark();
    void drain() { mark()->wait(); }

    void begin_capture() { captured_.emplace(); }
    bool is_captured() const { return captured_.has_value(); }
    std::vector<Task> end_capture();

private:
    void work();

    int gpu_;
    std::mutex mutex_;
    std::condition_variable more_;
    std::deque<Task> tasks_;
    std::optional<std::vector<Task>> captured_;
    bool ends_ = false;
    std::minstd_rand chance_;
    std::thread thread_;
};

}  // namespace tutti::simulated
