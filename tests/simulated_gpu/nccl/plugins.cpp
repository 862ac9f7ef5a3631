// SPDX-License-Identifier: Apache-2.0
#include "tests/simulated_gpu/nccl/plugins.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace tutti::simulated {
namespace {

constexpr bool has_tuner = SIMULATED_NCCL_VERSION >= 22200;

constexpr const char* algorithm_names[] = {
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
constexpr const char* protocol_names[] = {"LL", "LL128", "SIMPLE"};

[[gnu::format(printf, 5, 6)]] void log(int level, unsigned long, const char*, int,
                                       const char* format, ...) {
    constexpr int warning = 2;
    if (level > warning) return;
    va_list values;
    va_start(values, format);
    std::vfprintf(stderr, format, values);
    va_end(values);
    std::fputc('\n', stderr);
}

template <class Symbol>
const Symbol* symbol_in(const char* variable, const char* name) {
    const char* const file = std::getenv(variable);
    if (file == nullptr) return nullptr;
    void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    void* const found = library == nullptr ? nullptr : dlsym(library, name);
    if (found == nullptr) throw std::runtime_error(std::string(file) + " is no plugin");
    return static_cast<const Symbol*>(found);
}

void must_succeed(int result) {
    if (result != 0) throw std::runtime_error("a plugin has failed");
}

// NCCL's costs: trees for all-reduce, PAT for blocks, rings for all. Small messages are fastest by
// LL, large ones by SIMPLE.
float cost_of(const Described& call, int algorithm, int protocol) {
    constexpr int tree = 0, ring = 1, pat = 6, all_reduce = 4, simple = 2;
    const bool has_blocks = call.function == 2 || call.function == 3;
    const bool is_possible = algorithm == ring ||
                             (algorithm == tree && call.function == all_reduce) ||
                             (algorithm == pat && has_blocks && protocol == simple);
    if (!is_possible) return -1;
    const float latency = static_cast<float>(2 + 4 * protocol + 3 * algorithm);
    const float per_byte = 1e-3F / static_cast<float>(1 + protocol + algorithm);
    return latency + per_byte * static_cast<float>(call.bytes);
}

bool is_variable(const char* name, std::string value) {
    const char* const text = std::getenv(name);
    std::string wanted = text == nullptr ? value : text;
    for (std::string* const one : {&wanted, &value})
        std::erase_if(*one, [](char letter) { return letter == '_'; });
    return strcasecmp(wanted.c_str(), value.c_str()) == 0;
}

Selection selection_of_environment() {
    Selection selection;
    for (std::size_t a = 0; a < algorithms; ++a)
        for (std::size_t p = 0; p < protocols; ++p)
            selection.excluded[a][p] = !is_variable("NCCL_ALGO", algorithm_names[a]) ||
                                       !is_variable("NCCL_PROTO", protocol_names[p]);
    return selection;
}

}  // namespace

Plugins::Plugins(std::uint64_t communicator, int ranks, int rank, int channels)
    : tuner_(has_tuner ? symbol_in<Tuner>("NCCL_TUNER_PLUGIN", "ncclTunerPlugin_v5") : nullptr),
      profiler_(has_tuner ? symbol_in<Profiler>("NCCL_PROFILER_PLUGIN", "ncclProfiler_v5")
                          : nullptr),
      ranks_(ranks),
      rank_(rank),
      channels_(channels),
      of_environment_(selection_of_environment()) {
    nccl_host::NvlDomainInfo domains{1, ranks, ranks};
    nccl_host::ConstantsV5 constants{};
    if (tuner_ != nullptr)
        must_succeed(tuner_->init(&tuner_context_, communicator, static_cast<std::size_t>(ranks), 1,
                                  log, &domains, &constants));
    if (profiler_ != nullptr)
        must_succeed(profiler_->init(&profiler_context_, communicator, &mask_, nullptr, 1, ranks,
                                     rank, log));
}

Plugins::~Plugins() {
    if (tuner_ != nullptr) tuner_->finalize(tuner_context_);
    if (profiler_ != nullptr) profiler_->finalize(profiler_context_);
}

Plugins::Choice Plugins::choose(const Described& call) const {
    float costs[algorithms][protocols];
    for (int a = 0; a < algorithms; ++a)
        for (int p = 0; p < protocols; ++p) {
            const auto is_excluded = [&](const Selection& by) {
                return by.excluded[static_cast<std::size_t>(a)][static_cast<std::size_t>(p)];
            };
            costs[a][p] = is_excluded(of_environment_) || is_excluded(call.selection)
                              ? -1
                              : cost_of(call, a, p);
        }
    int channels = 0;
    if (tuner_ != nullptr && ranks_ > 1)
        must_succeed(tuner_->getCollInfo(tuner_context_, call.function, call.bytes, 1,
                                         reinterpret_cast<float**>(costs), algorithms, protocols, 0,
                                         &channels));
    if (channels == 0) channels = 2;
    const bool is_limited = call.selection.channels != most_channels || channels_ != most_channels;
    if (is_limited) channels = std::min(call.selection.channels, channels_);
    Choice best{-1, -1, std::min(channels, most_channels)};
    for (int a = 0; a < algorithms; ++a)
        for (int p = 0; p < protocols; ++p)
            if (costs[a][p] >= 0 &&
                (best.algorithm < 0 || costs[a][p] < costs[best.algorithm][best.protocol]))
                best.algorithm = a, best.protocol = p;
    return best;
}

bool Plugins::can_launch(const Described& call) const {
    return call.function < 0 || choose(call).algorithm >= 0;
}

void Plugins::log_launch(const Described& call, const Choice& choice) const {
    const char* const file = std::getenv("SIMULATED_NCCL_LOG");
    if (file == nullptr) return;
    std::ofstream(file, std::ios::app) << fmt::format(
        "{} {} {} {} {} {} {}\n", SIMULATED_NCCL_VERSION, rank_, call.name, call.bytes,
        algorithm_names[choice.algorithm], protocol_names[choice.protocol], choice.channels);
}

void* Plugins::launch(const Described& call) {
    constexpr std::uint64_t collective = 2;
    if (call.function < 0) return nullptr;
    const Choice choice = choose(call);
    log_launch(call, choice);
    if (profiler_ == nullptr || (mask_ & static_cast<int>(collective)) == 0) return nullptr;
    nccl_host::EventV5 event{};
    event.type = collective;
    event.coll = {.seqNumber = sequence_++,
                  .func = call.name,
                  .count = call.count,
                  .datatype = call.type,
                  .nChannels = static_cast<std::uint8_t>(choice.channels),
                  .algo = algorithm_names[choice.algorithm],
                  .proto = protocol_names[choice.protocol]};
    void* handle = nullptr;
    must_succeed(profiler_->startEvent(profiler_context_, &handle, &event));
    must_succeed(profiler_->stopEvent(handle));
    running_.emplace_back(handle, choice.channels);
    return handle;
}

void Plugins::end(void* handle) {
    constexpr std::uint64_t kernel_channel = 64;
    constexpr int kernel_channel_stop = 22;
    const auto call = std::ranges::find(running_, handle, &std::pair<void*, int>::first);
    if (handle == nullptr || call == running_.end()) return;
    for (int channel = 0; channel < call->second; ++channel) {
        nccl_host::EventV5 event{};
        event.type = kernel_channel;
        event.parentObj = handle;
        event.kernelCh.channelId = static_cast<std::uint8_t>(channel);
        event.kernelCh.pTimer = 1000000;
        void* kernel = nullptr;
        must_succeed(profiler_->startEvent(profiler_context_, &kernel, &event));
        nccl_host::StateArgs stop{.pTimer = 1000000 + 100 * (std::uint64_t(channel) + 1)};
        must_succeed(profiler_->recordEventState(kernel, kernel_channel_stop, &stop));
        must_succeed(profiler_->stopEvent(kernel));
    }
    running_.erase(call);
}

}  // namespace tutti::simulated
