// SPDX-License-Identifier: Apache-2.0
#include "autotune/tuner/known_machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "autotune/choice/subject.hpp"
#include "autotune/model/calibrate.hpp"
#include "autotune/model/model_json.hpp"
#include "autotune/table/table_json.hpp"
#include "autotune/tuner/calibration.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "results/records/record.hpp"
#include "topology/detect/detect.hpp"
#include "topology/machine/fingerprint.hpp"
#include "workloads/limits/limits.hpp"
#include "workloads/limits/limits_table.hpp"
#include "workloads/limits/network_limits.hpp"
#include "workloads/limits/rank_team.hpp"

namespace tutti {

std::string describe_taken(double share) {
    return fmt::format("other programs used {:.0f} % of the cores", 100 * share);
}

std::string keep_for_later(Limits limits) {
    const auto path = limits_path(limits.topo_sha256);
    if (!path) return "not stored: neither XDG_CACHE_HOME nor HOME is set";
    limits.network.reset();
    std::optional<Limits> before;
    if (std::filesystem::exists(*path)) try {
            before = read_limits(*path);
        } catch (const Error&) {  // an unreadable file is replaced
        }
    const auto best = limits_to_keep(limits, before);
    if (!best) return "not stored; run 'tutti limits' on an idle machine, or use --keep-anyway";
    keep_limits(*best, *path);
    return fmt::format(
        "stored in {}{}", path->string(),
        before ? ", with better values of earlier runs (remove the file to start again)" : "");
}

namespace {

bool is_of(const CostModel& model, const std::string& fingerprint) {
    return model.parameters().machine.fingerprint == fingerprint;
}

// Returns the stored model, or else the table's. An unreadable file counts as none.
std::optional<CostModel> known_model(const std::string& fingerprint,
                                     const std::optional<CostModel>& of_table) {
    try {
        if (auto stored = stored_model(fingerprint)) return stored;
    } catch (const Error&) {
    }
    return of_table && is_of(*of_table, fingerprint) ? of_table : std::nullopt;
}

std::string describe(const ModelComparison& both, bool keeps_stored) {
    const bool is_because_of_noise = keeps_stored && !both.stored_is_better();
    return fmt::format(
        "# cost model: the median error on {} held-out times is {:.0f} % for the new model and "
        "{:.0f} % for the stored one: using the {} one{}\n",
        both.points, 100 * both.new_error, 100 * both.stored_error, keeps_stored ? "stored" : "new",
        is_because_of_noise ? ", because other programs used the cores meanwhile" : "");
}

}  // namespace

std::string keep_better_model(Calibration& calibration, const ModelledMachine& machine,
                              const std::optional<CostModel>& of_table) {
    const bool was_disturbed = is_disturbed(calibration.taken);
    std::string lines;
    if (const auto stored = known_model(machine.fingerprint, of_table)) {
        const ModelComparison both = compare_models(calibration.observations, machine, *stored);
        const bool keeps_stored = both.points > 0 && (was_disturbed || both.stored_is_better());
        if (both.points > 0) lines = describe(both, keeps_stored);
        calibration.model =
            keeps_stored ? merged(calibration.model, *stored) : merged(*stored, calibration.model);
    }
    if (was_disturbed)
        return lines + fmt::format(
                           "# {} during the calibration: the model is not stored for other "
                           "commands (--keep-anyway stores it)\n",
                           describe_taken(calibration.taken));
    if (const auto path = model_path(machine.fingerprint)) try {
            keep_model(calibration.model, *path);
        } catch (const Error& error) {  // the table has it in any case
            lines += fmt::format("# the model was not stored: {}\n", error.what());
        }
    return lines;
}

namespace {

constexpr double seconds_to_measure = 4;

// Returns the stored limits of this host, if they cover this many cores.
std::optional<Limits> limits_in_file(const std::filesystem::path& path, const std::string& host,
                                     int cores, std::vector<std::string>& notes) {
    if (!std::filesystem::exists(path)) return std::nullopt;
    try {
        Limits limits = read_limits(path);
        limits.network.reset();
        if (are_for(limits, host, cores)) return limits;
        throw Error(
            fmt::format("'{}' has no limits of this host with {} cores", path.string(), cores));
    } catch (const Error& error) {
        notes.push_back(fmt::format("{}: measuring again", error.what()));
    }
    return std::nullopt;
}

Limits measured_now(World& world, std::vector<std::string>& notes, const Announce& announce) {
    if (world.is_first())
        announce(
            fmt::format("measuring the limits of this machine takes about {:g} s (--limits none "
                        "skips it)",
                        seconds_to_measure));
    const std::int64_t began_ns = now_ns();
    Limits limits = measure_limits(world, seconds_to_measure);
    notes.push_back(fmt::format("limits of this machine: measured now on {} cores, in {:.1f} s",
                                limits.cores, seconds_since(began_ns)));
    if (is_disturbed(limits.taken)) notes.back() += ", while " + describe_taken(limits.taken);
    return limits;
}

// Continues if the folder is not writable.
std::string kept_if_possible(const Limits& limits) {
    try {
        return keep_for_later(limits);
    } catch (const Error& error) {
        return error.what();
    }
}

Limits measured_and_kept(World& world, std::vector<std::string>& notes, const Announce& announce) {
    Limits limits = measured_now(world, notes, announce);
    if (world.is_first()) notes.back() += "; " + kept_if_possible(limits);
    return limits;
}

Limits stored_limits(World& world, std::vector<std::string>& notes, const Announce& announce) {
    const int cores = RankTeam::members_of(world);
    const std::string host = fingerprint(detect_host());
    const auto path = limits_path(host);
    std::optional<Limits> found;
    if (world.is_first() && path) found = limits_in_file(*path, host, cores, notes);
    const std::string of_rank0 = gather_all_texts(world, found ? to_json_line(*found) : "")[0];
    if (!of_rank0.empty()) {
        Limits limits = std::get<Limits>(parse_json_line(of_rank0));
        if (found)
            notes.push_back(fmt::format("limits of this machine: {} cores, measured {}, from {}",
                                        limits.cores, limits.t, path->string()));
        return limits;
    }
    return measured_and_kept(world, notes, announce);
}

// With more hosts, not all pairs are measured.
double seconds_for_network(const World& world) {
    return 0.75 * static_cast<double>(std::min<std::size_t>(world.hosts().nodes().size(), 8));
}

Limits with_note_of_network(Limits limits, std::vector<std::string>& notes) {
    if (limits.network) notes.push_back(in_a_line(*limits.network));
    return limits;
}

// Continues without limits if the machine cannot be measured.
std::optional<Limits> limits_of_hosts_if_possible(
    World& world, std::vector<std::string>& notes,
    const std::function<Limits(World&)>& of_first_host) {
    try {
        return with_note_of_network(
            limits_of_hosts(world, of_first_host, seconds_to_measure, seconds_for_network(world)),
            notes);
    } catch (const Error& error) {
        if (error.code() != Exit::usage) throw;  // a rank has failed or is late
        notes.push_back(fmt::format("no limits to compare with: {}", error.what()));
        return std::nullopt;
    }
}

// Returns why the limits of a file do not fit these hosts. The name of a single host is not
// compared.
std::optional<std::string> misfit(World& world, const Limits& limits) {
    if (world.one_host()) return std::nullopt;
    if (!limits.network) return "contains no network; run 'tutti limits' on these hosts";
    const auto names = names_of_hosts(world);
    if (limits.network->hosts == names) return std::nullopt;
    return fmt::format("belongs to hosts {}, not {}", fmt::join(limits.network->hosts, " "),
                       fmt::join(names, " "));
}

// Throws the error of the first rank on all ranks. Collective.
void throw_on_all(World& world, const std::string& refusal_of_first) {
    const std::string refusal = gather_all_texts(world, refusal_of_first)[0];
    if (!refusal.empty()) throw Error(refusal);
}

// Reads the file on the first rank: other hosts may not have it.
Limits limits_in_file(World& world, const std::string& file) {
    std::string text, refusal;
    if (world.is_first()) try {
            if (!std::filesystem::exists(file))
                throw Error(
                    "--limits '" + file +
                    "' does not exist; use stored, measure, none or a file of 'tutti limits'");
            text = to_json_line(read_limits(file));
        } catch (const Error& error) {
            refusal = error.what();
        }
    throw_on_all(world, refusal);
    return std::get<Limits>(parse_json_line(gather_all_texts(world, text)[0]));
}

// A model and its file.
struct FoundModel {
    CostModel model;
    std::string file;
};

std::optional<FoundModel> model_in_table(const std::string& file) {
    const Table table = read_table(file);
    if (table.model.empty()) return std::nullopt;
    return FoundModel{model_from_json(table.model, file), file};
}

FoundModel model_in_file(const std::string& file) {
    if (!std::filesystem::exists(file))
        throw Error(fmt::format("--model '{}' does not exist; use stored, none or a file", file));
    try {
        return {read_model(file), file};
    } catch (const Error& as_model) {
        try {
            if (auto found = model_in_table(file)) return *found;
        } catch (const Error&) {  // neither: the first error is reported
        }
        throw as_model;
    }
}

// Finds the model of these hosts in the table, or else the stored one. A damaged file counts as
// none.
std::optional<FoundModel> model_of(const std::string& topology, const std::string& table_file) {
    try {
        if (std::filesystem::exists(table_file))
            if (auto found = model_in_table(table_file); found && is_of(found->model, topology))
                return found;
        if (auto stored = stored_model(topology))
            return FoundModel{*std::move(stored), model_path(topology)->string()};
    } catch (const Error&) {
    }
    return std::nullopt;
}

}  // namespace

std::optional<Limits> choose_limits(World& world, const std::string& typed,
                                    std::vector<std::string>& notes, const Announce& announce) {
    // Uses the first rank's choice, as launchers do not pass TUTTI_LIMITS to other hosts.
    const std::string choice = gather_all_texts(world, typed)[0];
    if (choice == "none") return std::nullopt;
    if (choice == "measure" || choice == "stored")
        return limits_of_hosts_if_possible(world, notes, [&](World& host) {
            return choice == "measure" ? measured_now(host, notes, announce)
                                       : stored_limits(host, notes, announce);
        });
    const Limits limits = limits_in_file(world, choice);
    if (const auto reason = misfit(world, limits)) {
        notes.push_back(fmt::format("no limits to compare with: {} {}", choice, *reason));
        return std::nullopt;
    }
    notes.push_back(
        fmt::format("limits: {} cores, measured {}, from {}", limits.cores, limits.t, choice));
    return with_note_of_network(limits, notes);
}

std::optional<Limits> limits_again(World& world, const std::string& typed, const Limits& used,
                                   std::vector<std::string>& notes, const Announce& announce) {
    const std::string choice = gather_all_texts(world, typed)[0];
    if (choice != "stored" && choice != "measure") return std::nullopt;
    const auto now = limits_of_hosts_if_possible(world, notes, [&](World& host) {
        return choice == "measure" ? measured_now(host, notes, announce)
                                   : measured_and_kept(host, notes, announce);
    });
    return now ? std::optional(best_of(*now, used)) : std::nullopt;
}

std::optional<CostModel> choose_model(World& world, const std::string& choice,
                                      const std::string& table_file,
                                      std::vector<std::string>& notes) {
    if (choice == "none") return std::nullopt;
    const std::string topology = job_shape_of(world).topology;
    std::optional<FoundModel> found;
    std::string refusal;
    if (world.is_first()) try {
            found = choice == "stored" ? model_of(topology, table_file) : model_in_file(choice);
        } catch (const Error& error) {
            refusal = error.what();
        }
    throw_on_all(world, refusal);
    if (found)
        notes.push_back(fmt::format(
            "model: calibrated {} on {} ranks{}, from {}", found->model.parameters().date,
            fmt::join(found->model.parameters().ranks, " and "),
            is_of(found->model, topology) ? "" : " of another machine", found->file));
    return model_of_first(world, found ? std::optional(found->model) : std::nullopt);
}

}  // namespace tutti
