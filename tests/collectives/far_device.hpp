// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <vector>

#include "base/error.hpp"
#include "base/rounding.hpp"
#include "collectives/device/memory_device.hpp"
#include "kernels/sets.hpp"

namespace tutti::test {

/// A device of one rank that is as restrictive as a GPU may be: accesses to its memory from the
/// host (or from a library) crash, and queued work is done late, a bit of some queue at a time,
/// whenever a mark is polled.
class FarDevice final : public MemoryDevice {
public:
    explicit FarDevice(unsigned seed) : dice_(seed) {}

    std::shared_ptr<std::byte> allocate(std::size_t bytes) override {
        const std::size_t size = round_up(bytes, page) + page;
        const int file = memfd_create("device", 0);
        if (file < 0 || ftruncate(file, static_cast<off_t>(size)) != 0) throw Error("no memory");
        void* there = mmap(nullptr, size, PROT_NONE, MAP_SHARED, file, 0);
        void* here = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
        const Piece piece{static_cast<std::byte*>(here), size};
        auto* const address = static_cast<std::byte*>(there);
        pieces_[address] = piece;
        return {address, [this](std::byte* memory) {
                    const Piece freed = pieces_.at(memory);
                    pieces_.erase(memory);
                    munmap(memory, freed.size);
                    munmap(freed.here, freed.size);
                }};
    }

    std::shared_ptr<std::byte> pinned(std::size_t bytes) override {
        std::shared_ptr<std::byte[]> memory(new std::byte[bytes]);
        return {memory.get(), [memory, known = register_memory({memory.get(), bytes})](
                                  std::byte*) mutable { known.reset(); }};
    }

    std::shared_ptr<void> register_memory(std::span<std::byte> memory) override {
        known_.push_back(memory);
        return {memory.data(), [this, memory](void*) {
                    std::erase_if(known_, [&](std::span<std::byte> one) {
                        return one.data() == memory.data() && one.size() == memory.size();
                    });
                }};
    }

    std::unique_ptr<DeviceQueue> queue() override { return std::make_unique<Queue>(*this); }

    /// Returns the device's own address of its memory; other addresses are unchanged.
    std::byte* seen(const std::byte* address) const {
        const auto next = pieces_.upper_bound(const_cast<std::byte*>(address));
        if (next != pieces_.begin()) {
            const auto& [begin, piece] = *std::prev(next);
            if (address < begin + piece.size) return piece.here + (address - begin);
        }
        return const_cast<std::byte*>(address);
    }

    /// Whether it may copy there by itself: its own memory, or memory that was registered.
    bool knows(const std::byte* address, std::size_t bytes) const {
        return seen(address) != address ||
               std::ranges::any_of(known_, [&](std::span<const std::byte> one) {
                   return address >= one.data() && address + bytes <= one.data() + one.size();
               });
    }
    /// Returns the number of registered pieces of host memory.
    std::size_t known() const { return known_.size(); }

    std::size_t most_sources = SIZE_MAX;  ///< maximum that a queue combines at once

    /// Requests so far, of all queues.
    long copies = 0, combinations = 0, asked = 0;

    class Queue final : public DeviceQueue {
    public:
        /// Queues work that may not be possible yet: `attempt` then returns false.
        void ask_when(std::function<bool()> attempt) {
            work_.push_back(std::move(attempt));
            ++device_.asked;
            ++asked_;
        }

        explicit Queue(FarDevice& device) : device_(device) { device_.queues_.push_back(this); }
        ~Queue() override { std::erase(device_.queues_, this); }

        void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
            ++device_.copies;
            ask([=, this] {
                if (!device_.knows(from, bytes) || !device_.knows(to, bytes))
                    throw Error("the device copies memory of the host that it does not know");
                std::copy_n(device_.seen(from), bytes, device_.seen(to));
            });
        }
        void combine(DataType type, Op op, std::span<std::byte* const> outs,
                     std::span<const std::byte* const> sources, std::size_t elements) override {
            ++device_.combinations;
            std::vector<std::byte*> to(outs.begin(), outs.end());
            std::vector<const std::byte*> from(sources.begin(), sources.end());
            ask([=, this]() mutable {
                for (auto& address : to) address = device_.seen(address);
                for (auto& address : from) address = device_.seen(address);
                find_reduce(type, op)(to.data(), to.size(), from.data(), from.size(), elements);
            });
        }
        std::size_t most_sources(DataType) const override { return device_.most_sources; }
        void divide(DataType type, std::byte* values, std::size_t elements, int ranks) override {
            ask([=, this] { find_divide(type)(device_.seen(values), elements, ranks); });
        }
        void follow(DeviceQueue& other) override {
            auto& first = static_cast<Queue&>(other);
            ask_when([&first, until = first.asked_] { return first.done_ >= until; });
        }
        Mark mark() override { return asked_; }
        bool is_past(Mark mark) override {
            device_.work_a_little();
            return done_ >= mark;
        }
        void* handle() const override { return nullptr; }

        // Returns whether some work could be done.
        bool step() {
            if (work_.empty()) return false;
            if (!work_.front()()) return false;
            work_.pop_front();
            ++done_;
            return true;
        }

    private:
        template <class Action>
        void ask(Action action) {
            ask_when([action]() mutable {
                action();
                return true;
            });
        }

        FarDevice& device_;
        std::deque<std::function<bool()>> work_;
        Mark asked_ = 0, done_ = 0;
    };

private:
    static constexpr std::size_t page = 4096;
    struct Piece {
        std::byte* here;
        std::size_t size;
    };

    void work_a_little() {
        const auto steps = dice_() % 3;
        for (unsigned i = 0; i < steps && !queues_.empty(); ++i)
            queues_[dice_() % queues_.size()]->step();
    }

    std::mt19937 dice_;
    std::map<std::byte*, Piece> pieces_;
    std::vector<std::span<std::byte>> known_;
    std::vector<Queue*> queues_;
};

}  // namespace tutti::test
