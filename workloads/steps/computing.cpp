// SPDX-License-Identifier: Apache-2.0
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/clock.hpp"
#include "workloads/steps/step_runner.hpp"

namespace tutti {
namespace {

// The timer of an accelerator's stream.
class Sleeper final : public Computer {
public:
    explicit Sleeper(CoreUse core) : core_(core) {}

    void release() override { free_from_ns_ = std::max(free_from_ns_, now_ns()); }

    std::int64_t compute(std::int64_t ns, const std::function<bool()>& meanwhile) override {
        free_from_ns_ += ns;
        const std::int64_t end = free_from_ns_;
        while (meanwhile()) {
            if (now_ns() >= end) return ns;
            let_others_run();
        }
        // The system wakes a sleeper late, so the last bit is spun.
        constexpr std::int64_t late_ns = 100'000;
        if (const std::int64_t left = end - now_ns() - late_ns; left > 0) {
            const timespec a_while{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
            nanosleep(&a_while, nullptr);
        }
        while (now_ns() < end) let_others_run();
        return ns;
    }

private:
    void let_others_run() const {
        if (core_ == CoreUse::shared)
            sched_yield();
        else
            relax();
    }

    CoreUse core_;
    std::int64_t free_from_ns_ = 0;  // when the stream has finished its work
};

// Work in equal portions of known duration.
class Worker : public Computer {
public:
    std::int64_t compute(std::int64_t ns, const std::function<bool()>& meanwhile) override {
        const std::int64_t began = now_ns();
        // A remainder of less than half a portion is carried over.
        owed_ns_ += static_cast<double>(ns);
        for (; owed_ns_ >= portion_ns_ / 2; owed_ns_ -= portion_ns_) do_portion();
        const std::int64_t took = now_ns() - began;
        meanwhile();
        return took;
    }

protected:
    virtual void do_portion() = 0;

    // The fastest of many tries: other load makes portions take longer, never shorter.
    void train() {
        constexpr std::int64_t learning_ns = 20'000'000;
        const std::int64_t end = now_ns() + learning_ns;
        portion_ns_ = 1e9;
        while (now_ns() < end) {
            const std::int64_t began = now_ns();
            for (int i = 0; i < 4; ++i) do_portion();
            portion_ns_ = std::min(portion_ns_, static_cast<double>(now_ns() - began) / 4);
        }
    }

private:
    double portion_ns_ = 1;
    double owed_ns_ = 0;
};

// Multiplies in chains, in registers; each product waits for the one before.
class Burner final : public Worker {
public:
    Burner() { train(); }

private:
    void do_portion() override {
        for (int i = 0; i < 250; ++i)
            for (double& value : values_) value = value * 0.999999 + 1e-6;
        sink_ = values_[0];
    }

    std::array<double, 4> values_{1, 2, 3, 4};
    volatile double sink_ = 0;
};

// Multiplies blocks of matrices that do not fit the first cache, one after the other.
class Multiplier final : public Worker {
public:
    Multiplier() : a_(side * side, 0.5F), b_(side * side, 0.25F), c_(side * side) { train(); }

private:
    static constexpr std::size_t side = 192, block = 32;

    void do_portion() override {
        const std::size_t row = next_ / (side / block) * block,
                          column = next_ % (side / block) * block;
        next_ = (next_ + 1) % (side / block * (side / block));
        for (std::size_t i = row; i < row + block; ++i)
            for (std::size_t k = 0; k < side; ++k) {
                const float factor = a_[i * side + k];
                for (std::size_t j = column; j < column + block; ++j)
                    c_[i * side + j] += factor * b_[k * side + j];
            }
        // Keeps the sums finite.
        if (next_ == 0) std::ranges::fill(c_, 0.F);
    }

    std::vector<float> a_, b_, c_;
    std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Computer> computer(ComputeMode mode, CoreUse core) {
    switch (mode) {
        case ComputeMode::burn:
            return std::make_unique<Burner>();
        case ComputeMode::real:
            return std::make_unique<Multiplier>();
        default:
            return std::make_unique<Sleeper>(core);
    }
}

}  // namespace tutti
