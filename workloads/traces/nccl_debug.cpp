// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <tuple>

#include "workloads/traces/arrival_log.hpp"
#include "workloads/traces/nccl_log.hpp"
#include "workloads/traces/ops_builder.hpp"

// Lines that NCCL prints with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,COLL (2.3 to 2.30, and
// RCCL): one when a communicator is created, and one for each call. They name communicators by
// their address in the process.
namespace tutti {
namespace {

constexpr std::string_view debug_mark = " NCCL INFO ";

// JSON lists may hold texts of a log.
bool begins_as_json(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == text.npos || text[begin] == '{') return true;
    const std::size_t next = text.find_first_not_of(" \t\r\n", begin + 1);
    return text[begin] == '[' && next != text.npos &&
           std::string_view("{[\"]").find(text[next]) != std::string_view::npos;
}

// Returns the word after `key`; empty if there is none.
std::string_view word_after(const std::vector<std::string_view>& words, std::string_view key) {
    const auto found = std::ranges::find(words, key);
    return found == words.end() || found + 1 == words.end() ? std::string_view() : *(found + 1);
}

std::optional<std::int64_t> number_after(const std::vector<std::string_view>& words,
                                         std::string_view key) {
    return decimal_number(word_after(words, key));
}

// Collects the fields of an object; remembers if one could not be read.
class LineFields {
public:
    explicit LineFields(int line) : line_(line) {}

    void add(const char* name, std::string_view text) {
        is_complete_ = is_complete_ && !text.empty();
        fields_.push_back({name, {line_, std::string(text)}});
    }
    void add(const char* name, std::optional<std::int64_t> number) {
        is_complete_ = is_complete_ && number;
        fields_.push_back({name, {line_, number.value_or(0)}});
    }
    bool is_complete() const { return is_complete_; }
    JsonValue done() { return {line_, std::move(fields_)}; }

private:
    int line_;
    bool is_complete_ = true;
    JsonValue::Object fields_;
};

// Reads "HOST:PID:THREAD [DEVICE]", after whatever a launcher puts in front of lines.
void add_process(LineFields& fields, std::string_view prefix) {
    const auto words = words_of(prefix);
    std::string_view device = words.empty() ? std::string_view() : words.back();
    if (device.starts_with('[') && device.ends_with(']'))
        device = device.substr(1, device.size() - 2);
    fields.add("device", decimal_number(device));
    const auto parts = split(words.size() < 2 ? "" : words[words.size() - 2], ':');
    if (parts.size() < 3) return fields.add("host", "");
    std::string_view host = parts[parts.size() - 3];
    host.remove_prefix(host.rfind('>') + 1);  // "[1,0]<stdout>"
    fields.add("host", host);
    fields.add("pid", decimal_number(parts[parts.size() - 2]));
}

// "ncclCommInitRank comm 0x5 rank 0 nranks 4 cudaDev 0 ... commId 0x7 - Init COMPLETE". Parts of a
// communicator have the address of their parent, and since 2.27 no number of their own.
void add_communicator(LineFields& fields, const std::vector<std::string_view>& words) {
    fields.add("pointer", word_after(words, "comm"));
    fields.add("rank", number_after(words, "rank"));
    fields.add("ranks", number_after(words, "nranks"));
    if (const auto device = number_after(words, "cudaDev")) fields.add("cuda_device", device);
    if (const auto id = word_after(words, "commId"); !id.empty()) fields.add("id", id);
    if (const auto parent = word_after(words, "parent"); !parent.empty()) {
        fields.add("parent", parent);
        std::string_view count = word_after(words, "splitCount");
        if (count.empty()) count = word_after(words, "childCount");
        fields.add("part", fmt::format("{}/{}", count, word_after(words, "color")));
    }
}

// "AllReduce: opCount 1a sendbuff 0x7 recvbuff 0x7 count 8 datatype 7 op 0 root 0 comm 0x5
// [nranks=4] stream 0x3", and "task 0 globalrank 2" by RCCL.
void add_debug_call(LineFields& fields, const std::vector<std::string_view>& words) {
    constexpr std::string_view before_ranks = "[nranks=";
    fields.add("collective", words.front().substr(0, words.front().find(':')));
    fields.add("number", hexadecimal_number(word_after(words, "opCount")));
    fields.add("count", number_after(words, "count"));
    fields.add("datatype", number_after(words, "datatype"));
    fields.add("root", number_after(words, "root"));
    fields.add("pointer", word_after(words, "comm"));
    std::string_view ranks = word_after(words, word_after(words, "comm"));
    const bool is_whole = ranks.starts_with(before_ranks) && ranks.ends_with(']');
    ranks = is_whole ? ranks.substr(before_ranks.size(), ranks.size() - before_ranks.size() - 1)
                     : std::string_view();
    fields.add("ranks", decimal_number(ranks));
    if (const auto rank = number_after(words, "globalrank")) fields.add("global_rank", rank);
}

// A communicator as one of its ranks knows it, until its address is used again.
struct KnownCommunicator {
    Fields place;
    std::string process;  // "HOST:PID"
    std::int64_t device = 0, ranks = 0;
    std::int64_t rank = -1;                        // -1: not logged
    std::string id;                                // empty: not logged
    std::int64_t global_rank = -1;                 // only RCCL logs it
    std::optional<std::int64_t> last_number = {};  // the last call has it
};

// A process, or one of its GPUs.
using RankOfJob = std::pair<std::string, std::int64_t>;

RankOfJob owner_of(const KnownCommunicator& one) { return {one.process, one.device}; }

class DebugLog {
public:
    void add(const Fields& event) {
        const std::string process = fmt::format("{}:{}", event.text("host"), event.number("pid"));
        event.has("collective") ? add_call(event, process) : add_communicator(event, process);
    }

