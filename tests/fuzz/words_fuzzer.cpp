// SPDX-License-Identifier: Apache-2.0
// Parsing any word of the command line or environment gives a value, which can be written and read
// again, or a one-line error.
#include <cmath>
#include <functional>

#include "base/collective_form.hpp"
#include "base/source.hpp"
#include "cli/options/values.hpp"
#include "collectives/baselines/nccl_choice.hpp"
#include "collectives/transport/faults.hpp"
#include "collectives/world/rendezvous/address.hpp"
#include "results/comparison/floors.hpp"
#include "results/views/views.hpp"
#include "tests/fuzz/demand.hpp"
#include "topology/detect/ucx_resources.hpp"
#include "workloads/bench/block_rules.hpp"
#include "workloads/compress/compressed_all_reduce.hpp"
#include "workloads/program/changed_program.hpp"
#include "workloads/program/settings.hpp"
#include "workloads/scenarios/bucket_cap.hpp"
#include "workloads/traces/trace_forms.hpp"

namespace {

using namespace tutti;

// Text that tutti writes must be readable.
auto read_again(auto&& read, const std::string& written) {
    try {
        return read(written);
    } catch (const Error& error) {
        demand(false, "what was written is refused: " + std::string(error.what()));
        throw;
    }
}

void read_bytes(const std::string& word) {
    const Bytes bytes = parse_bytes(word);
    demand(bytes.count >= 0, "a size is not negative");
    demand(read_again(parse_bytes, to_string(bytes)) == bytes, "typed again it is the same size");
    describe(bytes);
}

// Parses "1K 1M 1.5": first size, last size, and a factor or a step.
void read_sweep(const std::string& word) {
    const auto parts = split(word, ' ');
    if (parts.size() < 3) return;
    SizeSweep sweep{.first = parse_bytes(parts[0]), .last = parse_bytes(parts[1])};
    if (parts.size() == 3)
        sweep.factor = parse_factor(std::string(parts[2]));
    else
        sweep.step = parse_step(std::string(parts[2]));
    const auto sizes = sweep.sizes();
    demand(std::ranges::adjacent_find(sizes, std::ranges::greater_equal()) == sizes.end(),
           "sizes ascend");
    demand(sizes.front() == sweep.first && sizes.back() <= sweep.last, "from the first on");
}

void read_setting(const std::string& word, const std::function<void(const Settings&)>& get) {
    const SettingRow rows[] = {{"setting", "of a workload", "1"}};
    const Settings settings(rows, {{"setting", word}});
    get(settings);
    settings.to_string();
}

void read_fault(const std::string& word) {
    const std::string text = to_string(parse_fault(word));
    demand(to_string(read_again(parse_fault, text)) == text,
           "typed again it is the same fault: " + text);
}

void read_floor(const std::string& word) {
    for (const auto side : {Floor::Side::at_least, Floor::Side::at_most}) {
        const Floor floor = parse_floor(side, word);
        const TimeOfCall call{"all_reduce 1M float sum registered ring (shm), 2 ranks", 1e6, 2};
        hold_against({&floor, 1}, {&call, 1});
    }
}

void read_compressions(const std::string& word) {
    for (const Compression& one : parse_compressions(word)) {
        const std::string name = name_of(one);
        demand(name_of(read_again(parse_compression, name)) == name,
               "its name is the same: " + name);
    }
}

void read_address(const std::string& word) {
    const std::string text = to_string(parse_tcp_address(word));
    demand(to_string(read_again(parse_tcp_address, text)) == text,
           "typed again it is the same address: " + text);
}

void read_nccl_choice(const std::string& word) {
    const NcclChoice choice = parse_nccl_choice(word);
    demand(read_again(parse_nccl_choice, to_string(choice)) == choice,
           "typed again it is the same choice: " + word);
}

using Reader = void (*)(const std::string& word);
constexpr Reader readers[] = {
    read_bytes,
    read_sweep,
    read_fault,
    read_floor,
    read_compressions,
    [](const std::string& word) { demand(parse_seconds(word) >= 0, "a time is not negative"); },
    [](const std::string& word) { demand(parse_fraction(word) >= 0, "nor is a share"); },
    [](const std::string& word) { demand(parse_timeout("-T", word) > 0, "a time-out is longer"); },
    [](const std::string& word) { parse_target("--target-ci", word); },
    [](const std::string& word) {
        const IntRange range = parse_range(word);
        demand(1 <= range.first && range.first <= range.last, "a range ascends");
    },
    [](const std::string& word) { parse_counts(word); },
    [](const std::string& word) { parse_rank_counts(word); },
    [](const std::string& word) { parse_root(word); },
    [](const std::string& word) { parse_buffers(word); },
    [](const std::string& word) { parse_sync(word); },
    [](const std::string& word) { list_of(all_collectives(), parse_collective)(word); },
    [](const std::string& word) { parse_collective_form(word); },
    [](const std::string& word) { block_counts(parse_block_rule(word), Collective::gather, 3, 7); },
    [](const std::string& word) {
        for (const Knob& knob : knobs)
            for (const std::int64_t value : values_of(knob)(word)) {
                Configuration configuration;
                knob.set(configuration, value);
                demand(knob.of(configuration) == value, "a knob holds what it takes");
            }
    },
    [](const std::string& word) { with_skew({}, word).to_string(); },
    [](const std::string& word) { with_slow_rank({}, word).to_string(); },
    [](const std::string& word) {
        demand(parse_network_model(word).ns_of({1000}) >= 0, "a message takes its time");
    },
    [](const std::string& word) {
        read_setting(word, [](const Settings& settings) { settings.number("setting", 1, 1000); });
    },
    [](const std::string& word) {
        read_setting(word, [](const Settings& settings) { settings.real("setting", 0, 1e6); });
    },
    [](const std::string& word) {
        read_setting(word, [](const Settings& settings) { settings.list("setting"); });
    },
    read_address,
    read_nccl_choice,
    [](const std::string& word) { find_view(word); },
    [](const std::string& word) { type_of_trace(word); },
    [](const std::string& word) { op_of_trace(word); },
    [](const std::string& word) { pci_address(word); },
    [](const std::string& word) { ucx_resources_in(word); },
    [](const std::string& word) { cpus_of_list(word, Source("", "FILE"), 1); },
    [](const std::string& word) { cpus_of_mask(word, Source("", "FILE"), 1); },
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string word(text_of(data, size));
    if (word.find('\n') != std::string::npos) return 0;  // words have no line ends
    for (const Reader reader : readers) try {
            reader(word);
        } catch (const Error& error) {
            demand_one_line(error);
        }
    return 0;
}
