// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "collectives/formats/file_readers.hpp"

namespace tutti {
namespace {

constexpr JsonRules plan_rules{.whole = "the plan",
                               .remedy = "; use an MSCCL++ execution plan of memory channels"};

// An operation moves or adds memory, or only waits for or signals the counters in its fields.
struct PlanVerb {
    std::string_view name;
    enum { nothing, move, sum } does = nothing;
    std::string_view waits = "", signals = "";
};
constexpr const char *channel_field = "channel_ids", *semaphore_field = "semaphore_ids";
constexpr PlanVerb plan_verbs[] = {{"nop"},
                                   {"flush"},
                                   {"signal", PlanVerb::nothing, "", channel_field},
                                   {"rlxsignal", PlanVerb::nothing, "", channel_field},
                                   {"wait", PlanVerb::nothing, channel_field},
                                   {"rlxwait", PlanVerb::nothing, channel_field},
                                   {"sem_release", PlanVerb::nothing, "", semaphore_field},
                                   {"sem_acquire", PlanVerb::nothing, semaphore_field},
                                   {"put", PlanVerb::move},
                                   {"copy", PlanVerb::move},
                                   {"get", PlanVerb::move},
                                   {"pws", PlanVerb::move, "", channel_field},
                                   {"re", PlanVerb::sum},
                                   {"rre", PlanVerb::sum},
                                   {"res", PlanVerb::sum},
                                   {"rres", PlanVerb::sum},
                                   {"ppkt", PlanVerb::move},
                                   {"rppkt", PlanVerb::move},
                                   {"cpkt", PlanVerb::move},
                                   {"upkt", PlanVerb::move},
                                   {"repkt", PlanVerb::sum},
                                   {"recpkt", PlanVerb::sum},
                                   {"respkt", PlanVerb::sum},
                                   {"recspkt", PlanVerb::sum}};

// The peers and memory that the operations of a GPU or thread block name by numbers.
struct GpuNames {
    std::vector<std::pair<int, int>> channels;  // peer, number among the channels to it
    std::vector<std::pair<Rank, FileBuffer>> remotes;
};

// Returns all numbers in FIELD of the objects in LIST. Their TYPE has to be memory.
std::vector<int> numbers_of(const JsonPlace& parent, std::string_view list, std::string_view type,
                            std::string_view field, int below) {
    std::vector<int> numbers;
    const auto all = parent.field(list);
    if (!all) return numbers;
    for_each_item(*all, [&](const JsonPlace& one) {
        const JsonPlace kind = one.needed(type);
        if (kind.text() != "memory") kind.fail("is not memory");
        const JsonPlace values = one.needed(field);
        for_each_item(values, [&](const JsonPlace& number) {
            numbers.push_back(number.whole_number<int>(0, below - 1));
        });
    });
    return numbers;
}

template <class Value>
std::vector<Value> picked(const std::vector<Value>& all, const std::vector<int>& numbers) {
    std::vector<Value> some;
    for (const int number : numbers) some.push_back(at(all, number));
    return some;
}

class PlanReader {
public:
    explicit PlanReader(const Source& source)
        : source_(source), value_(parse_json(source)), plan_(value_, source, plan_rules) {}

    ImportedSchedule read() {
        const JsonPlace gpus = plan_.needed("gpus"), collective = plan_.needed("collective"),
                        in_place = plan_.needed("inplace"), name = plan_.needed("name");
        const int ranks = int_size(gpus.list());
        if (ranks < 1 || ranks > most_file_ranks)
            gpus.fail(fmt::format("is not of 1 to {} GPUs", most_file_ranks));
        for_each_item(gpus, [&](const JsonPlace& gpu) {
            const JsonPlace id = gpu.needed("id");
            if (id.whole_number<int>() != int_size(program_.buffers))
                id.fail("is not the GPU's position");
            const auto chunks = [&](std::string_view field) {
                return gpu.needed(field).whole_number<int>(0, most_file_chunks);
            };
            program_.buffers.push_back({gpu.value().line, chunks("input_chunks"),
                                        chunks("output_chunks"), chunks("scratch_chunks")});
        });
        const CollectiveSpec spec(
            collective_of_file(collective.text(), source_, collective.value().line), ranks);
        Rank rank{0};
        for_each_item(gpus, [&](const JsonPlace& gpu) {
            add_gpu(gpu, rank, ranks);
            ++rank.index;
        });
        if (in_place.yes()) program_.aliasing = Aliasing::in_place;
        return imported(name.text(), spec, program_, source_);
    }

private:
    void add_gpu(const JsonPlace& gpu, Rank rank, int ranks) {
        GpuNames names;
        for (const int peer : numbers_of(gpu, "channels", "channel_type", "connected_to", ranks)) {
            const auto before =
                std::ranges::count(names.channels, peer, &std::pair<int, int>::first);
            names.channels.emplace_back(peer, static_cast<int>(before));
        }
        if (const auto remotes = gpu.field("remote_buffers"))
            for_each_item(*remotes, [&](const JsonPlace& remote) {
                const JsonPlace type = remote.needed("type");
                names.remotes.emplace_back(
                    Rank{remote.needed("rank").whole_number<int>(0, ranks - 1)},
                    file_buffer(type.text(), source_, type.value().line));
            });
        const JsonPlace blocks = gpu.needed("threadblocks");
        for_each_item(blocks, [&](const JsonPlace& block) {
            const GpuNames own{
                picked(names.channels, numbers_of(block, "channels", "channel_type", "channel_ids",
                                                  int_size(names.channels))),
                picked(names.remotes, numbers_of(block, "remote_buffer_refs", "access_channel_type",
                                                 "remote_buffer_ids", int_size(names.remotes)))};
            ReadBlock& read = program_.blocks.emplace_back(ReadBlock{.rank = rank});
            const JsonPlace operations = block.needed("ops");
            for_each_item(operations, [&](const JsonPlace& operation) {
                read.operations.push_back(operation_of(operation, rank, own));
            });
        });
    }