    NcclLogs done();

private:
    using Address = std::pair<std::string, std::string>;  // process, pointer

    KnownCommunicator* known_at(const Address& address) {
        const auto known = place_of_.find(address);
        return known == place_of_.end() ? nullptr : &known_[known->second];
    }

    KnownCommunicator& add_new(const Fields& event, const Address& address) {
        place_of_[address] = known_.size();
        known_.push_back({.place = event,
                          .process = address.first,
                          .device = event.number("device"),
                          .ranks = event.number("ranks")});
        return known_.back();
    }

    // Each one has up to two lines: Init START and Init COMPLETE.
    void add_communicator(const Fields& event, const std::string& process) {
        const Address address{process, event.text("pointer")};
        std::string id = event.text("id");
        if (id.empty() && event.has("parent"))
            if (const auto* parent = known_at({process, event.text("parent")});
                parent != nullptr && !parent->id.empty())
                id = parent->id + "/" + event.text("part");
        KnownCommunicator* known = known_at(address);
        if (known == nullptr || known->last_number) known = &add_new(event, address);
        known->rank = event.number("rank");
        known->ranks = event.number("ranks");
        known->device = event.number("cuda_device", known->device);
        if (!id.empty()) known->id = id;
    }

    void add_call(const Fields& event, const std::string& process) {
        const Address address{process, event.text("pointer")};
        const std::int64_t number = event.number("number");
        KnownCommunicator* known = known_at(address);
        const bool is_other = known == nullptr || known->ranks != event.number("ranks") ||
                              (known->last_number && number < *known->last_number);
        if (is_other) known = &add_new(event, address);
        known->global_rank = event.number("global_rank", -1);
        known->last_number = number;
        calls_.emplace_back(place_of_.at(address), event);
    }

    std::map<RankOfJob, std::int64_t> numbered_ranks() const;
    void complete_ids();

