// SPDX-License-Identifier: Apache-2.0
#include "collectives/planner/route.hpp"

#include <algorithm>

#include "base/index.hpp"
#include "base/rounding.hpp"
#include "collectives/execute/plan/layout.hpp"
#include "collectives/schedule/compose.hpp"
#include "collectives/transport/table/transports.hpp"

namespace tutti {

int segments_for(Bytes vector, Bytes segment) {
    const std::int64_t size = std::max<std::int64_t>(segment.count, 1);
    return static_cast<int>(std::clamp<std::int64_t>(divide_up(vector.count, size), 1, 256));
}

static_assert(knobs[1].least == 2 && knobs[1].most == most_radix &&
              knobs[1].same_as_default == default_radix && knobs[2].most == most_channels);

bool makes_use(const Algorithm& algorithm, const Knob& knob) {
    const auto takes = [&](const Algorithm& row) { return row.takes(knob); };
    return takes(algorithm) || std::ranges::none_of(catalog(), takes);
}

namespace {

Order order_of(const Choice& choice) {
    const std::string& name = choice.configuration.order;
    if (name.empty()) return {};
    const auto known = choice.environment.orders.find(name);
    if (known == choice.environment.orders.end())
        throw Error("unknown order of ranks '" + name + "'");
    return known->second;
}

// The job of a whole vector, which is not cut into segments.
Job whole_job(const Choice& choice, const Call& call, int ranks, const Placement& hosts) {
    const Placement& nodes = choice.environment.hosts;
    return {.collective = call.collective,
            .ranks = ranks,
            .root = call.root,
            .configuration = choice.configuration,
            .placement = nodes.nodes().empty() ? hosts : nodes,
            .order = channels_of(order_of(choice), choice.configuration.channels, ranks)};
}

// A default segment grows in proportion if it has more chunks per block than this. With 64 ranks on
// 8 hosts, multi-rail cuts a segment of an all-reduce into 64 chunks, which would be short
// messages.
constexpr int most_chunks_of_default = 4;
// Across hosts, this holds instead for vectors of enough segments to keep the links busy: each
// message costs processor time. With 4 hosts of 2 ranks on 2 cores, an all-reduce of 16 MiB takes
// 0.93 of the time, and the same time at 1 Gbit/s; 4 MiB would take 1.05 times as long there, and
// 1 MiB 1.29 times.
constexpr int most_chunks_of_long = 3;
constexpr int least_segments_of_long = 48;
// Between two hosts, messages can be twice as long, because each link receives from one host only.
// With 4 ranks each on 2 cores, 4 and 16 MiB take 0.68 and 0.70 of the time, with 2 ranks 0.65 and
// 0.67, and the same time at 1 Gbit/s, where 2 MiB in 7 segments take 1.11 times as long.
constexpr int segment_factor_of_two_hosts = 2;
constexpr int least_segments_of_two_hosts = 12;

// Returns the default segment of few chunks. It is larger if the library would send the usual one
// by only one of several links.
Bytes usual_segment(const Choice& choice) {
    const Bytes usual = choice.environment.default_segment;
    const std::string& transport = choice.configuration.transport;
    if (choice.environment.links < 2 || transport.empty()) return usual;
    const auto by_one_link = find_transport(transport).by_one_link_up_to;
    return by_one_link != nullptr && usual <= by_one_link() ? segment_over_links : usual;
}

int chunks_of_block(const Job& job, const Schedule& schedule) {
    const CollectiveSpec spec{job.collective, job.ranks, job.root};
    return schedule.chunks() / static_cast<int>(spec.blocks());
}

Bytes share_of_channel(const Call& call, const Job& job) {
    const std::int64_t vector = call.count * static_cast<std::int64_t>(size_of(call.type));
    return Bytes{vector / std::max<std::int64_t>(std::ssize(job.order.channels), 1)};
}

Bytes segment_for(const Choice& choice, const Job& whole, Bytes share) {
    const Algorithm& algorithm = *choice.algorithm;
    if (whole.configuration.segment.count > 0) return whole.configuration.segment;
    const Bytes usual = usual_segment(choice);
    if (!algorithm.pipelines || algorithm.cuts_itself || algorithm.refuses(whole)) return usual;
    const int chunks = chunks_of_block(whole, algorithm.build(whole));
    const auto segment_of_chunks = [&](int most_chunks) {
        return std::max(usual, Bytes{usual.count * chunks / most_chunks});
    };
    const bool are_two_hosts = whole.placement.nodes().size() == 2 && chunks > most_chunks_of_long;
    const Bytes of_long{segment_of_chunks(most_chunks_of_long).count *
                        (are_two_hosts ? segment_factor_of_two_hosts : 1)};
    const int least_segments = are_two_hosts ? least_segments_of_two_hosts : least_segments_of_long;
    const bool is_long =
        usual == segment_across_hosts && share.count >= least_segments * of_long.count;
    return is_long ? of_long : segment_of_chunks(most_chunks_of_default);
}

}  // namespace

Bytes segment_of(const Choice& choice, const Call& call, int ranks, const Placement& hosts) {
    const Job whole = whole_job(choice, call, ranks, hosts);
    return segment_for(choice, whole, share_of_channel(call, whole));
}

Job job_of(const Choice& choice, const Call& call, int ranks, const Placement& hosts) {
    Job job = whole_job(choice, call, ranks, hosts);
    const Bytes share = share_of_channel(call, job);
    const bool is_cut = choice.configuration.segment.count > 0 || share > usual_segment(choice);
    if (is_cut) job.segments = segments_for(share, segment_for(choice, job, share));
    return job;
}

// More lanes bridge longer pauses of a peer; but with fewer segments each they would hardly
// overlap. Channels have their own lanes, because each waits for its own peers.
Lanes lanes_for(const Algorithm& algorithm, const Job& job, const Schedule& schedule, int most) {
    const int segments = algorithm.pipelines ? job.segments : 1;
    const auto channels = static_cast<int>(job.order.channels.size());
    const int wanted = segments / 4;
    if (channels <= 1) return {.count = std::clamp(wanted, 1, most), .segments = segments};
    const int of_each = std::clamp(wanted, 1, std::max(most / channels, 1));
    return {.count = std::min(channels * of_each, most),
            .segments = segments,
            .channels = channels,
            .chunks_of_share = chunks_of_block(job, schedule) / channels};
}

namespace {

// Below this size a trial costs about as much as the pass itself, and the results fit in the
// caches.
constexpr Bytes worth_adapting{1 << 20};

// Unregistered memory is staged in pieces of the host's tuning, or of this size, which lets waiting
// ranks begin earlier.
constexpr Bytes small_piece{8 << 10};
constexpr int many_pieces = 16;  // so that the first one is only a small part
// Ranks that share cores switch for each piece, so they do not try small pieces of longer vectors.
// With 4 ranks on 2 cores, a broadcast of 64 KiB in pieces of 8 KiB takes 0.8 of the time of one
// piece. One of 512 KiB after a barrier takes 4 to 5 times as long as in pieces of 64 KiB.
constexpr Bytes most_in_small_pieces{64 << 10};
// From this size on it may be faster to let the kernel copy.
constexpr Bytes worth_system_call{4 << 10};
// Up to this size of a block ranks that share cores send messages, as ranks of several hosts do up
// to this size of the vector: a sender leaves long before the receiver comes. With 4 ranks on 2
// cores, a gather of 2 KiB blocks takes a fourth of the time that copies in shared memory take, of
// 16 KiB blocks a tenth less.
constexpr Bytes most_in_lines{16 << 10};

// Ranks that share cores copy vectors of up to this size also in memory that peers reach. Then no
// rank waits for the readers of its buffers. With 4 ranks on 2 cores, an all-gather of 4 KiB takes
// half of the time, one of 32 KiB as long.
constexpr Bytes most_copied{8 << 10};

// Up to this size a rank does not wait for the readers of its copy in the plan's memory. Room for
// more runs would cost more than it saves, as less of it stays in the nearest cache: with four, a
// broadcast of 4 KiB takes a fifth longer than without, with two it takes 6 % less.
constexpr Bytes most_run_ahead{64 << 10};
constexpr int most_runs_ahead = 1;

// Ranks that share cores and all send chunks of each segment keep the links busy together, in both
// halves of an all-reduce. More lanes of each would cost processor time, and overflow the queues of
// links. With 4 hosts of 2 ranks on 2 cores, an all-reduce of 16 MiB takes 0.66 of the time of 8
// lanes, and 0.97 at 1 Gbit/s; with 2 hosts of 4 ranks 0.94 and 0.86.
constexpr int most_lanes_on_shared_cores = 2;

int most_lanes_for(const RoutedCall& call, TransferMethods methods, const Job& job,
                   const Schedule& schedule) {
    const bool all_ranks_send = job.collective == Collective::all_reduce &&
                                job.order.channels.size() <= 1 &&
                                schedule.chunks() >= job.ranks * job.segments;
    const bool are_few = methods.are_hybrid() && call.oversubscribed && all_ranks_send;
    return are_few ? most_lanes_on_shared_cores : most_lanes;
}

// In place, an exchange reads from a copy of its input, which all lanes would have to wait for.
bool goes_in_lanes(const RoutedCall& call) {
    return !call.in_place || !CollectiveSpec{call.call.collective, call.ranks()}.exchanges();
}

// Returns whether copying unregistered memory through the kernel is expected to be faster for a
// call of this size.
bool is_worth_single_copy(const Call& call, int ranks, int chunks, const HostTuning& tuning) {
    const Bytes all{total_bytes(call, ranks)};
    switch (call.collective) {
        case Collective::reduce:  // with copies in and out, one rank copies while another adds
            return false;
        case Collective::all_reduce:  // if each rank adds only its share
            return all >= tuning.fetch_all_reduce_from && chunks >= ranks;
        case Collective::broadcast:
            return all >= tuning.fetch_from;
        case Collective::scatter:
            return all.count / ranks >= tuning.fetch_from.count;
        default:
            return all.count / ranks * (ranks - 1) >= tuning.fetch_from.count;
    }
}

// Returns into how many pieces a chunk is divided for the kernel's copies: two if the sender (a
// root, or the leaf of a gather) may have nothing else to copy. Then it writes one piece, and the
// receiver reads the other. A broadcast of 512 KiB between two ranks takes 0.4 to 0.6 of the time;
// 0.7 if the time includes reading the result.
int pieces_of_shared_copy(const RoutedCall& call) {
    return call.in_place && has_root(call.call.collective) && !reduces(call.call.collective) ? 2
                                                                                             : 1;
}

// Returns the number of pieces of about that size in which a schedule is copied in and out.
int copy_in_pieces(const Call& call, int ranks, int chunks, Bytes piece) {
    const Layout layout(call, CollectiveSpec{call.collective, ranks, call.root}, Rank{0}, chunks);
    const auto chunk = static_cast<std::int64_t>(layout.most_bytes_of_chunk());
    return static_cast<int>(std::clamp<std::int64_t>(chunk / piece.count, 1, 4096));
}

// Adds the ways for memory that peers cannot load and store.
void add_copying_ways(Route& route, const RoutedCall& call, TransferMethods methods,
                      const HostTuning& tuning) {
    using enum TransferMethod;
    const int ranks = call.ranks();
    const Bytes vector{total_bytes(call.call, ranks)};
    const bool may_try = methods.has(lines);
    const auto pieces_of = [&](Bytes piece) {
        return copy_in_pieces(call.call, ranks, route.schedule.chunks(), piece);
    };
    if (methods.has(copy_in_copy_out)) {
        const int pieces = pieces_of(tuning.stage_piece), more = pieces_of(small_piece);
        Way way{.method = copy_in_copy_out,
                .pieces = pieces,
                .runs_ahead = vector <= most_run_ahead ? most_runs_ahead : 0};
        route.ways.push_back(way);
        way.pieces = more;
        const bool may_gain = more > pieces && pieces < many_pieces &&
                              (!call.oversubscribed || vector <= most_in_small_pieces);
        if (may_try && may_gain) route.ways.push_back(way);
    }
    if (methods.has(single_copy) && (!may_try || vector >= worth_system_call)) {
        if (is_worth_single_copy(call.call, ranks, route.schedule.chunks(), tuning))
            route.expected = route.ways.size();
        route.ways.push_back({.method = single_copy, .pieces = pieces_of_shared_copy(call)});
    }
}

// Returns whether a call copies its buffers even if peers reach them. In place, ranks would wait
// for the readers of their buffers.
bool is_copied_anyway(const RoutedCall& call) {
    return call.oversubscribed && Bytes{total_bytes(call.call, call.ranks())} <= most_copied;
}

// Returns whether the blocks of a call go in lines.
bool is_for_lines(const RoutedCall& call, bool is_in_place, const HostTuning& tuning) {
    const Bytes block{static_cast<std::int64_t>(bytes_of_block(call.call))};
    const bool runs_ahead = call.oversubscribed && has_root(call.call.collective);
    if (runs_ahead && !is_in_place) return block <= most_in_lines;
    const Bytes most = is_in_place ? tuning.ll_up_to : tuning.ll_up_to_unregistered;
    // One copy of a block is enough for two ranks, more ranks need one for each peer: with 4 ranks
    // on 2 cores, an all-gather of blocks of 512 bytes takes a sixth longer in lines, of 256 as
    // long.
    if (call.ranks() == 2) return block.count <= 2 * most.count;
    return (is_in_place ? Bytes{total_bytes(call.call, call.ranks())} : block) <= most;
}

}  // namespace

Schedule schedule_of(const Schedule& whole, const Way& way) {
    return way.method == TransferMethod::single_copy ? whole.finer(way.pieces)
                                                     : pipelined(whole, way.pieces);
}

// The kernel copies the blocks of the peers through the caches, so a rank copies its own block the
// same way. With non-temporal stores, an all_to_all of 8 MiB between two ranks takes 1.5 times as
// long (Zen 5, 32 MiB of cache). From 16 MiB on, both kinds of stores take the same time.
StoreChoice stores_of(const StoreChoice& whole, Collective collective, const Way& way) {
    return way.method == TransferMethod::single_copy && !reduces(collective) ? StoreChoice()
                                                                             : whole;
}

int RoutedCall::ranks() const {
    std::size_t ranks = 0;
    for (const auto& host : hosts.nodes()) ranks += host.size();
    return static_cast<int>(ranks);
}

Bytes bytes_of_all_buffers(const RoutedCall& call) {
    const int ranks = call.ranks();
    Bytes all;
    for (const Rank rank : all_ranks(ranks)) {
        const std::size_t input = input_bytes(call.call, ranks, rank),
                          output = output_bytes(call.call, ranks, rank);
        all.count +=
            static_cast<std::int64_t>(call.in_place ? std::max(input, output) : input + output);
    }
    return all;
}

Route route_of(const Choice& choice, const RoutedCall& call, TransferMethods methods,
               const HostTuning& tuning) {
    using enum TransferMethod;
    const TransportRow& transport = find_transport(choice.configuration.transport);
    const Job job = job_of(choice, call.call, call.ranks(), call.hosts);
    if (const auto refusal = choice.algorithm->refuses(job)) throw Error(*refusal);
    Route route{.schedule = build_in_order(*choice.algorithm, job), .buffers = call.buffers};
    const Bytes vector{total_bytes(call.call, job.ranks)};
    if (methods.are_of_devices()) {
        route.ways = {{vector <= transport.device_lines_up_to ? device_lines : device_memory}};
        return route;
    }
    // Ranks of one host also reach each other's memory, which is worth its waits for larger calls.
    Way way{methods.has_only({lines}) ? lines : messages};
    if (methods.has(messages) && goes_in_lanes(call) && !transport.between_devices)
        way.lanes = lanes_for(*choice.algorithm, job, route.schedule,
                              most_lanes_for(call, methods, job, route.schedule));
    if (methods.are_messages() || call.buffers == BufferKind::device ||
        (methods.are_hybrid() && vector <= most_in_lines)) {
        route.ways = {way};
        return route;
    }
    const Bytes all_buffers = bytes_of_all_buffers(call);
    route.stores =
        StoreChoice(all_buffers >= tuning.stream_from ? Stores::streaming : Stores::cached,
                    tuning.adapts_stores && all_buffers >= worth_adapting);
    const bool is_registered = methods.has(registered) && call.buffers == BufferKind::registered;
    const bool is_mapped =
        methods.has_only({mapped}) || (methods.has(mapped) && call.buffers == BufferKind::mapped);
    const bool is_in_place =
        (is_registered || is_mapped) && !(methods.has(copy_in_copy_out) && is_copied_anyway(call));
    if (methods.has(lines) && is_for_lines(call, is_in_place, tuning))
        route.ways = {{lines}};
    else if (is_in_place)
        route.ways = {{.method = is_registered ? registered : mapped, .lanes = way.lanes}};
    else if (methods
                 .are_hybrid())  // ranks of several hosts cannot compare their times at each call
        route.ways = {{.method = methods.has(single_copy) ? single_copy : copy_in_copy_out,
                       .lanes = way.lanes}};
    else
        add_copying_ways(route, call, methods, tuning);
    return route;
}

}  // namespace tutti
