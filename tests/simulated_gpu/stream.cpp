// SPDX-License-Identifier: Apache-2.0
#include "tests/simulated_gpu/stream.hpp"

#include <chrono>
#include <utility>

#include "base/clock.hpp"

namespace tutti::simulated {

void Moment::come() {
    const std::lock_guard lock(mutex_);
    ns_ = now_ns();
    past_.notify_all();
}

void Moment::wait() {
    std::unique_lock lock(mutex_);
    past_.wait(lock, [&] { return is_past(); });
}

Stream::Stream(int gpu) : gpu_(gpu), thread_([this] { work(); }) {}

// Queued work is done first.
Stream::~Stream() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
    }
    more_.notify_one();
    thread_.join();
}

void Stream::add(Task task) {
    if (captured_) return captured_->push_back(std::move(task));
    {
        const std::lock_guard lock(mutex_);
        tasks_.push_back(std::move(task));
    }
    more_.notify_one();
}

std::shared_ptr<Moment> Stream::mark() {
    auto moment = std::make_shared<Moment>();
    add([moment] { moment->come(); });
    return moment;
}

std::vector<Stream::Task> Stream::end_capture() {
    auto tasks = std::move(*captured_);
    captured_.reset();
    return tasks;
}

// Works slowly, like a GPU, to detect programs that do not wait for it.
void Stream::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        more_.wait(lock, [&] { return ends_ || !tasks_.empty(); });
        if (tasks_.empty()) return;
        const Task task = std::move(tasks_.front());
        tasks_.pop_front();
        lock.unlock();
        if (chance_() % 8 == 0)
            std::this_thread::sleep_for(std::chrono::microseconds(chance_() % 100));
        task();
        lock.lock();
    }
}

}  // namespace tutti::simulated
