// SPDX-License-Identifier: Apache-2.0
// The tuner that NCCL loads (NCCL_TUNER_PLUGIN): chooses algorithm, protocol and channels by a
// tuning table. An error would fail the user's communicator or collective, so every problem becomes
// a line in NCCL's log, and NCCL chooses by itself.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "autotune/table/table_json.hpp"
#include "base/hashes.hpp"
#include "library/nccl/forced_choice.hpp"
#include "library/nccl/nccl_abi.hpp"
#include "library/nccl/tuner_choices.hpp"

namespace tutti {
namespace {

constexpr const char* plugin_name = "tutti";

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

void say(nccl::Logger logger, int level, const std::string& text) {
    if (logger != nullptr)
        logger(level, nccl::subsystem_tuning, "tutti", 0, "tutti: %s", text.c_str());
}

/// A communicator of NCCL.
struct TunedCommunicator {
    NcclRanks ranks;
    std::optional<TunerChoices> choices;  ///< none: NCCL chooses
};

void read_forced_choice(nccl::Logger logger) {
    const std::string text = variable("TUTTI_NCCL_FORCE");
    if (text.empty() || forced_choice().is_by_program) return;
    try {
        forced_choice().choice = parse_nccl_choice(text);
        say(logger, nccl::level_info, "TUTTI_NCCL_FORCE: all calls use " + text);
    } catch (const std::exception& error) {
        say(logger, nccl::level_warning,
            fmt::format("TUTTI_NCCL_FORCE is ignored: {}", error.what()));
    }
}

void read_table_of_tuner(TunedCommunicator& communicator, nccl::Logger logger) {
    const std::string file = variable("TUTTI_NCCL_TABLE");
    if (file.empty()) {
        say(logger, nccl::level_info, "TUTTI_NCCL_TABLE is not set; NCCL chooses its algorithms");
        return;
    }
    const auto [ranks, hosts] = communicator.ranks;
    try {
        const Table table = read_choices(file);
        const TunerChoices& choices = communicator.choices.emplace(table, communicator.ranks,
                                                                   variable("TUTTI_NCCL_TOPOLOGY"));
        std::string left;
        if (!choices.left_to_nccl().empty())
            left = fmt::format("; not algorithms of NCCL, which chooses there: {}",
                               fmt::join(choices.left_to_nccl(), " "));
        // Ranks with different tables would hang: the hash shows whether they are the same.
        say(logger, nccl::level_info,
            fmt::format("table '{}' ({:.12}) chooses for {} ranks on {} hosts: {}{}", file,
                        sha256(to_json(table)), ranks, hosts, choices.covered(), left));
    } catch (const std::exception& error) {
        say(logger, nccl::level_warning,
            fmt::format("TUTTI_NCCL_TABLE '{}' is not used for {} ranks on {} hosts, where NCCL "
                        "chooses; run 'tutti tune' with such ranks ({})",
                        file, ranks, hosts, error.what()));
    }
}

int open_tuner(std::size_t ranks, std::size_t hosts, nccl::Logger logger, void** context) noexcept {
    *context = nullptr;
    try {
        auto communicator = std::make_unique<TunedCommunicator>();
        communicator->ranks = {static_cast<int>(ranks), static_cast<int>(hosts)};
        read_forced_choice(logger);
        read_table_of_tuner(*communicator, logger);
        *context = communicator.release();
    } catch (const std::exception&) {  // out of memory: NCCL chooses
    }
    return nccl::success;
}

int close_tuner(void* context) noexcept {
    delete static_cast<TunedCommunicator*>(context);
    return nccl::success;
}

std::optional<Collective> collective_of(int function) {
    constexpr Collective by_number[] = {Collective::broadcast, Collective::reduce,
                                        Collective::all_gather, Collective::reduce_scatter,
                                        Collective::all_reduce};
    if (function < 0 || function >= static_cast<int>(std::size(by_number))) return std::nullopt;
    return by_number[function];
}

NcclChoice choice_for(const TunedCommunicator& communicator, int function, std::size_t bytes) {
    if (NcclChoice forced = forced_choice().choice; !forced.is_default()) {
        if (!limits_channels(forced, communicator.ranks.hosts)) forced.channels = 0;
        return forced;
    }
    const auto collective = collective_of(function);
    if (!communicator.choices || !collective) return {};
    return communicator.choices->at(*collective, {static_cast<std::int64_t>(bytes)});
}

// The costs are an array with a row for each algorithm, which NCCL passes as float**.
int choose(void* context, int function, std::size_t bytes, float** costs, int algorithms,
           int protocols, int* channels) noexcept {
    if (context == nullptr || costs == nullptr || algorithms < 0 || protocols < 0)
        return nccl::success;
    const NcclChoice choice =
        choice_for(*static_cast<const TunedCommunicator*>(context), function, bytes);
    if (choice.is_default()) return nccl::success;
    const auto size = static_cast<std::size_t>(algorithms) * static_cast<std::size_t>(protocols);
    const CostTable table{{reinterpret_cast<float*>(costs), size}, protocols};
    if (!table.prefer(choice)) {
        ++forced_choice().refused;
        return nccl::success;
    }
    ++forced_choice().chosen;
    // 0 leaves the number to NCCL, which has set it to 0.
    if (choice.channels != 0 && channels != nullptr) *channels = choice.channels;
    return nccl::success;
}

int choose_v3(void* context, int function, std::size_t bytes, int, float** costs, int algorithms,
              int protocols, int* channels) {
    return choose(context, function, bytes, costs, algorithms, protocols, channels);
}

int choose_v4(void* context, int function, std::size_t bytes, int, float** costs, int algorithms,
              int protocols, int, int* channels) {
    return choose(context, function, bytes, costs, algorithms, protocols, channels);
}

int open_tuner_v5(void** context, std::uint64_t, std::size_t ranks, std::size_t hosts,
                  nccl::Logger logger, void*, void*) {
    return open_tuner(ranks, hosts, logger, context);
}

constexpr nccl::TunerV5 tuner_v5{plugin_name, open_tuner_v5, choose_v4, close_tuner};

}  // namespace
}  // namespace tutti

// NCCL takes the highest version that it knows.
#pragma GCC visibility push(default)
extern "C" {
extern const tutti::nccl::TunerV3 ncclTunerPlugin_v3;
extern const tutti::nccl::TunerV4 ncclTunerPlugin_v4;
extern const tutti::nccl::TunerV5 ncclTunerPlugin_v5;
extern const tutti::nccl::TunerV6 ncclTunerPlugin_v6, ncclTunerPlugin_v7;
const tutti::nccl::TunerV3 ncclTunerPlugin_v3{tutti::plugin_name, tutti::open_tuner,
                                              tutti::choose_v3, tutti::close_tuner};
const tutti::nccl::TunerV4 ncclTunerPlugin_v4{tutti::plugin_name, tutti::open_tuner,
                                              tutti::choose_v4, tutti::close_tuner};
const tutti::nccl::TunerV5 ncclTunerPlugin_v5 = tutti::tuner_v5;
const tutti::nccl::TunerV6 ncclTunerPlugin_v6{tutti::tuner_v5, nullptr};
const tutti::nccl::TunerV6 ncclTunerPlugin_v7{tutti::tuner_v5, nullptr};
}
#pragma GCC visibility pop
