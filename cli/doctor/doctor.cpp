// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/doctor/checks.hpp"
#include "cli/jobs/job.hpp"
#include "cli/options/options.hpp"
#include "cli/options/run_options.hpp"
#include "collectives/world/host_processes.hpp"
#include "collectives/world/peer_memory.hpp"
#include "topology/detect/detect.hpp"
#include "topology/detect/sysfs.hpp"
#include "topology/detect/ucx_resources.hpp"
#include "topology/machine/core_of_cpu.hpp"
#include "topology/machine/printable.hpp"

namespace tutti {
namespace {

using nlohmann::json;

struct DoctorOptions {
    bool all = false, as_json = false;
    std::filesystem::path root;
};

// Returns the condition of a machine whose files are in a folder, for one rank on all its cores.
HostCondition condition_in(const std::filesystem::path& root) {
    HostCondition on{.facts = host_facts(root),
                     .settings = host_settings(root),
                     .host = detect_host_in(root),
                     .environment = environment_of_process()};
    CoreSet all(on.host.cores.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
    on.cores_of_ranks = {all};
    on.facts.name = on.host.name.empty() ? root.string() : on.host.name;
    // These would be those of the file system that has the folder.
    on.settings.shared_memory = on.settings.free_shared_memory = std::nullopt;
    return on;
}

// Returns the condition of this rank's host; only the first rank of a host inspects it, and the
// others return nothing. Collective.
std::optional<HostCondition> condition_of_host(World& world) {
    const auto cpus = usable_cpus_of_ranks(world);
    const auto copying_refused = peer_memory_refuses(world),
               sharing_refused = shared_memory_refuses(world);
    if (!world.is_leader()) return std::nullopt;
    const UcxResources ucx = ucx_resources();
    HostCondition on{.facts = host_facts(),
                     .settings = host_settings(),
                     .host = detect_host(),
                     .environment = environment_of_process(),
                     .has_other_hosts = !world.one_host(),
                     .was_tried = true,
                     .copying_refused = copying_refused,
                     .sharing_refused = sharing_refused,
                     .ucx_transports = ucx.transports,
                     .why_no_ucx = ucx.why_none};
    const CoreOfCpu core_of_cpu(on.host.cores);
    for (const Rank rank : world.ranks_of_host())
        on.cores_of_ranks.push_back(core_of_cpu.of(sysfs::parse_list(at(cpus, rank))));
    return on;
}

json answers_of(const HostCondition& on) {
    json answers = json::array();
    for (const HostCheck& check : checks()) {
        const auto answer = check.look(on);
        if (!answer) continue;
        answers.push_back({{"check", check.name}, {"seen", printable(answer->seen)}});
        if (!answer->cure.empty()) answers.back()["cure"] = printable(answer->cure);
    }
    return {{"host", printable(on.facts.name)}, {"ranks", on.ranks()}, {"answers", answers}};
}

// Prints equal answers of several hosts once.
void print(const std::vector<json>& hosts, bool all) {
    std::vector<std::pair<json, std::vector<std::string>>> answers;
    int ranks = 0;
    for (const json& host : hosts) {
        ranks += host.at("ranks").get<int>();
        for (const json& answer : host.at("answers")) {
            const auto known =
                std::ranges::find(answers, answer, [](const auto& one) { return one.first; });
            const std::string name = host.at("host");
            if (known == answers.end())
                answers.push_back({answer, {name}});
            else
                known->second.push_back(name);
        }
    }
    int cures = 0;
    for (const auto& [answer, names] : answers) {
        const bool is_fine = !answer.contains("cure");
        if (is_fine && !all) continue;
        const std::string where =
            hosts.size() > 1 ? fmt::format(" ({})", fmt::join(names, ", ")) : "";
        fmt::print("{} {}{}: {}\n", is_fine ? " " : "!", answer.at("check").get<std::string>(),
                   where, answer.at("seen").get<std::string>());
        if (is_fine) continue;
        fmt::print("    fix: {}\n", answer.at("cure").get<std::string>());
        ++cures;
    }
    fmt::print("# {}, {}: {} to change, {} fine{}\n", counted(ranks, "rank"),
               counted(int_size(hosts), "host"), counted(cures, "setting"),
               answers.size() - as_size(cures), all ? "" : " (--all prints them)");
}

Exit tell(const std::vector<json>& hosts, const DoctorOptions& options) {
    if (options.as_json)
        fmt::print("{}\n", json(hosts).dump(2));
    else
        print(hosts, options.all);
    for (const json& host : hosts)
        for (const json& answer : host.at("answers"))
            if (answer.contains("cure")) return Exit::regression;
    return Exit::ok;
}

}  // namespace

Exit run_doctor(const Arguments& arguments) {
    DoctorOptions options;
    CLI::App app{
        "Looks for settings that make communication slow: of the host, the launcher, MPI, UCX and "
        "NCCL. "
        "Says what to change. Under mpirun, looks at all hosts and at the binding of the ranks. "
        "Exit "
        "code 1 if there is something to change.",
        "tutti doctor"};
    app.add_flag("--all", options.all, "Print all settings, also those that need no change");
    app.add_flag("--json", options.as_json, "JSON output, with all answers");
    app.add_option("--root", options.root,
                   "Folder with a copy of another machine's /proc and /sys to check (default: this "
                   "machine). Limits and environment are those of this process")
        ->type_name("FOLDER");
    add_rendezvous(OptionGroup(app, "Ranks"));
    if (parse_or_help(app, arguments)) return Exit::ok;
    if (!options.root.empty()) return tell({answers_of(condition_in(options.root))}, options);
    return run_ranks({}, [&](World& world) {
        const auto condition = condition_of_host(world);
        const std::string mine = condition ? answers_of(*condition).dump() : "";
        std::vector<json> hosts;
        for (const std::string& text : gather_all_texts(world, mine))
            if (!text.empty()) hosts.push_back(json::parse(text));
        return world.is_first() ? tell(hosts, options) : Exit::ok;
    });
}

}  // namespace tutti
