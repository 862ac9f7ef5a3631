// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "tests/library/in_arena.hpp"

namespace tutti {
namespace {

std::chrono::seconds stress_time() {
    const char* const seconds = std::getenv("HEAP_STRESS_SECONDS");
    return std::chrono::seconds(seconds != nullptr ? std::atoi(seconds) : 3);
}

// A block with a pattern that only its owner writes.
struct Block {
    unsigned char* memory = nullptr;
    std::size_t bytes = 0;
    unsigned char mark = 0;

    void write() const { std::memset(memory, mark, bytes); }
    bool is_whole(std::size_t up_to) const { return all_are(memory, std::min(bytes, up_to), mark); }
};

// Threads exchange blocks through shared places. Most blocks are freed by another thread than
// the one that allocated them.
class Stress {
public:
    void run(unsigned seed) {
        std::mt19937 random(seed);
        while (!is_over_) {
            Block block = take(random());
            if (block.memory != nullptr) {
                if (!block.is_whole(block.bytes)) ++wrong_;
                if (random() % 2 == 0) {
                    free(block.memory);
                    block = {};
                }
            }
            if (block.memory == nullptr)
                block = fresh(random);
            else
                resize(block, any_size(random));
            block.write();
            put(random(), block);
            ++done_;
        }
    }
    void end() { is_over_ = true; }
    void check_and_free_all() {
        for (auto& place : places_) {
            Block* const block = place.exchange(nullptr);
            if (block == nullptr) continue;
            if (!block->is_whole(block->bytes)) ++wrong_;
            free(block->memory);
            delete block;
        }
    }
    long wrong() const { return wrong_; }
    long done() const { return done_; }

private:
    static std::size_t any_size(std::mt19937& random) {
        // Mostly small and large blocks, sometimes one above the retained amount.
        if (random() % 500 == 0) return 1 + random() % (40u << 20);
        return 1 + random() % (std::size_t{1} << (8 + random() % 13));
    }
    Block fresh(std::mt19937& random) {
        Block block{nullptr, any_size(random), static_cast<unsigned char>(random())};
        void* memory = nullptr;
        switch (random() % 3) {
            case 0:
                memory = malloc(block.bytes);
                break;
            case 1:
                memory = calloc(block.bytes, 1);
                break;
            default:
                if (posix_memalign(&memory, std::size_t{8} << random() % 12, block.bytes) != 0)
                    ++wrong_;
        }
        block.memory = static_cast<unsigned char*>(memory);
        return block;
    }
    void resize(Block& block, std::size_t bytes) {
        block.memory = static_cast<unsigned char*>(realloc(block.memory, bytes));
        if (!block.is_whole(bytes)) ++wrong_;
        block.bytes = bytes;
    }
    Block take(unsigned place) {
        Block* const block = places_[place % places_.size()].exchange(nullptr);
        if (block == nullptr) return {};
        const Block taken = *block;
        delete block;
        return taken;
    }
    void put(unsigned place, const Block& block) {
        Block* const before = places_[place % places_.size()].exchange(new Block(block));
        if (before == nullptr) return;
        if (!before->is_whole(before->bytes)) ++wrong_;
        free(before->memory);
        delete before;
    }

    std::array<std::atomic<Block*>, 400> places_{};
    std::atomic<bool> is_over_ = false;
    std::atomic<long> wrong_ = 0, done_ = 0;
};

TEST(HeapStress, FiftyThreadsAllocateWhileTheProcessForks) {
    Stress stress;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 50; ++i) threads.emplace_back([&stress, i] { stress.run(i); });
    const auto end = std::chrono::steady_clock::now() + stress_time();
    int children = 0, failed = 0;
    while (std::chrono::steady_clock::now() < end) {
        const pid_t child = fork();
        if (child == 0) {  // has one thread and a working heap
            void* const memory = calloc(1, 1 << 20);
            _exit(all_are(memory, 1 << 20, 0) ? 0 : 1);
        }
        int status = 0;
        waitpid(child, &status, 0);
        ++children;
        failed += status != 0;
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
    }
    stress.end();
    for (std::thread& thread : threads) thread.join();
    stress.check_and_free_all();
    EXPECT_EQ(stress.wrong(), 0);
    EXPECT_GT(stress.done(), 100);
    EXPECT_GT(children, 0);
    EXPECT_EQ(failed, 0);
}

// Changes the mapping of the middle of a block. Its first page and the rest keep their content.
void change(unsigned char* middle, std::size_t bytes, unsigned how) {
    constexpr int usual = PROT_READ | PROT_WRITE, anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
    switch (how % 5) {
        case 0:
            mmap(middle, bytes, usual, anonymous | MAP_FIXED, -1, 0);
            break;
        case 1:
            munmap(middle, bytes);
            break;
        case 2:
            mprotect(middle, bytes, PROT_NONE);
            break;
        case 3:
            madvise(middle, bytes, MADV_DONTNEED);
            break;
        default:
            munmap(mremap(middle, bytes, 2 * bytes, MREMAP_MAYMOVE), 2 * bytes);
    }
}

// Returns the number of wrong blocks.
long map_over_until(const std::atomic<bool>& is_over, unsigned seed) {
    constexpr std::size_t page = 4096;
    long wrong = 0;
    for (std::mt19937 random(seed); !is_over;) {
        const std::size_t middle = page * (1 + random() % 20), bytes = 2 * page + middle + 100000;
        const auto mark = static_cast<unsigned char>(random());
        auto* const memory = static_cast<unsigned char*>(calloc(1, bytes));
        wrong += all_are(memory, bytes, 0) ? 0 : 1;
        std::memset(memory, mark, bytes);
        unsigned char* const after = memory + page + middle;
        change(memory + page, middle, random());
        wrong += all_are(memory, page, mark) && all_are(after, bytes - page - middle, mark) ? 0 : 1;
        free(memory);
    }
    return wrong;
}

TEST(HeapStress, ThreadsMapOverMemoryWhileTheProcessForks) {
    std::atomic<bool> is_over = false;
    std::atomic<long> wrong = 0;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 8; ++i)
        threads.emplace_back([&, i] { wrong += map_over_until(is_over, i); });
    const auto end = std::chrono::steady_clock::now() + stress_time();
    int failed = 0;
    while (std::chrono::steady_clock::now() < end) {
        const pid_t child = fork();
        if (child == 0) {
            std::atomic<bool> is_over_at_once = false;
            std::thread ends([&] {
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
                is_over_at_once = true;
            });
            const long wrong_of_child = map_over_until(is_over_at_once, 99);
            ends.join();
            _exit(wrong_of_child == 0 ? 0 : 1);
        }
        int status = 0;
        waitpid(child, &status, 0);
        failed += status != 0;
    }
    is_over = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace tutti