    std::vector<ReadMemory> memory_in(const JsonPlace& operation, std::string_view field, Rank rank,
                                      const GpuNames& names) const {
        std::vector<ReadMemory> all;
        const auto list = operation.field(field);
        if (!list) return all;
        for_each_item(*list, [&](const JsonPlace& one) {
            ReadMemory used{
                .rank = rank,
                .place = {.index = one.needed("index").whole_number<int>(0, most_file_chunks)},
                .count = one.needed("size").whole_number<int>(1, most_file_chunks)};
            if (const auto id = one.field("buffer_id")) {
                std::tie(used.rank, used.place.buffer) =
                    at(names.remotes, id->whole_number<int>(0, int_size(names.remotes) - 1));
            } else {
                const JsonPlace type = one.needed("type");
                used.place.buffer = file_buffer(type.text(), source_, type.value().line);
            }
            check_place(used.place, used.count, at(program_.buffers, used.rank), source_,
                        one.value().line);
            all.push_back(used);
        });
        return all;
    }

    // Returns the counters in a field of an operation, as its rank signals them.
    static std::vector<ReadCounter> counters_in(const JsonPlace& operation, std::string_view field,
                                                Rank rank, const GpuNames& names) {
        std::vector<ReadCounter> counters;
        if (field.empty()) return counters;
        const JsonPlace ids = operation.needed(field);
        for_each_item(ids, [&](const JsonPlace& id) {
            if (field == semaphore_field) {
                counters.push_back({semaphore_counter, rank.index, id.whole_number<int>()});
                return;
            }
            const auto [peer, number] =
                at(names.channels, id.whole_number<int>(0, int_size(names.channels) - 1));
            counters.push_back({signal_counter, rank.index, peer, number});
        });
        return counters;
    }

    ReadOperation operation_of(const JsonPlace& place, Rank rank, const GpuNames& names) const {
        const JsonPlace name = place.needed("name");
        const auto row = std::ranges::find(plan_verbs, name.text(), &PlanVerb::name);
        if (row == std::end(plan_verbs)) name.fail("is an operation that tutti does not read");
        if (place.field("tbg_info")) place.fail("is shared by thread blocks");
        ReadOperation operation{.line = place.value().line,
                                .reduces = row->does == PlanVerb::sum,
                                .awaits_scratch = row->name.ends_with("pkt"),
                                .waits = counters_in(place, row->waits, rank, names),
                                .signals = counters_in(place, row->signals, rank, names)};
        for (ReadCounter& counter : operation.waits)
            if (counter[0] == signal_counter) std::swap(counter[1], counter[2]);
        if (row->does == PlanVerb::nothing) return operation;
        operation.sources = memory_in(place, "src_buff", rank, names);
        operation.targets = memory_in(place, "dst_buff", rank, names);
        check_memory(place, operation);
        return operation;
    }

    static void check_memory(const JsonPlace& place, const ReadOperation& operation) {
        const auto& [sources, targets] = std::tie(operation.sources, operation.targets);
        if (sources.empty() || targets.empty() ||
            (operation.reduces ? sources.size() < 2
                               : sources.size() != 1 && sources.size() != targets.size()))
            place.fail("has too few or too many buffers");
        for (const auto* list : {&sources, &targets})
            for (const ReadMemory& one : *list)
                if (one.count != targets.front().count)
                    place.fail("has buffers of different sizes");
    }

    const Source& source_;
    JsonValue value_;
    JsonPlace plan_;
    FileProgram program_;
};

}  // namespace

ImportedSchedule read_mscclpp_plan(const Source& source) { return PlanReader(source).read(); }

}  // namespace tutti
