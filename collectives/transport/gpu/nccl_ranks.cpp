// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nccl.h>

#include <cstdlib>
#include <exception>
#include <map>

#include "base/index.hpp"
#include "collectives/device/gpus.hpp"
#include "collectives/transport/gpu/gpu_placement.hpp"
#include "collectives/transport/gpu/nccl.hpp"
#include "collectives/world/backoff.hpp"

namespace tutti {
namespace {

// The functions of a library that communicators need.
struct CommunicatorCalls {
    explicit CommunicatorCalls(const NcclLibrary& library)
        : get_id(library.function<decltype(ncclGetUniqueId)>("ncclGetUniqueId")),
          init(library.function<decltype(ncclCommInitRankConfig)>("ncclCommInitRankConfig")),
          get_async_error(
              library.function<decltype(ncclCommGetAsyncError)>("ncclCommGetAsyncError")),
          finalize(library.function<decltype(ncclCommFinalize)>("ncclCommFinalize")),
          destroy(library.function<decltype(ncclCommDestroy)>("ncclCommDestroy")),
          abort(library.function<decltype(ncclCommAbort)>("ncclCommAbort")),
          get_error_string(library.function<decltype(ncclGetErrorString)>("ncclGetErrorString")),
          get_last_error(library.function<decltype(ncclGetLastError)>("ncclGetLastError")) {}

    std::string words_of(ncclResult_t result, ncclComm_t communicator) const {
        const char* last = communicator != nullptr ? get_last_error(communicator) : nullptr;
        const bool says_more = last != nullptr && *last != '\0';
        return fmt::format("{}{}{}", get_error_string(result), says_more ? ": " : "",
                           says_more ? last : "");
    }

    decltype(&ncclGetUniqueId) get_id;
    decltype(&ncclCommInitRankConfig) init;
    decltype(&ncclCommGetAsyncError) get_async_error;
    decltype(&ncclCommFinalize) finalize;
    decltype(&ncclCommDestroy) destroy;
    decltype(&ncclCommAbort) abort;
    decltype(&ncclGetErrorString) get_error_string;
    decltype(&ncclGetLastError) get_last_error;
};

// Sets variables and restores them in the end.
class TemporaryEnvironment {
public:
    explicit TemporaryEnvironment(const std::map<std::string, std::string>& variables) {
        for (const auto& [name, value] : variables) {
            const char* const before = std::getenv(name.c_str());
            before_.emplace(name, before == nullptr ? std::nullopt : std::optional(before));
            setenv(name.c_str(), value.c_str(), /*overwrite=*/1);
        }
    }
    ~TemporaryEnvironment() {
        for (const auto& [name, value] : before_)
            if (value)
                setenv(name.c_str(), value->c_str(), /*overwrite=*/1);
            else
                unsetenv(name.c_str());
    }
    TemporaryEnvironment(const TemporaryEnvironment&) = delete;

private:
    std::map<std::string, std::optional<std::string>> before_;
};

class Ranks final : public NcclRanks {
public:
    Ranks(World& world, const CommunicatorCalls& calls, const ncclUniqueId& id,
          const NcclSettings& settings)
        : world_(world), calls_(calls), me_(world.rank().index) {
        check_cuda(cudaSetDevice(gpu_number(world)));
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 0;
        if (settings.most_channels > 0) config.maxCTAs = settings.most_channels;
        const TemporaryEnvironment environment(settings.environment);
        const auto what = [] { return std::string("ncclCommInitRankConfig"); };
        settle(what, calls_.init(&communicator_, world.size(), id, me_, &config));
    }

    // Waits for running kernels, unless this rank leaves because of an error.
    ~Ranks() override {
        if (communicator_ == nullptr) return;
        if (std::uncaught_exceptions() == 0) try {
                settle([] { return std::string("ncclCommFinalize"); },
                       calls_.finalize(communicator_));
                calls_.destroy(communicator_);
                return;
            } catch (const Error&) {
            }
        give_up();
    }

    void ask(const What& what, const std::function<int(void*)>& call) override {
        refuse_if_given_up(what);
        settle(what, static_cast<ncclResult_t>(call(communicator_)));
    }

    void throw_if_failed(const What& what) override {
        refuse_if_given_up(what);
        ncclResult_t state = ncclSuccess;
        const ncclResult_t asked = calls_.get_async_error(communicator_, &state);
        if (asked != ncclSuccess) fail(what, asked);
        if (state != ncclSuccess && state != ncclInProgress) fail(what, state);
    }

    // Ends running kernels, too; other ranks notice when they query NCCL themselves.
    void give_up() override {
        if (communicator_ != nullptr) calls_.abort(communicator_);
        communicator_ = nullptr;
    }

private:
    void refuse_if_given_up(const What& what) const {
        if (communicator_ == nullptr)
            throw Error(fmt::format("rank {} aborted NCCL before {}", me_, what()),
                        Exit::rank_lost);
    }

