// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nccl.h>

#include <exception>

#include "collectives/device/cuda_check.hpp"
#include "collectives/device/gpus.hpp"
#include "collectives/transport/gpu_placement.hpp"
#include "collectives/transport/nccl.hpp"
#include "collectives/transport/patience.hpp"

namespace tutti {
namespace {

std::string words_of(ncclResult_t result, ncclComm_t communicator) {
    const char* last = communicator != nullptr ? ncclGetLastError(communicator) : nullptr;
    const bool says_more = last != nullptr && *last != '\0';
    return fmt::format("{}{}{}", ncclGetErrorString(result), says_more ? ": " : "",
                       says_more ? last : "");
}

class Ranks final : public NcclRanks {
public:
    explicit Ranks(World& world) : world_(world), me_(world.rank().index) {
        check_cuda(cudaSetDevice(gpu_number(world)));
        struct Word {
            ncclUniqueId id;
            ncclResult_t result;
        } word{};
        if (world.is_first()) word.result = ncclGetUniqueId(&word.id);
        word = of_first(world, word);
        if (word.result != ncclSuccess) fail("ncclGetUniqueId", word.result);
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 0;
        settle("ncclCommInitRankConfig",
               ncclCommInitRankConfig(&communicator_, world.size(), word.id, world.rank().index,
                                      &config));
    }

    // What is under way ends first, unless this rank leaves because something went wrong.
    ~Ranks() override {
        if (communicator_ == nullptr) return;
        if (std::uncaught_exceptions() == 0) try {
                settle("ncclCommFinalize", ncclCommFinalize(communicator_));
                ncclCommDestroy(communicator_);
                return;
            } catch (const Error&) {
            }
        abort();
    }

    void* communicator() const override { return communicator_; }

    void ask(const char* what, const std::function<int(void*)>& call) override {
        refuse_if_given_up(what);
        settle(what, static_cast<ncclResult_t>(call(communicator_)));
    }

    void throw_if_failed() override {
        refuse_if_given_up("a collective");
        ncclResult_t state = ncclSuccess;
        const ncclResult_t asked = ncclCommGetAsyncError(communicator_, &state);
        if (asked != ncclSuccess) fail("ncclCommGetAsyncError", asked);
        if (state != ncclSuccess && state != ncclInProgress) fail("a collective", state);
    }

private:
    void refuse_if_given_up(const char* what) const {
        if (communicator_ == nullptr)
            throw Error(fmt::format("rank {} has given up NCCL before {}", me_, what),
                        Exit::rank_lost);
    }

    void settle(const char* what, ncclResult_t result) {
        world_.met();
        Patience patience(world_);
        while (result == ncclInProgress) {
            const ncclResult_t asked = ncclCommGetAsyncError(communicator_, &result);
            if (asked != ncclSuccess) fail(what, asked);
            if (result == ncclInProgress && !patience.pause()) {
                abort();
                throw Error(fmt::format("rank {} waited {:g} s in {} of NCCL", me_,
                                        world_.hang_timeout, what),
                            Exit::time_out);
            }
        }
        if (result != ncclSuccess) fail(what, result);
    }

    [[noreturn]] void fail(const char* what, ncclResult_t result) {
        const std::string text = fmt::format("rank {}: NCCL failed in {}: {}", me_, what,
                                             words_of(result, communicator_));
        abort();
        throw Error(text, Exit::rank_lost);
    }

    // Kernels under way end, too; other ranks are told by their own look at NCCL.
    void abort() {
        if (communicator_ != nullptr) ncclCommAbort(communicator_);
        communicator_ = nullptr;
    }

    World& world_;
    int me_;  // the world may be on its way out
    ncclComm_t communicator_ = nullptr;
};

// "0000:17:00.0" of two ranks of one host are one GPU.
std::optional<std::string> two_ranks_on_one_gpu(World& world) {
    const auto mine = gpus().at(static_cast<std::size_t>(gpu_number(world))).address;
    const auto addresses = gathered_texts(world, mine);
    for (const auto& host : world.hosts().nodes())
        for (std::size_t one = 0; one < host.size(); ++one)
            for (std::size_t other = one + 1; other < host.size(); ++other) {
                const auto& address = addresses[static_cast<std::size_t>(host[one].index)];
                if (address != addresses[static_cast<std::size_t>(host[other].index)]) continue;
                return fmt::format(
                    "ranks {} and {} share the GPU {}, and NCCL takes one rank of each (it says: "
                    "Duplicate GPU detected); start one rank for each GPU",
                    host[one].index, host[other].index, address);
            }
    return std::nullopt;
}

struct Refusal {
    std::optional<std::string> reason;
};

}  // namespace

std::optional<std::string> nccl_missing() { return gpus_missing(); }

std::string nccl_version() {
    int number = 0;
    if (ncclGetVersion(&number) != ncclSuccess) return "none";
    return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

std::optional<std::string> nccl_refuses(World& world) {
    return world
        .kept<Refusal>([&] {
            auto found = std::make_shared<Refusal>();
            found->reason = gpu_placement_refuses(world);
            if (!found->reason) found->reason = two_ranks_on_one_gpu(world);
            return found;
        })
        .reason;
}

NcclRanks& NcclRanks::of(World& world) {
    return world.kept<Ranks>([&] { return std::make_shared<Ranks>(world); });
}

}  // namespace tutti
