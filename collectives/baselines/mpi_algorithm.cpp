// SPDX-License-Identifier: Apache-2.0
#include "collectives/baselines/mpi_algorithm.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdlib>
#include <limits>

#include "collectives/baselines/baselines.hpp"
#include "collectives/baselines/mpi_names.hpp"
#include "collectives/transport/messages/mpi.hpp"

namespace tutti {
namespace {

using Choice = MpiControlVariable::Choice;

std::optional<MpiControlVariable> open_mpi_setting(Collective collective, const std::string& what) {
    return MpiControlVariable::find("coll_tuned_" + std::string(name_in(mpi_names, collective)) +
                                    what);
}

std::optional<MpiControlVariable> mpich_setting(Collective collective, const std::string& what) {
    std::string name(name_in(mpi_names, collective));
    for (char& letter : name) letter = static_cast<char>(std::toupper(letter));
    return MpiControlVariable::find("MPIR_CVAR_" + name + what);
}

// MPICH's values have names only in the description of the setting ("auto - Internal ... ring -
// Force ring algorithm"), without line breaks. So these words are searched for: the n-th line is
// value n.
constexpr std::string_view words_of_mpich[] = {
    "binomial",
    "brucks",
    "nb",
    "noncommutative",
    "pairwise",
    "pairwise_sendrecv_replace",
    "recursive_doubling",
    "recursive_halving",
    "reduce_scatter_allgather",
    "reduce_scatter_gather",
    "ring",
    "scatter_recursive_doubling_allgather",
    "scatter_ring_allgather",
    "scattered",
    "smp",
};

// "... algorithmring" ends with the word "ring", "... tsp_ring" does not.
bool ends_with_word(std::string_view line, std::string_view word) {
    return line.ends_with(word) && !line.substr(0, line.size() - word.size()).ends_with('_');
}

std::vector<Choice> choices_in(std::string_view text) {
    std::vector<Choice> choices;
    int value = 0;
    for (auto dash = text.find(" - "); dash != text.npos; dash = text.find(" - ", dash + 1)) {
        const auto end = text.find_last_not_of(' ', dash);
        const std::string_view line = text.substr(0, end == text.npos ? 0 : end + 1);
        std::string_view longest;
        for (const std::string_view word : words_of_mpich)
            if (ends_with_word(line, word) && word.size() > longest.size()) longest = word;
        if (!longest.empty()) choices.push_back({std::string(longest), value});
        ++value;
    }
    return choices;
}

// The control variable that selects the algorithm, and its values: 0 is the library's own choice.
struct Menu {
    MpiControlVariable variable;
    std::vector<Choice> choices;
};

std::optional<Menu> menu_of(Collective collective) {
    std::optional<Menu> menu;
    if (const auto found = open_mpi_setting(collective, "_algorithm"))
        menu = Menu{*found, found->choices()};
    else if (const auto other = mpich_setting(collective, "_INTRA_ALGORITHM"))
        menu = Menu{*other, choices_in(other->description())};
    if (!menu) return std::nullopt;
    std::erase_if(menu->choices, [](const Choice& choice) { return choice.value == 0; });
    for (Choice& choice : menu->choices)
        std::replace(choice.name.begin(), choice.name.end(), '_', '-');
    return menu;
}

std::optional<int> number_of(const std::string& algorithm, const Menu& menu) {
    for (const Choice& choice : menu.choices)
        if (choice.name == algorithm) return choice.value;
    return std::nullopt;
}

constexpr const char* switch_of_open_mpi = "OMPI_MCA_coll_tuned_use_dynamic_rules";

// Cases in which a library silently runs another algorithm than the forced one, or fails. A record
// under the forced name would be wrong. (From the sources of Open MPI 4.1.4 and MPICH 4.0.2.)
struct Swap {
    std::string_view library;
    std::optional<Collective> collective;  // none: any
    std::string_view algorithm;            // empty: any
    bool (*happens)(const LibraryCall&, const World&);
    std::string_view why;
};

bool is_odd(const LibraryCall&, const World& world) { return world.size() % 2 != 0; }
bool is_not_two(const LibraryCall&, const World& world) { return world.size() != 2; }
bool is_no_power_of_two(const LibraryCall&, const World& world) {
    return !std::has_single_bit(static_cast<unsigned>(world.size()));
}
// Whether there is one host, or one rank per host.
bool has_one_level(const LibraryCall&, const World& world) {
    return world.one_host() ||
           world.hosts().nodes().size() == static_cast<std::size_t>(world.size());
}
bool has_fewer_elements_than_ranks(const LibraryCall& call, const World& world) {
    return call.call.count < world.size();
}
// Compares with the largest power of two up to the number of ranks.
bool has_fewer_elements_than_power(const LibraryCall& call, const World& world) {
    return call.call.count < std::bit_floor(static_cast<unsigned>(world.size()));
}
bool is_in_place(const LibraryCall& call, const World&) { return call.in_place; }
bool is_out_of_place(const LibraryCall& call, const World&) { return !call.in_place; }
bool has_long_vector(const LibraryCall& call, const World& world) {
    return call.call.count * world.size() > std::numeric_limits<int>::max();
}

constexpr const char* segment_setting = "_algorithm_segmentsize";
constexpr const char* fan_out_setting = "_algorithm_chain_fanout";

// Algorithms of Open MPI with parameters, which do_forced and do_this of coll/tuned hand on to
// them (4.1.4). All cut the message into segments.
constexpr struct {
    Collective collective;
    std::string_view algorithm;
    bool has_fan_out = false;
} with_segments[] = {
    {Collective::all_reduce, "segmented-ring"}, {Collective::broadcast, "chain", true},
    {Collective::broadcast, "pipeline"},        {Collective::broadcast, "split-binary-tree"},
    {Collective::broadcast, "binary-tree"},     {Collective::broadcast, "binomial"},
    {Collective::broadcast, "knomial"},         {Collective::reduce, "chain", true},
    {Collective::reduce, "pipeline"},           {Collective::reduce, "binary"},
    {Collective::reduce, "binomial"},           {Collective::reduce, "in-order-binary"},
};

// Returns bytes; 0 if messages are not cut.
std::int64_t segment_of_open_mpi(const LibraryCall& call) {
    if (call.segment.count > 0) return call.segment.count;
    const auto setting = open_mpi_setting(call.call.collective, segment_setting);
    return setting ? setting->value() : 0;
}
bool has_less_than_a_segment_per_rank(const LibraryCall& call, const World& world) {
    const std::int64_t segment = segment_of_open_mpi(call);
    const auto element = static_cast<std::int64_t>(size_of(call.call.type));
    return segment == 0 ||
           call.call.count < world.size() * std::max<std::int64_t>(segment / element, 1);
}
bool has_less_than_two_segments(const LibraryCall& call, const World&) {
    const auto element = static_cast<std::int64_t>(size_of(call.call.type));
    return call.call.count < 2 || segment_of_open_mpi(call) > call.call.count / 2 * element;
}

constexpr std::string_view open_mpi = "Open MPI", mpich = "MPICH";

const Swap swaps[] = {
    {open_mpi, Collective::all_reduce, "ring", has_fewer_elements_than_ranks,
     "with fewer elements than ranks Open MPI runs recursive-doubling"},
    {open_mpi, Collective::all_reduce, "segmented-ring", has_less_than_a_segment_per_rank,
     "with less than one segment per rank Open MPI runs ring; set "
     "a segment size, for example --segment 64K"},
    {open_mpi, Collective::all_reduce, "rabenseifner", has_fewer_elements_than_power,
     "with fewer elements than ranks Open MPI runs basic-linear"},
    {open_mpi, Collective::reduce, "rabenseifner", has_fewer_elements_than_power,
     "with fewer elements than ranks Open MPI runs linear"},
    {open_mpi, Collective::reduce_scatter, "recursive-doubling", has_long_vector,
     "over 2^31-1 elements Open MPI runs basic-linear"},
    {open_mpi, Collective::broadcast, "split-binary-tree", has_less_than_two_segments,
     "with fewer than two segments Open MPI runs chain"},
    {open_mpi, Collective::broadcast, "scatter-allgather", has_fewer_elements_than_ranks,
     "with fewer elements than ranks Open MPI runs basic-linear"},
    {open_mpi, Collective::broadcast, "scatter-allgather-ring", has_fewer_elements_than_ranks,
     "with fewer elements than ranks Open MPI runs basic-linear"},
    {open_mpi, Collective::all_gather, "recursive-doubling", is_no_power_of_two,
     "Open MPI runs bruck if the number of ranks is not a power of two"},
    {open_mpi, Collective::all_gather, "neighbor", is_odd,
     "Open MPI runs ring for odd numbers of ranks"},
    {open_mpi, std::nullopt, "two-proc", is_not_two, "it needs two ranks"},
    {open_mpi, Collective::all_to_all, "", is_in_place,
     "in place Open MPI ignores forced algorithms"},

    {mpich, std::nullopt, "smp", has_one_level, "it needs several hosts with several ranks"},
    {mpich, Collective::all_gather, "recursive-doubling", is_no_power_of_two,
     "the number of ranks must be a power of two"},
    {mpich, Collective::all_reduce, "reduce-scatter-allgather", has_fewer_elements_than_power,
     "it needs at least as many elements as ranks"},
    {mpich, Collective::reduce, "reduce-scatter-gather", has_fewer_elements_than_power,
     "it needs at least as many elements as ranks"},
    {mpich, Collective::reduce_scatter, "noncommutative", is_no_power_of_two,
     "the number of ranks must be a power of two"},
    {mpich, Collective::all_to_all, "pairwise-sendrecv-replace", is_out_of_place,
     "it works in place only"},
    {mpich, Collective::all_to_all, "brucks", is_in_place, "it does not work in place"},
    {mpich, Collective::all_to_all, "pairwise", is_in_place, "it does not work in place"},
    {mpich, Collective::all_to_all, "scattered", is_in_place, "it does not work in place"},
};

bool concerns(const Swap& swap, const LibraryCall& call, const std::string& library) {
    return library.starts_with(swap.library) &&
           (!swap.collective || swap.collective == call.call.collective) &&
           (swap.algorithm.empty() || swap.algorithm == call.algorithm);
}

}  // namespace

MpiAlgorithm* MpiAlgorithm::in_force = nullptr;

MpiAlgorithm::MpiAlgorithm(const LibraryCall& call)
    : read_at_every_call_(mpi_library().starts_with(mpich)) {
    restore();
    if (call.algorithm.empty()) return;
    const Collective collective = call.call.collective;
    const auto menu = menu_of(collective);
    const auto number = menu ? number_of(call.algorithm, *menu) : std::nullopt;
    if (!number) throw Error("this MPI library has no algorithm '" + call.algorithm + "'");
    const auto force = [&](const MpiControlVariable& variable, int value) {
        forced_.push_back({variable, variable.value(), value});
    };
    force(menu->variable, *number);
    if (const auto segment = open_mpi_setting(collective, segment_setting);
        segment && call.segment.count > 0)
        force(*segment, static_cast<int>(call.segment.count));
    if (const auto fan_out = open_mpi_setting(collective, fan_out_setting);
        fan_out && call.fan_out > 0)
        force(*fan_out, call.fan_out);
    // Otherwise MPICH would first use the device's algorithm, which splits a collective by hosts.
    if (const auto device = mpich_setting(collective, "_DEVICE_COLLECTIVE")) force(*device, 0);
}

MpiAlgorithm::~MpiAlgorithm() {
    if (in_force == this) restore();
}

void MpiAlgorithm::set() {
    restore();
    for (const ForcedVariable& each : forced_) each.variable.set(each.forced);
    in_force = this;
}

void MpiAlgorithm::restore() {
    if (in_force == nullptr) return;
    for (const ForcedVariable& each : in_force->forced_) each.variable.set(each.original);
    in_force = nullptr;
}

std::vector<std::string> mpi_algorithms(Collective collective) {
    std::vector<std::string> names;
    if (const auto menu = menu_of(collective))
        for (const Choice& choice : menu->choices) names.push_back(choice.name);
    return names;
}

std::optional<std::int64_t> own_value_of_mpi(Collective collective, std::string_view algorithm,
                                             const Knob& knob) {
    const auto is_meant = [&](const auto& row) {
        return row.collective == collective && row.algorithm == algorithm;
    };
    const auto* row = std::ranges::find_if(with_segments, is_meant);
    if (row == std::end(with_segments)) return std::nullopt;
    const char* setting = nullptr;
    if (knob.member == Knob::Member{&Configuration::segment}) setting = segment_setting;
    if (row->has_fan_out && knob.member == Knob::Member{&Configuration::radix})
        setting = fan_out_setting;
    if (setting == nullptr) return std::nullopt;
    const auto variable = open_mpi_setting(collective, setting);
    return variable ? std::optional<std::int64_t>(variable->value()) : std::nullopt;
}

std::optional<std::string> mpi_lacks(Collective collective) {
    const auto is_called = [&](const Named<Collective>& row) { return row.value == collective; };
    if (std::ranges::any_of(mpi_names, is_called)) return std::nullopt;
    return "MPI has no " + std::string(name_of(collective));
}

std::optional<std::string> mpi_algorithm_refuses(const LibraryCall& call, const World& world) {
    if (call.algorithm.empty()) return std::nullopt;
    if (call.call.lengths != nullptr)
        return "tutti forces algorithms only of calls with blocks of equal lengths";
    if (call.segment.count > std::numeric_limits<int>::max())
        return "an MPI library's segment size is an int: at most 2^31-1 bytes";
    const std::string library = mpi_library();
    const auto menu = menu_of(call.call.collective);
    if (!menu || !number_of(call.algorithm, *menu))
        return library + " names no algorithm '" + call.algorithm + "' for " +
               std::string(name_of(call.call.collective));
    if (const auto heeds = MpiControlVariable::find("coll_tuned_use_dynamic_rules");
        heeds && heeds->value() == 0)
        return "Open MPI uses a forced algorithm only with " + std::string(switch_of_open_mpi) +
               "=1";
    if (world.size() == 1) return "a single rank runs no algorithm";
    for (const Swap& swap : swaps)
        if (concerns(swap, call, library) && swap.happens(call, world))
            return std::string(swap.why);
    return std::nullopt;
}

void restore_mpi_settings() { MpiAlgorithm::restore(); }

void allow_forced_mpi_algorithms() { setenv(switch_of_open_mpi, "1", /*overwrite=*/0); }

}  // namespace tutti
