// SPDX-License-Identifier: Apache-2.0
#include "tests/simulated_gpu/run_block.hpp"

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/simulated_gpu/emulated_threads.hpp"

namespace tutti::simulated {
namespace {

// A kernel's one argument, as seen by a caller that does not know its type: a structure of more
// than 16 bytes lies in memory, and the kernel reads only the part that it knows.
struct Arguments {
    std::byte bytes[most_arguments];
};

// A GPU thread as a fiber that is left and entered repeatedly: made once by ucontext, then switched
// by jumps, which need no system call.
class Fiber {
public:
    /// `function` never returns.
    explicit Fiber(void (*function)()) {
        void* const memory = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        getcontext(&begin_);
        begin_.uc_stack.ss_sp = memory;
        begin_.uc_stack.ss_size = stack_bytes;
        makecontext(&begin_, function, 0);
    }
    ~Fiber() { munmap(begin_.uc_stack.ss_sp, stack_bytes); }
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    bool is_over = false;
    bool says_yes = false;  // at its current meeting

    /// Runs it until it leaves.
    void enter() {
        if (_setjmp(outside_) != 0) return;
        if (has_begun_) _longjmp(inside_, 1);
        has_begun_ = true;
        setcontext(&begin_);
    }
    void leave() {
        if (_setjmp(inside_) == 0) _longjmp(outside_, 1);
    }

private:
    static constexpr std::size_t stack_bytes = std::size_t{64} << 10;
    ucontext_t begin_{};
    bool has_begun_ = false;
    jmp_buf inside_, outside_;
};

class Runner {
public:
    const char* run(const Block& block) {
        block_ = &block;
        problem_.clear();
        blockDim = {block.threads};
        blockIdx = {block.block};
        gridDim = {block.blocks};
        if (block.meets)
            run_side_by_side();
        else
            for (unsigned thread = 0; thread < block.threads && problem_.empty(); ++thread) {
                threadIdx = {thread};
                run_thread();
            }
        return problem_.c_str();
    }

    bool meet(bool mine) {
        if (!block_->meets)
            throw std::logic_error("a meeting in a kernel launched as if it had none");
        now_->says_yes = mine;
        now_->leave();
        return all_say_yes_;
    }

    static Runner& own() {
        thread_local Runner runner;
        return runner;
    }

private:
    void run_side_by_side() {
        while (fibers_.size() < block_->threads)
            fibers_.push_back(std::make_unique<Fiber>(&Runner::run_threads));
        for (unsigned thread = 0; thread < block_->threads; ++thread)
            fibers_[thread]->is_over = false;
        while (step()) {
        }
    }

    // Runs every thread up to the next meeting, or to its end. Returns false when all have ended.
    bool step() {
        unsigned over = 0;
        bool all = true;
        for (unsigned thread = 0; thread < block_->threads; ++thread) {
            threadIdx = {thread};
            now_ = fibers_[thread].get();
            now_->enter();
            if (!problem_.empty()) return false;
            over += now_->is_over ? 1 : 0;
            all = all && (now_->is_over || now_->says_yes);
        }
        all_say_yes_ = all;
        if (over == 0) return true;
        if (over < block_->threads) problem_ = "threads of a block wait for others that have ended";
        return false;
    }

    // Runs a fiber for one block after the other.
    static void run_threads() {
        Runner& runner = own();
        for (;;) {
            runner.run_thread();
            runner.now_->is_over = true;
            runner.now_->leave();
        }
    }

    void run_thread() {
        try {
            Arguments arguments;
            std::memcpy(&arguments, block_->arguments, sizeof arguments);
            reinterpret_cast<void (*)(Arguments)>(const_cast<void*>(block_->kernel))(arguments);
        } catch (const std::exception& error) {
            problem_ = error.what();
        }
    }

    const Block* block_ = nullptr;
    std::vector<std::unique_ptr<Fiber>> fibers_;
    Fiber* now_ = nullptr;
    bool all_say_yes_ = false;
    std::string problem_;
};

}  // namespace
}  // namespace tutti::simulated

namespace tutti {

thread_local EmulatedIndex threadIdx, blockDim, blockIdx, gridDim;

bool emulated_meeting(bool mine) { return simulated::Runner::own().meet(mine); }

}  // namespace tutti

extern "C" const char* simulated_run_block(const tutti::simulated::Block& block) {
    return tutti::simulated::Runner::own().run(block);
}
