// SPDX-License-Identifier: Apache-2.0
#include "results/records/launch.hpp"

#include <algorithm>
#include <cctype>

namespace tutti {
namespace {

constexpr std::string_view kept_prefixes[] = {
    "OMPI_", "MPICH_", "MPIR_CVAR_", "UCX_", "NCCL_", "OMP_", "SLURM_JOB", "TUTTI_",
};
constexpr std::string_view kept_names[] = {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
                                           "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_MODULE_LOADING",
                                           "CUDA_LAUNCH_BLOCKING"};
// Variables that launchers pass to their own processes: addresses, folders and numbers of this run.
// They are not settings.
constexpr std::string_view plumbing_prefixes[] = {
    "OMPI_COMM_WORLD_",      "OMPI_MCA_orte_",
    "OMPI_MCA_ess",          "OMPI_MCA_pmix",
    "OMPI_MCA_initial_wdir", "OMPI_MCA_shmem_RUNTIME_QUERY_hint",
    "OMPI_FILE_LOCATION",    "OMPI_ARGV",
    "OMPI_COMMAND",          "OMPI_APP_CTX_NUM_PROCS",
    "OMPI_NUM_APP_CTX",      "OMPI_FIRST_RANKS",
    "OMPI_UNIVERSE_SIZE",    "OMPI_ALLOW_RUN_AS_ROOT",
    "NCCL_COMM_ID",          "NCCL_HOSTID",
};
constexpr std::string_view secret_hints[] = {"TOKEN", "KEY", "SECRET", "PASS"};

}  // namespace

bool is_one_process(const Launch& launch) {
    return std::ranges::all_of(launch.ranks, [&](const RankPlace& place) {
        return place.host == launch.ranks.front().host && place.pid == launch.ranks.front().pid;
    });
}

bool may_be_stored(std::string_view name) {
    std::string upper(name);
    for (char& letter : upper)
        letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    const bool secret = std::ranges::any_of(
        secret_hints, [&](auto hint) { return upper.find(hint) != std::string::npos; });
    const bool wanted =
        std::ranges::find(kept_names, name) != std::end(kept_names) ||
        std::ranges::any_of(kept_prefixes, [&](auto prefix) { return name.starts_with(prefix); });
    const bool plumbing = std::ranges::any_of(
        plumbing_prefixes, [&](auto prefix) { return name.starts_with(prefix); });
    return wanted && !plumbing && !secret;
}

TextByName stored_environment(const char* const* variables) {
    TextByName kept;
    for (; *variables != nullptr; ++variables) {
        const std::string_view variable = *variables;
        const auto equals = variable.find('=');
        if (equals == std::string_view::npos) continue;
        const auto name = variable.substr(0, equals);
        if (may_be_stored(name)) kept.emplace(name, variable.substr(equals + 1));
    }
    return kept;
}

}  // namespace tutti