    std::vector<KnownCommunicator> known_;
    std::map<Address, std::size_t> place_of_;
    std::vector<std::pair<std::size_t, Fields>> calls_;  // place in known_; in the order of the log
};

// Numbers the processes as RCCL does, or in the order of the logs.
std::map<RankOfJob, std::int64_t> DebugLog::numbered_ranks() const {
    std::map<RankOfJob, std::int64_t> ranks;
    std::set<std::int64_t> global;
    for (const KnownCommunicator& one : known_)
        ranks.try_emplace(owner_of(one), static_cast<std::int64_t>(ranks.size()));
    std::map<RankOfJob, std::int64_t> by_rccl;
    for (const KnownCommunicator& one : known_)
        if (one.global_rank >= 0 && by_rccl.try_emplace(owner_of(one), one.global_rank).second)
            global.insert(one.global_rank);
    const bool are_numbered = !ranks.empty() && global.size() == ranks.size() &&
                              by_rccl.size() == ranks.size() &&
                              *global.rbegin() == static_cast<std::int64_t>(ranks.size()) - 1;
    return are_numbered ? by_rccl : ranks;
}

// Communicators without a number are known to be the same if they have all ranks of the job, and
// are created in the same order.
void DebugLog::complete_ids() {
    const auto ranks = numbered_ranks();
    const auto all = static_cast<std::int64_t>(ranks.size());
    std::map<RankOfJob, int> created;
    int unknown = 0;
    for (KnownCommunicator& one : known_) {
        if (!one.id.empty() && one.rank >= 0) continue;
        const bool is_alone = all == 1;
        if (one.ranks == all || is_alone) {
            if (one.rank < 0) one.rank = ranks.at(owner_of(one));
            one.id = fmt::format("communicator {}", ++created[owner_of(one)]);
        } else {
            one.rank = -1;
            one.id = fmt::format("~{}", unknown++);
        }
    }
}

std::string type_of_nccl(std::int64_t number) {
    constexpr std::string_view types[] = {"int8",    "uint8",    "int32",    "uint32",
                                          "int64",   "uint64",   "float16",  "float32",
                                          "float64", "bfloat16", "fp8_e4m3", "fp8_e5m2"};
    return number >= 0 && number < static_cast<std::int64_t>(std::size(types))
               ? std::string(at(types, number))
               : fmt::format("NCCL's number {}", number);
}

LoggedNcclCall logged_call(const Fields& event, const KnownCommunicator& of) {
    LoggedNcclCall call{.place = event,
                        .member = {of.id, of.rank},
                        .name = event.text("collective"),
                        .type = type_of_nccl(event.number("datatype")),
                        .count = event.count("count")};
    const std::int64_t root = event.number("root");
    if (root < 0) event.refuse(fmt::format("root {} is negative", root));
    (is_collective(call.name) ? call.root : call.peer) = root;
    return call;
}

NcclLogs DebugLog::done() {
    complete_ids();
    std::map<std::string, std::set<std::int64_t>> devices;
    for (const KnownCommunicator& one : known_) devices[one.process].insert(one.device);
    const auto process_of = [&](const KnownCommunicator& one) {
        return devices.at(one.process).size() == 1
                   ? one.process
                   : fmt::format("{} GPU {}", one.process, one.device);
    };
    NcclLogs logs;
    for (const KnownCommunicator& one : known_) {
        if (one.rank >= 0)
            add_member(logs, one.place, {one.id, one.rank}, one.ranks, process_of(one));
        else
            logs.sizes[one.id] = one.ranks;
    }
    std::map<std::tuple<RankOfJob, std::string, std::string>, std::int64_t> sequences;
    for (const auto& [place, event] : calls_) {
        const KnownCommunicator& one = known_[place];
        LoggedNcclCall call = logged_call(event, one);
        // NCCL's own number (opCount) differs between ranks: it counts calls that use a proxy.
        call.sequence = sequences[{owner_of(one), one.id, call.name}]++;
        logs.processes[process_of(one)].calls.push_back(std::move(call));
    }
    return logs;
}

NcclLogs read_nccl_debug(const std::vector<RankFile>& files) {
    DebugLog log;
    for (const RankFile& file : files)
        for (const Fields& event : Fields(file.document, file.source).objects("nccl_debug"))
            log.add(event);
    NcclLogs logs = log.done();
    const Fields first(files.front().document, files.front().source);
    if (logs.sizes.empty())
        first.refuse("no collective is logged; use NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL");
    if (logs.of_all().starts_with('~'))
        first.refuse(
            fmt::format("logs of {} processes of {} ranks, without their numbers; use "
                        "NCCL_DEBUG_SUBSYS=INIT,COLL, or the logs of all",
                        logs.processes.size(), logs.sizes.at(logs.of_all())));
    require_communicator_of_all(logs, first);
    logs.notes.emplace_back("the log has no times: calls follow each other without computing");
    return logs;
}

}  // namespace

std::optional<JsonValue> document_of_nccl_debug(std::string_view text, const Source& source) {
    if (begins_as_json(text) || text.find(debug_mark) == text.npos) return std::nullopt;
    JsonValue::List events;
    for (int number = 1; !text.empty(); ++number) {
        const std::size_t end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
        const std::size_t mark = line.find(debug_mark);
        if (mark == line.npos) continue;
        const std::string_view rest = line.substr(mark + debug_mark.size());
        const bool is_call = rest.find(": opCount ") != rest.npos;
        const bool is_creation =
            rest.find("comm 0x") != rest.npos &&
            (rest.find("Init START") != rest.npos || rest.find("Init COMPLETE") != rest.npos);
        if (!is_call && !is_creation) continue;
        LineFields fields(number);
        add_process(fields, line.substr(0, mark));
        is_call ? add_debug_call(fields, words_of(rest)) : add_communicator(fields, words_of(rest));
        const bool is_whole = fields.is_complete() && rest.find(debug_mark) == rest.npos;
        if (is_whole)
            events.push_back(fields.done());
        else if (!text.empty())  // the last line may be torn, as the job may still run
            source.fail(number,
                        "an incomplete line of NCCL; use NCCL_DEBUG_FILE=nccl.%h.%p.log, so that "
                        "each process has a file");
    }
    return JsonValue{1, JsonValue::Object{{"nccl_debug", {1, std::move(events)}}}};
}

OpsTrace ops_of_nccl_debug(const std::vector<RankFile>& files, std::string& note) {
    return ops_of(read_nccl_debug(files), {files.front().document, files.front().source}, note);
}

ArrivalLog arrivals_in_nccl_debug(const std::vector<RankFile>& files) {
    return arrivals_of(read_nccl_debug(files));
}

}  // namespace tutti
