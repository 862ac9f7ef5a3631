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

// Returns the variable that selects HAN's algorithm: Open MPI 5 and later read it at every call.
std::optional<MpiControlVariable> han_setting(Collective collective) {
    return MpiControlVariable::find("coll_han_use_" + std::string(name_in(mpi_names, collective)) +
                                    "_algorithm");
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

// An algorithm that can be forced.
struct NamedAlgorithm {
    std::string name;
    std::string_view component = {};  // Open MPI component that must run on the ranks
    std::optional<MpiControlVariable> variable = {};  // none: the component's own choice
    int value = 0;
};

// Adds an algorithm for each value of a variable. Value 0 is the library's own choice.
void add_algorithms(std::vector<NamedAlgorithm>& all, const MpiControlVariable& variable,
                    const std::vector<Choice>& choices, std::string_view component,
                    std::string_view prefix = "") {
    for (const Choice& choice : choices) {
        if (choice.value == 0) continue;
        std::string name = std::string(prefix) + choice.name;
        std::replace(name.begin(), name.end(), '_', '-');
        all.push_back({std::move(name), component, variable, choice.value});
    }
}

constexpr std::string_view tuned = "tuned", han = "han";  // components of Open MPI
constexpr std::string_view prefix_of_han = "han-";

// HAN splits a collective by hosts. It is the default across hosts from Open MPI 5 on. Open MPI 4
// has it switched off.
void add_han(std::vector<NamedAlgorithm>& all, Collective collective) {
    const auto variable = han_setting(collective);
    if (!variable) return;
    add_algorithms(all, *variable, variable->choices(), han, prefix_of_han);
    all.push_back({std::string(tuned), tuned});
}

std::vector<NamedAlgorithm> algorithms_of(Collective collective) {
    std::vector<NamedAlgorithm> all;
    if (const auto found = open_mpi_setting(collective, "_algorithm")) {
        add_algorithms(all, *found, found->choices(), tuned);
        add_han(all, collective);
    } else if (const auto other = mpich_setting(collective, "_INTRA_ALGORITHM")) {
        add_algorithms(all, *other, choices_in(other->description()), "");
    }
    return all;
}

std::optional<NamedAlgorithm> find_algorithm(Collective collective, const std::string& name) {
    for (NamedAlgorithm& each : algorithms_of(collective))
        if (each.name == name) return std::move(each);
    return std::nullopt;
}

constexpr const char* switch_of_open_mpi = "OMPI_MCA_coll_tuned_use_dynamic_rules";

// Cases in which a library silently runs another algorithm than the forced one, or fails. A record
// under the forced name would be wrong. (From the sources of Open MPI 4.1.4 and MPICH 4.0.2.)
struct Swap {
    std::string_view library;
    std::optional<Collective> collective;  // none: any
    std::string_view algorithm;            // empty: any; "han-": those of HAN
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
bool has_unequal_hosts(const LibraryCall&, const World& world) {
    const auto& hosts = world.hosts().nodes();
    return std::ranges::any_of(
        hosts, [&](const auto& host) { return host.size() != hosts.front().size(); });
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
constexpr const char* fan_out_of_chain = "_algorithm_chain_fanout";
constexpr const char* fan_out_of_tree = "_algorithm_tree_fanout";

// Algorithms of Open MPI with parameters, which do_forced and do_this of coll/tuned hand on to
// them (4.1.4, 6.0).
constexpr struct {
    Collective collective;
    std::string_view algorithm;
    const char* segment = segment_setting;  // null: it does not cut the message
    const char* fan_out = nullptr;          // null: it has none
} with_parameters[] = {
    {Collective::all_reduce, "segmented-ring"},
    {Collective::all_gather, "bruck-k-fanout", nullptr, fan_out_of_tree},
    {Collective::broadcast, "chain", segment_setting, fan_out_of_chain},
    {Collective::broadcast, "pipeline"},
    {Collective::broadcast, "split-binary-tree"},
    {Collective::broadcast, "binary-tree"},
    {Collective::broadcast, "binomial"},
    {Collective::broadcast, "knomial"},
    {Collective::reduce, "chain", segment_setting, fan_out_of_chain},
    {Collective::reduce, "pipeline"},
    {Collective::reduce, "binary"},
    {Collective::reduce, "binomial"},
    {Collective::reduce, "in-order-binary"},
    {Collective::reduce, "knomial", nullptr, fan_out_of_chain},
};

// Returns the setting of a parameter; null if the algorithm has no such parameter.
const char* setting_of(Collective collective, std::string_view algorithm, Knob::Member parameter) {
    for (const auto& row : with_parameters) {
        if (row.collective != collective || row.algorithm != algorithm) continue;
        if (parameter == Knob::Member{&Configuration::segment}) return row.segment;
        if (parameter == Knob::Member{&Configuration::radix}) return row.fan_out;
    }
    return nullptr;
}

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
    {open_mpi, std::nullopt, tuned, has_one_level, "it is the default here"},
    {open_mpi, std::nullopt, prefix_of_han, has_one_level,
     "it needs several hosts with several ranks"},
    {open_mpi, std::nullopt, prefix_of_han, has_unequal_hosts,
     "it needs as many ranks on each host as on the others"},

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
           (swap.algorithm.empty() || swap.algorithm == call.algorithm ||
            (swap.algorithm == prefix_of_han && call.algorithm.starts_with(prefix_of_han)));
}

}  // namespace

MpiAlgorithm* MpiAlgorithm::in_force = nullptr;

// MPI's tool interface begins only when an algorithm is forced, which most programs under
// `tutti run` never do: Open MPI then loads all its components, which can take 200 ms.
MpiAlgorithm::MpiAlgorithm(const LibraryCall& call) {
    restore();
    if (call.algorithm.empty()) return;
    const Collective collective = call.call.collective;
    const auto algorithm = find_algorithm(collective, call.algorithm);
    if (!algorithm) throw Error("this MPI library has no algorithm '" + call.algorithm + "'");
    is_forced_ = true;
    read_at_every_call_ = mpi_library().starts_with(mpich) || han_setting(collective).has_value();
    component_ = algorithm->component;
    const auto force = [&](const MpiControlVariable& variable, int value) {
        forced_.push_back({variable, variable.value(), value});
    };
    if (algorithm->variable) force(*algorithm->variable, algorithm->value);
    const auto force_parameter = [&](Knob::Member parameter, std::int64_t value) {
        const char* setting = setting_of(collective, call.algorithm, parameter);
        if (setting == nullptr || value == 0) return;
        if (const auto variable = open_mpi_setting(collective, setting))
            force(*variable, static_cast<int>(value));
    };
    force_parameter(&Configuration::segment, call.segment.count);
    force_parameter(&Configuration::radix, call.fan_out);
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
    for (NamedAlgorithm& each : algorithms_of(collective)) names.push_back(std::move(each.name));
    return names;
}

std::optional<std::int64_t> own_value_of_mpi(Collective collective, std::string_view algorithm,
                                             const Knob& knob) {
    const char* setting = setting_of(collective, algorithm, knob.member);
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
    if (!find_algorithm(call.call.collective, call.algorithm))
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
