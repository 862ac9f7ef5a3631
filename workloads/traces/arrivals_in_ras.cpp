// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <tuple>

#include "workloads/traces/arrival_log.hpp"

// Snapshots of a running job by `ncclras -f json`: for each communicator the ranks, how many
// collectives of each kind they have begun, and the ranks that did not answer.
namespace tutti {
namespace {

// A process may have several GPUs.
using GpuOfJob = std::tuple<std::string, std::int64_t, std::int64_t>;  // host, process, device

// RAS knows nothing of some processes but their rank of a communicator. They have its name as
// their host, and the rank as their device.
constexpr std::int64_t unknown_process = -1;

bool is_known(const GpuOfJob& gpu) { return std::get<1>(gpu) != unknown_process; }

struct SnapshotRank {
    Fields place;
    int index = 0;  // in its communicator
    GpuOfJob gpu;
    std::string fault;  // empty: it has answered
};

struct SnapshotCommunicator {
    std::string id;
    int size = 0;
    std::vector<SnapshotRank> ranks;  // those that are listed
};

bool is_true(const Fields& of, const char* name) {
    const bool* const value = of.has(name) ? std::get_if<bool>(&of.at(name).value) : nullptr;
    return value != nullptr && *value;
}

std::string fault_of(const Fields& missing) {
    const Fields status = missing.has("status") ? missing.object("status") : missing;
    if (is_true(status, "considered_dead")) return "RAS reports it dead";
    return is_true(status, "unresponsive") ? "does not answer RAS" : "RAS reports it missing";
}

GpuOfJob gpu_of(const Fields& rank, const std::string& communicator) {
    const std::int64_t process = rank.number("pid", -1);
    if (process < 0) return {communicator, unknown_process, rank.number("rank")};
    return {rank.text("host"), process, rank.number("nvml_dev", 0)};
}

SnapshotCommunicator communicator_in(const Fields& of) {
    SnapshotCommunicator communicator{.id = of.text("hash") + " " + of.text("secondary_hash")};
    const std::int64_t size = of.number("size");
    if (size < 1 || size > most_ranks_of_files)
        of.refuse(fmt::format("a communicator of {} ranks is impossible", size));
    communicator.size = static_cast<int>(size);
    std::set<std::int64_t> listed;
    const auto add = [&](const Fields& rank, const std::string& fault) {
        const std::int64_t index = rank.number("rank");
        if (index < 0 || index >= size)
            rank.refuse(fmt::format("rank {} of {} ranks is impossible", index, size));
        if (!listed.insert(index).second)
            rank.refuse(fmt::format("rank {} is listed twice", index));
        communicator.ranks.push_back(
            {rank, static_cast<int>(index), gpu_of(rank, communicator.id), fault});
    };
    for (const Fields& rank : of.objects("ranks")) add(rank, "");
    for (const Fields& rank : of.objects("missing_ranks")) add(rank, fault_of(rank));
    return communicator;
}

// Numbers the GPUs as the largest communicator does if it has all known ones, else by host and
// process. An unknown process of another communicator may be any, so it gets a number after these.
std::map<GpuOfJob, int> ranks_in_job(const std::vector<SnapshotCommunicator>& communicators) {
    const auto& largest = *std::ranges::max_element(
        communicators, {}, [](const SnapshotCommunicator& one) { return one.ranks.size(); });
    std::set<GpuOfJob> known, unknown;
    for (const SnapshotCommunicator& one : communicators)
        for (const SnapshotRank& rank : one.ranks)
            (is_known(rank.gpu) ? known : unknown).insert(rank.gpu);
    std::map<GpuOfJob, int> numbers;
    for (const SnapshotRank& rank : largest.ranks)
        if (!numbers.try_emplace(rank.gpu, rank.index).second)
            rank.place.refuse("two ranks of a communicator are the same GPU of a process");
    int next = largest.size;
    if (!std::ranges::all_of(known, [&](const GpuOfJob& gpu) { return numbers.contains(gpu); })) {
        numbers.clear();
        next = 0;
        for (const GpuOfJob& gpu : known) numbers[gpu] = next++;
    }
    for (const GpuOfJob& gpu : unknown)
        if (numbers.try_emplace(gpu, next).second) ++next;
    return numbers;
}

std::string name_of(const GpuOfJob& gpu) {
    const auto& [host, process, device] = gpu;
    return is_known(gpu) ? fmt::format("{}:{}", host, process)
                         : fmt::format("unknown process, rank {} of communicator {}", device, host);
}

// NCCL 2.28 writes no comma between "nvml_dev": 0 and "status" of missing ranks.
std::string with_missing_commas(std::string_view text) {
    constexpr std::string_view before = "\"nvml_dev\":", after = "\"status\"";
    std::string repaired;
    while (true) {
        const std::size_t number = std::min(text.find(before), text.size());
        std::size_t end = std::min(number + before.size(), text.size());
        end = std::min(text.find_first_not_of(" -0123456789", end), text.size());
        const std::size_t next = std::min(text.find_first_not_of(" \t\r\n", end), text.size());
        repaired += text.substr(0, end);
        if (next > end && text.substr(next).starts_with(after)) repaired += ',';
        text.remove_prefix(end);
        if (text.empty()) return repaired;
    }
}

}  // namespace

std::optional<JsonValue> document_of_ras(std::string_view text, const Source& source) {
    constexpr std::size_t characters_of_head = 1000;
    if (text.substr(0, characters_of_head).find("\"communicators_count\"") == text.npos)
        return std::nullopt;
    try {
        return parse_json(text, source, 1);
    } catch (const NotJson&) {
        return parse_json(with_missing_commas(text), source, 1);
    }
}

ArrivalLog arrivals_in_ras(const std::vector<RankFile>& files) {
    if (files.size() > 1)
        throw Error(fmt::format("{}: a second snapshot; pass one alone, as it covers all ranks",
                                files[1].source.name()));
    const Fields document(files.front().document, files.front().source);
    std::vector<SnapshotCommunicator> communicators;
    for (const Fields& one : document.objects("communicators"))
        communicators.push_back(communicator_in(one));
    std::erase_if(communicators, [](const auto& one) { return one.ranks.empty(); });
    if (communicators.empty()) document.refuse("no communicator; use ncclras while the job runs");
    const auto numbers = ranks_in_job(communicators);
    ArrivalLog log;
    for (const auto& [gpu, number] : numbers) {
        log.names.resize(std::max(log.names.size(), as_size(number + 1)));
        at(log.names, number) = name_of(gpu);
    }
    for (const SnapshotCommunicator& one : communicators) {
        for (const SnapshotRank& rank : one.ranks) {
            const int number = numbers.at(rank.gpu);
            if (!rank.fault.empty()) log.faults.try_emplace(number, rank.fault);
            if (!rank.fault.empty() || !rank.place.has("collective_counts")) continue;
            const JsonValue& counts = rank.place.at("collective_counts");
            const Fields of = rank.place.child(counts);
            for (const JsonField& count : *counts.object())
                if (is_collective(count.name))
                    log.begun[{one.id, count.name}][number] = of.count(count.name.c_str());
        }
    }
    return log;
}

}  // namespace tutti
