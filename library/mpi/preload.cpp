// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/hashes.hpp"
#include "collectives/transport/messages/mpi.hpp"
#include "collectives/transport/messages/mpi_library.hpp"
#include "library/mpi/ranks.hpp"
#include "library/mpi/types.hpp"

namespace tutti {
namespace {

constexpr std::string_view standard_abi = "MPI's standard ABI";
#ifdef OPEN_MPI
constexpr std::string_view librarys_own = "Open MPI";
#else
constexpr std::string_view librarys_own = "MPICH";
#endif
constexpr std::string_view built_for = is_for_standard_abi ? standard_abi : librarys_own;

const void* base_of(void* function) {
    Dl_info found{};
    return function != nullptr && dladdr(function, &found) != 0 ? found.dli_fbase : nullptr;
}

// Returns whether the MPI library of the program has the standard ABI. A second MPI library may be
// loaded, because this library was linked with it.
bool runs_standard_abi() {
    void* const version = dlsym(RTLD_DEFAULT, "PMPI_Abi_get_version");
    if (version == nullptr || base_of(version) != base_of(dlsym(RTLD_DEFAULT, "PMPI_Comm_rank")))
        return false;
    int major = -1, minor = -1;
    reinterpret_cast<int (*)(int*, int*)>(version)(&major, &minor);
    return major >= 0;
}

// Returns an error if the program uses another MPI library or ABI than this library, because
// handles differ between them.
std::optional<std::string> other_library() {
    const bool is_standard = runs_standard_abi();
    const std::string running = is_standard ? std::string(standard_abi) : mpi_library();
    if (running.starts_with(built_for)) return std::nullopt;
    return fmt::format("this libtutti_mpi is built for {}, but the program uses {}{}", built_for,
                       running,
                       is_standard           ? "; use tutti run --abi"
                       : is_for_standard_abi ? "; use tutti run without --abi"
                                             : "");
}

int number_in(const char* variable) {
    const char* const text = std::getenv(variable);
    return text == nullptr ? -1 : std::atoi(text);
}

// Does not call MPI, which may be a different library.
bool is_first_of_launcher() {
    return number_in("OMPI_COMM_WORLD_RANK") <= 0 && number_in("PMI_RANK") <= 0 &&
           number_in("SLURM_PROCID") <= 0;
}

// Returns an error if ranks may run without this library on other hosts: launchers may start ranks
// there without LD_PRELOAD, and such ranks would never join a call of tutti. They cannot be asked,
// so only the environment is read.
std::optional<std::string> other_hosts() {
    constexpr std::string_view what =
        "the job runs on several hosts; start each rank by tutti run, as in: mpirun -n 8 tutti run "
        "-- ./program";
    constexpr std::array<std::pair<const char*, const char*>, 2> all_and_here{
        {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"}, {"PMI_SIZE", "MPI_LOCALNRANKS"}}};
    for (const auto& [all, here] : all_and_here)
        if (number_in(here) > 0 && number_in(all) > number_in(here)) return std::string(what);
    if (number_in("SLURM_STEP_NUM_NODES") > 1) return std::string(what);
    return std::nullopt;
}

// Reads the settings. Returns an error if they are invalid.
std::optional<std::string> wrong_settings() {
    try {
        preloaded = preload_settings([](const char* name) { return std::getenv(name); });
        return std::nullopt;
    } catch (const Error& error) {
        return error.what();
    }
}

// Launchers pass variables of the first host to the others only if they are asked to. Returns an
// error on all ranks if they differ: ranks would not agree on who does a call. Collective.
std::optional<std::string> settings_of_hosts() {
    auto wrong = wrong_settings();
    const std::string mine = wrong ? "" : described(preloaded);
    const auto hash =
        static_cast<std::int64_t>(fnv1a(std::as_bytes(std::span(mine.data(), mine.size()))) >> 1);
    std::array<std::int64_t, 3> all{hash, -hash, wrong ? 1 : 0};
    maximize_over_ranks(MPI_COMM_WORLD, all);
    if (wrong) return wrong;
    if (all[2] != 0) return "the settings of another rank are invalid";
    if (all[0] == -all[1]) return std::nullopt;
    return "the variables TUTTI_* differ between hosts; use options of tutti run";
}

std::optional<std::string> reason_to_stay_out() {
    if (auto reason = other_library()) return reason;
    use_library_functions();
    auto others = other_hosts();
    const char* const on_all_hosts = std::getenv("TUTTI_ON_ALL_HOSTS");
    if (on_all_hosts != nullptr && *on_all_hosts == '1') {
        job_has_several_hosts = others.has_value();
        return settings_of_hosts();
    }
    if (auto reason = wrong_settings()) return reason;
    return preloaded.chooser == PreloadChoice::off ? std::nullopt : std::move(others);
}

}  // namespace

bool takes_memory_of_gpus() {
    struct Kind {
        const char* query;
        const char* driver;
    };
    for (const auto& [query, driver] : {Kind{"MPIX_Query_cuda_support", "libcuda.so.1"},
                                        Kind{"MPIX_Query_rocm_support", "libamdhip64.so"}}) {
        const auto is_supported = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, query));
        if (is_supported != nullptr && is_supported() == 1 &&
            dlopen(driver, RTLD_LAZY | RTLD_NOLOAD) != nullptr)
            return true;
    }
    return false;
}

void mpi_has_started() {
    // One of the functions that start MPI may call another.
    static std::atomic<bool> has_started = false;
    if (has_started.exchange(true)) return;
    const auto reason = reason_to_stay_out();
    if (!reason) {
        know_mpi_types();
        return begin_taking_calls();
    }
    if (is_first_of_launcher())
        fmt::print(stderr, "tutti: continuing without tutti: {}\n", *reason);
}

void mpi_is_about_to_end() {
    const bool is_taking = kinds_taken != 0;
    end_taking_calls();
    if (is_taking && (preloaded.reports || preloaded.turn_calls > 0)) print_report();
}

}  // namespace tutti
