// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "collectives/formats/file_readers.hpp"
#include "topology/import/xml.hpp"

namespace tutti {
namespace {

// A type of step does some of these, in this order: receive, add, copy to its target, send.
struct StepType {
    std::string_view name;
    bool receives, adds, stores, sends;
};
constexpr StepType step_types[] = {
    {"s", false, false, false, true},   {"r", true, false, true, false},
    {"rcs", true, false, true, true},   {"rrs", true, true, false, true},
    {"rrc", true, true, true, false},   {"rrcs", true, true, true, true},
    {"cpy", false, false, true, false}, {"re", false, true, true, false},
    {"nop", false, false, false, false}};

struct Connection {
    int from, to, channel;
    auto operator<=>(const Connection&) const = default;
};

struct XmlBlock {
    int id;
    Connection in, out;
};

class XmlReader {
public:
    explicit XmlReader(const Source& source) : source_(source) {}

    ImportedSchedule read() {
        const XmlElement root = parse_xml(source_);
        if (root.name != "algo")
            source_.fail(root.line, fmt::format("is <{}>, not <algo> of MSCCL; use MSCCL XML",
                                                printable(root.name)));
        const auto ranks = std::ranges::count(root.children, "gpu", &XmlElement::name);
        if (ranks < 1 || ranks > most_file_ranks)
            source_.fail(root.line, fmt::format("has {} GPUs; use a complete file of 1 to {}",
                                                ranks, most_file_ranks));
        for (const XmlElement& gpu : root.children)
            if (gpu.name == "gpu") add_gpu(gpu, static_cast<int>(ranks));
        const Collective collective =
            collective_of_file(required(root, "coll", source_), source_, root.line);
        if (number(root, "inplace", 0, 0, 1) == 1) program_.aliasing = Aliasing::in_place;
        return imported(root.value("name"), {collective, static_cast<int>(ranks)}, program_,
                        source_);
    }

private:
    using Messages = std::map<Connection, int>;  // how many so far

    int number(const XmlElement& element, std::string_view name, int default_value, int least,
               int most) const {
        return static_cast<int>(whole(element, name, default_value, source_, least, most));
    }

    void add_gpu(const XmlElement& gpu, int ranks) {
        const int rank = int_size(program_.buffers);
        if (number(gpu, "id", -1, -1, most_file_ranks) != rank)
            source_.fail(gpu.line, "has a GPU out of order; use GPUs 0, 1, 2, ...");
        const auto chunks = [&](std::string_view name) {
            return number(gpu, name, 0, 0, most_file_chunks);
        };
        program_.buffers.push_back(
            {gpu.line, chunks("i_chunks"), chunks("o_chunks"), chunks("s_chunks")});
        std::set<int> ids;
        for (const XmlElement& tb : gpu.children) {
            if (tb.name != "tb") continue;
            const int channel = number(tb, "chan", 0, 0, most_file_chunks);
            const XmlBlock block{number(tb, "id", 0, 0, most_file_chunks),
                                 {number(tb, "recv", -1, -1, ranks - 1), rank, channel},
                                 {rank, number(tb, "send", -1, -1, ranks - 1), channel}};
            if (!ids.insert(block.id).second)
                source_.fail(tb.line, "repeats the id of a thread block; use a complete file");
            if ((block.out.to >= 0 && !sent_.try_emplace(block.out, 0).second) ||
                (block.in.from >= 0 && !received_.try_emplace(block.in, 0).second))
                source_.fail(tb.line,
                             "shares a connection with another thread block; use one for "
                             "each peer and channel");
            ReadBlock& read = program_.blocks.emplace_back(ReadBlock{.rank = {rank}});
            for (const XmlElement& step : tb.children)
                if (step.name == "step")
                    read.operations.push_back(operation_of(step, block, int_size(read.operations)));
        }
    }

    ReadOperation operation_of(const XmlElement& step, const XmlBlock& block, int position) {
        const std::string& name = required(step, "type", source_);
        const auto type = std::ranges::find(step_types, name, &StepType::name);
        if (type == std::end(step_types))
            source_.fail(step.line, fmt::format("has a step of type {}; use s, r, rcs, rrs, rrc, "
                                                "rrcs, cpy, re or nop",
                                                in_quotes(name)));
        const int rank = block.out.from;
        const auto field = [&](std::string_view field_name, int default_value) {
            return number(step, field_name, default_value, -1, most_file_chunks);
        };
        const int wait_block = field("depid", -1), wait_step = field("deps", -1),
                  count = field("cnt", 1);
        ReadOperation operation{.line = step.line, .reduces = type->adds};
        if (wait_block >= 0)
            operation.waits.push_back({dependence_counter, rank, wait_block, wait_step});
        operation.signals.push_back({dependence_counter, rank, block.id, position});
        const auto memory = [&](std::string_view buffer, std::string_view offset) {
            const FilePlace place{file_buffer(required(step, buffer, source_), source_, step.line),
                                  field(offset, 0)};
            check_place(place, count, program_.buffers.back(), source_, step.line);
            return ReadMemory{{rank}, place, count};
        };
        const auto message = [&](const Connection& connection, Messages& messages,
                                 std::vector<ReadCounter>& counters) {
            const ReadMemory place = next_message(connection, messages, count, step.line);
            counters.push_back({message_counter, place.place.index});
            return place;
        };
        // The rank's own summand and target come first.
        if (type->adds && !type->receives) operation.sources.push_back(memory("dstbuf", "dstoff"));
        if (type->receives ? type->adds : type->stores || type->sends)
            operation.sources.push_back(memory("srcbuf", "srcoff"));
        if (type->receives)
            operation.sources.push_back(message(block.in, received_, operation.waits));
        if (type->stores) operation.targets.push_back(memory("dstbuf", "dstoff"));
        if (type->sends) operation.targets.push_back(message(block.out, sent_, operation.signals));
        return operation;
    }

    // Returns the place of the connection's next message, in scratch beyond that of the file.
    ReadMemory next_message(const Connection& connection, Messages& messages, int count, int line) {
        constexpr int most_places = 1 << 30;
        if (connection.from < 0 || connection.to < 0)
            source_.fail(line, "has no peer; use send= and recv= of the thread block");
        if (count < 1 || next_place_ > most_places - count)
            source_.fail(line, "has too few or too many chunks; use a complete file");
        const int number = messages[connection]++;
        const auto [known, is_new] = messages_.try_emplace(
            {connection, number}, ReadMemory{{connection.to}, {.index = next_place_}, count});
        if (is_new) next_place_ += count;
        if (known->second.count != count)
            source_.fail(line, fmt::format("sends or receives {} chunks, but its peer {}; use a "
                                           "file whose sends and receives match",
                                           count, known->second.count));
        return known->second;
    }

    const Source& source_;
    FileProgram program_;
    Messages sent_, received_;
    std::map<std::pair<Connection, int>, ReadMemory> messages_;  // by number
    int next_place_ = most_file_chunks;
};

}  // namespace

ImportedSchedule read_msccl_xml(const Source& source) { return XmlReader(source).read(); }

}  // namespace tutti
