// SPDX-License-Identifier: Apache-2.0
#include "results/stored/fingerprint.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "base/hashes.hpp"

namespace tutti {
namespace {

// Options of bench that change what a time means.
constexpr const char* fields_of_plan[] = {"sync", "pin"};

using Fields = std::map<std::string, std::string>;

// The values of all, each once.
template <class List, class Text>
std::string together(const List& list, Text&& text) {
    std::set<std::string> values;
    for (const auto& one : list) values.insert(text(one));
    return fmt::format("{}", fmt::join(values, ", "));
}

void add_hosts(Fields& fields, const std::vector<HostRecord>& hosts) {
    const auto add = [&](const char* name, auto&& text) { fields[name] = together(hosts, text); };
    add("host", [](const HostRecord& host) { return host.name; });
    add("cpu_model", [](const HostRecord& host) { return host.cpu_model; });
    add("cores", [](const HostRecord& host) { return std::to_string(host.cores); });
    add("cgroup_cpus", [](const HostRecord& host) { return fmt::format("{}", host.cgroup_cpus); });
    add("smt", [](const HostRecord& host) { return host.smt; });
    add("governor", [](const HostRecord& host) { return host.governor; });
    add("turbo", [](const HostRecord& host) { return host.turbo; });
    add("kernel", [](const HostRecord& host) { return host.kernel; });
    add("virt", [](const HostRecord& host) { return host.virt; });
}

Fields fields_of(const Launch& launch, const Session& session) {
    Fields fields;
    add_hosts(fields, launch.hosts);
    fields["topology"] = launch.topo_sha256.substr(0, 12);
    fields["nranks"] = std::to_string(launch.nranks);
    fields["ppn"] = std::to_string(launch.ppn);
    fields["mpi"] = launch.mpi               ? launch.mpi->vendor + " " + launch.mpi->version
                    : is_one_process(launch) ? "none: threads"
                                             : "none: processes";
    if (launch.ucx) fields["ucx"] = launch.ucx->version;
    if (launch.nccl) fields["nccl"] = launch.nccl->version;
    if (launch.cuda)
        fields["cuda"] = fmt::format("{}, driver {}", launch.cuda->runtime, launch.cuda->driver);
    fields["gpus"] = fmt::format("{} {}", launch.gpus.size(),
                                 together(launch.gpus, [](const Gpu& gpu) { return gpu.model; }));
    fields["build_type"] = session.tool.build_type;
    for (const char* name : fields_of_plan)
        if (const auto found = session.plan.find(name); found != session.plan.end())
            fields[name] = found->second;
    for (const auto& [name, value] : variables_of(launch)) fields[name] = value;
    return fields;
}

}  // namespace

bool decides_performance(std::string_view variable) {
    return !variable.starts_with("SLURM_JOB") && !variable.starts_with("TUTTI_");
}

TextByName variables_of(const Launch& launch) {
    TextByName variables = launch.env;
    std::erase_if(variables, [](const auto& one) { return !decides_performance(one.first); });
    return variables;
}

std::string machine_of(const Launch& launch) {
    std::vector<std::string> names;
    for (const HostRecord& host : launch.hosts) names.push_back(host.name);
    return (launch.topo_sha256.empty() ? sha256(fmt::format("{}", fmt::join(names, " ")))
                                       : launch.topo_sha256)
        .substr(0, 8);
}

// Stored names of series depend on this text: the JSON of Python, which has blanks and ASCII only.
std::string hash_of(const Json& settings) {
    const auto text_of = [](const Json& json) {
        return json.dump(-1, ' ', true, Json::error_handler_t::replace);
    };
    std::vector<std::string> fields;
    for (const auto& [name, value] : settings.items())
        fields.push_back(text_of(name) + ": " + text_of(value));
    return sha256(fmt::format("{{{}}}", fmt::join(fields, ", "))).substr(0, 6);
}

Fingerprint fingerprint_of(const Results& results) {
    std::set<std::tuple<std::string, int>> measured;
    for (const Point& point : results.points) measured.emplace(point.session, point.launch);
    for (const TrainingStep& step : results.steps) measured.emplace(step.session, step.launch);
    std::map<std::string, const Session*> sessions;
    for (const Session& session : results.sessions) sessions[session.id] = &session;
    std::vector<Fields> all;
    std::set<std::string> names;
    for (const Launch& launch : results.launches) {
        const auto session = sessions.find(launch.session);
        if (session == sessions.end() || !measured.contains({launch.session, launch.launch}))
            continue;
        for (const auto& [name, value] : all.emplace_back(fields_of(launch, *session->second)))
            names.insert(name);
    }
    Fingerprint fingerprint;
    for (const Fields& fields : all)
        for (const std::string& name : names) {
            const auto found = fields.find(name);
            const bool says = found != fields.end() && !found->second.empty();
            fingerprint[name].insert(says ? found->second : "-");
        }
    return fingerprint;
}

std::string in_words(const Fingerprint& fingerprint, const std::string& field) {
    const auto found = fingerprint.find(field);
    return found == fingerprint.end() ? "-" : fmt::format("{}", fmt::join(found->second, " and "));
}

std::vector<FieldThatDiffers> differences(const Fingerprint& a, const Fingerprint& b) {
    std::set<std::string> names;
    for (const Fingerprint* one : {&a, &b})
        for (const auto& [name, values] : *one) names.insert(name);
    std::vector<FieldThatDiffers> different;
    for (const std::string& name : names) {
        const FieldThatDiffers field{name, in_words(a, name), in_words(b, name)};
        const bool is_one = !a.contains(name) || a.at(name).size() == 1;
        if (field.a != field.b || !is_one) different.push_back(field);
    }
    return different;
}

}  // namespace tutti
