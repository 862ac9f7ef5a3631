// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>
#include <optional>

#include "collectives/formats/file_readers.hpp"

namespace tutti {
namespace {

constexpr JsonRules sccl_rules{.whole = "the algorithm",
                               .remedy = "; use JSON of SCCL or TACCL that copies chunks",
                               .numbers = JsonRules::Numbers::from_0};
constexpr int most_nodes = 64;  // every collective and root is tried

// A chunk of the file: the ranks that begin and end with it.
struct AddressedChunk {
    int address = 0;
    std::vector<int> before, after;
};

std::vector<int> sorted_numbers(const JsonPlace& list) {
    std::vector<int> numbers;
    for_each_item(list, [&](const JsonPlace& number) {
        numbers.push_back(number.whole_number<int>(0, most_nodes - 1));
    });
    std::ranges::sort(numbers);
    return numbers;
}

// Returns the ranks for which `is_one` is true.
template <class IsOne>
std::vector<int> ranks_that(int ranks, IsOne&& is_one) {
    std::vector<int> found;
    for (Rank rank : all_ranks(ranks))
        if (is_one(rank)) found.push_back(rank.index);
    return found;
}

// Returns the block that begins and ends on the ranks of this chunk.
std::optional<std::int64_t> block_of(const AddressedChunk& chunk, const CollectiveSpec& spec) {
    if (chunk.before.size() != 1 || chunk.after.empty()) return std::nullopt;
    const int ranks = spec.ranks(), from = chunk.before[0], to = chunk.after[0];
    for (const std::int64_t block : {0, from, to, from * ranks + to})
        if (from < ranks && to < ranks && block < spec.blocks() &&
            chunk.before == ranks_that(ranks, [&](Rank r) { return spec.starts_with(r, block); }) &&
            chunk.after == ranks_that(ranks, [&](Rank r) { return spec.ends_with(r, block); }))
            return block;
    return std::nullopt;
}

// The collective that moves the chunks, and the block of each of them.
struct Movement {
    CollectiveSpec spec;
    std::vector<std::int64_t> blocks;
};

// A broadcast is also an all_gather of which only one block has chunks.
bool has_equal_blocks(const Movement& movement) {
    std::vector<std::size_t> chunks_of(static_cast<std::size_t>(movement.spec.blocks()));
    for (const std::int64_t block : movement.blocks) ++chunks_of[static_cast<std::size_t>(block)];
    return std::ranges::count(chunks_of, chunks_of.front()) == std::ssize(chunks_of);
}

std::optional<Movement> movement_of(const std::vector<AddressedChunk>& chunks, int ranks) {
    for (const Collective collective :
         {Collective::all_gather, Collective::broadcast, Collective::all_to_all,
          Collective::scatter, Collective::gather})
        for (int root = 0; root < (has_root(collective) ? ranks : 1); ++root) {
            Movement movement{{collective, ranks, Rank{root}}, {}};
            for (const AddressedChunk& chunk : chunks) {
                const auto block = block_of(chunk, movement.spec);
                if (!block) break;
                movement.blocks.push_back(*block);
            }
            if (movement.blocks.size() == chunks.size() && has_equal_blocks(movement))
                return movement;
        }
    return std::nullopt;
}

}  // namespace

// Steps are those of a schedule already: each send copies a chunk.
ImportedSchedule read_sccl_json(const Source& source) {
    const JsonValue value = parse_json(source);
    const JsonPlace whole(value, source, sccl_rules);
    const JsonPlace collective = whole.needed("collective"), topology = whole.needed("topology");
    const JsonPlace links = topology.needed("links"), described = collective.needed("chunks");
    const int ranks = int_size(links.list());
    if (ranks < 1 || ranks > most_nodes)
        links.fail(fmt::format("is not of 1 to {} nodes", most_nodes));
    std::vector<AddressedChunk> chunks;
    for_each_item(described, [&](const JsonPlace& one) {
        const JsonPlace before = one.needed("pre"), after = one.needed("post");
        chunks.push_back({one.needed("addr").whole_number<int>(0, most_file_chunks),
                          sorted_numbers(before), sorted_numbers(after)});
    });
    if (chunks.empty() || int_size(chunks) > most_file_chunks)
        described.fail(fmt::format("is not of 1 to {} chunks", most_file_chunks));
    std::ranges::stable_sort(chunks, {}, &AddressedChunk::address);
    const auto movement = movement_of(chunks, ranks);
    if (!movement)
        described.fail(
            "are not an all_gather, broadcast, scatter, gather or all_to_all with equal blocks");
    const auto blocks = static_cast<int>(movement->spec.blocks());
    const int per_block = int_size(chunks) / blocks;
    std::vector<int> in_block(as_size(blocks));
    std::map<int, int> number_of;  // address -> chunk
    for (int i = 0; i < int_size(chunks); ++i) {
        const auto block = static_cast<int>(at(movement->blocks, i));
        const int place = at(in_block, block)++;
        if (!number_of.emplace(at(chunks, i).address, block * per_block + place).second)
            described.fail("do not have distinct addresses");
    }
    std::vector<std::vector<Transfer>> steps;
    const JsonPlace listed = whole.needed("steps");
    for_each_item(listed, [&](const JsonPlace& one) {
        std::vector<Transfer>& step = steps.emplace_back();
        const JsonPlace sends = one.needed("sends");
        for_each_item(sends, [&](const JsonPlace& send) {
            if (send.list().size() < 3) send.fail("is not [address, from, to]");
            const JsonPlace address = send.item(0);
            const auto found = number_of.find(address.whole_number<int>());
            if (found == number_of.end()) address.fail("is not the address of a chunk");
            step.push_back({.chunks = {found->second, 1},
                            .from = {send.item(1).whole_number<int>(0, ranks - 1)},
                            .to = {send.item(2).whole_number<int>(0, ranks - 1)}});
        });
    });
    const auto name = whole.field("name");
    return {name ? printable(name->text()) : "sccl", movement->spec,
            schedule_of_steps(ranks, int_size(chunks), std::move(steps))};
}

}  // namespace tutti