    void settle(const What& what, ncclResult_t result) {
        world_.heartbeat();
        Backoff backoff(world_);
        while (result == ncclInProgress) {
            const ncclResult_t asked = calls_.get_async_error(communicator_, &result);
            if (asked != ncclSuccess) fail(what, asked);
            if (result == ncclInProgress && !backoff.pause()) {
                const std::string request = what();
                give_up();
                throw Error(fmt::format("rank {} waited {:g} s in NCCL, {}", me_,
                                        world_.hang_timeout, request),
                            Exit::time_out);
            }
        }
        if (result != ncclSuccess) fail(what, result);
    }

    [[noreturn]] void fail(const What& what, ncclResult_t result) {
        const std::string text = fmt::format("rank {}: NCCL failed in {}: {}", me_, what(),
                                             calls_.words_of(result, communicator_));
        give_up();
        throw Error(text, result == ncclInvalidArgument ? Exit::usage : Exit::rank_lost);
    }

    World& world_;
    CommunicatorCalls calls_;
    int me_;  // stored here, because the world may end first
    ncclComm_t communicator_ = nullptr;
};

// Compares PCI addresses, e.g. "0000:17:00.0": equal ones on a host are one GPU.
std::optional<std::string> two_ranks_on_one_gpu(World& world) {
    const auto mine = gpus().at(as_size(gpu_number(world))).address;
    const auto addresses = gather_all_texts(world, mine);
    for (const auto& host : world.hosts().nodes())
        for (std::size_t one = 0; one < host.size(); ++one)
            for (std::size_t other = one + 1; other < host.size(); ++other) {
                const auto& address = addresses[as_size(host[one].index)];
                if (address != addresses[as_size(host[other].index)]) continue;
                return fmt::format(
                    "ranks {} and {} share the GPU {}, but NCCL takes one rank per GPU (it says: "
                    "Duplicate GPU detected); start one rank for each GPU",
                    host[one].index, host[other].index, address);
            }
    return std::nullopt;
}

// Either the ranks' communicator or the reason why there is none.
struct Joined {
    std::unique_ptr<Ranks> ranks;
    std::optional<std::string> refusal;
};

// Any rank may find that no communicator can be made. Then the others leave, too, with the same
// reason.
Joined join(World& world, const NcclLibrary& library, const NcclSettings& settings) {
    const CommunicatorCalls calls(library);
    struct Word {
        ncclUniqueId id;
        ncclResult_t result;
    } word{};
    if (world.is_first()) word.result = calls.get_id(&word.id);
    word = from_rank0(world, word);
    if (word.result != ncclSuccess)
        return {nullptr, fmt::format("NCCL failed in ncclGetUniqueId: {}",
                                     calls.words_of(word.result, nullptr))};
    Joined joined;
    std::string problem;
    try {
        joined.ranks = std::make_unique<Ranks>(world, calls, word.id, settings);
    } catch (const Error& error) {
        problem = error.what();
    }
    for (std::string& of_rank : gather_all_texts(world, problem))
        if (!of_rank.empty() && !joined.refusal) joined.refusal = std::move(of_rank);
    if (joined.refusal && joined.ranks) joined.ranks->give_up();
    return joined;
}

using Communicators = std::map<std::pair<const NcclLibrary*, NcclSettings>, Joined>;

Joined& joined(World& world, const NcclLibrary& library, const NcclSettings& settings) {
    auto& all = world.attribute<Communicators>([] { return std::make_shared<Communicators>(); });
    const std::pair key{&library, settings};
    auto known = all.find(key);
    if (known == all.end()) {
        std::optional<std::string> refusal = gpu_placement_refuses(world);
        if (!refusal) refusal = two_ranks_on_one_gpu(world);
        known =
            all.emplace(key, refusal ? Joined{nullptr, refusal} : join(world, library, settings))
                .first;
    }
    return known->second;
}

}  // namespace

std::optional<std::string> nccl_refuses(World& world) {
    return nccl_refuses(world, NcclLibrary::linked());
}

std::optional<std::string> nccl_refuses(World& world, const NcclLibrary& library,
                                        const NcclSettings& settings) {
    return joined(world, library, settings).refusal;
}

NcclRanks& NcclRanks::of(World& world, const NcclLibrary& library, const NcclSettings& settings) {
    const Joined& all = joined(world, library, settings);
    if (all.refusal) throw Error(*all.refusal);
    return *all.ranks;
}

std::unique_ptr<NcclRanks> NcclRanks::make(World& world, const NcclLibrary& library) {
    Joined all = join(world, library, {});
    if (all.refusal) throw Error(*all.refusal);
    return std::move(all.ranks);
}

}  // namespace tutti
