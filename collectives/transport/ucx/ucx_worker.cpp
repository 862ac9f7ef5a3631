// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/ucx/ucx_worker.hpp"

#include <ucp/api/ucp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <utility>

#include "base/clock.hpp"
#include "collectives/transport/ucx/ucx.hpp"
#include "collectives/world/host_processes.hpp"
#include "topology/detect/network_devices.hpp"
#include "topology/detect/ucx_resources.hpp"

namespace tutti {
namespace {

// A lost peer does not answer when its endpoint is closed.
constexpr std::int64_t close_timeout_ns = 2'000'000'000;
constexpr std::int64_t launcher_kills_within_ns = 2'000'000'000;  // Open MPI's takes 1 s

// Polling a network is a system call; this many polls take about a millisecond. A rank with a core
// of its own yields only after that: a busy program of another job would keep the core for a time
// slice of 3 ms. Within a host polls are short, and Backoff decides when to yield.
constexpr long polls_before_yield = 2048;

// This many polls without progress take about a millisecond.
constexpr long looks_between_watches = 8192;

std::string failed(const std::string& what, ucs_status_t status) {
    return "UCX cannot " + what + ": " + ucs_status_string(status);
}

// " posix/memory cma/memory": UCX has no call for it, but it prints lines such as
// "#   lane[0]:  7:posix/memory.0 md[4] ...".
std::string lanes_of(ucp_ep_h endpoint) {
    char* printed = nullptr;
    std::size_t length = 0;
    std::FILE* memory = open_memstream(&printed, &length);
    if (memory == nullptr) return " unknown lanes";
    ucp_ep_print_info(endpoint, memory);
    std::fclose(memory);
    std::string lanes;
    std::istringstream lines(printed);
    std::free(printed);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string hash, lane, transport;
        if (!(words >> hash >> lane >> transport) || !lane.starts_with("lane[")) continue;
        const auto begin = transport.find(':') + 1;
        const std::string name = ' ' + transport.substr(begin, transport.rfind('.') - begin);
        if (lanes.find(name) == lanes.npos) lanes += name;
    }
    return lanes;
}

bool is_set_by_user(const std::string& name) {
    return std::getenv(("UCX_" + name).c_str()) != nullptr;
}

// UCX warns about settings of a transport that it does not use. "^tcp,cma" means all but those two.
bool may_take_tcp() {
    const char* transports = std::getenv("UCX_TLS");
    const std::string_view named = transports == nullptr ? "all" : transports;
    const bool names_tcp = named.find("tcp") != named.npos;
    return named.starts_with('^') ? !names_tcp : names_tcp || named.find("all") != named.npos;
}

// Before UCX 1.17, ucp_config_modify took the name of a transport's setting without the transport:
// TX_SEG_SIZE.
std::string prefix_of_tcp() {
    unsigned major = 0, minor = 0, release = 0;
    ucp_get_version(&major, &minor, &release);
    return std::pair(major, minor) < std::pair(1U, 17U) ? "" : "TCP_";
}

std::string devices_near_this_rank() {
    if (is_set_by_user("NET_DEVICES")) return "";
    return near_devices(cards_of_this_host(), node_of_this_rank());
}

// Reads the user's UCX_* settings (environment, ucx.conf), and sets values that suit collectives
// better than UCX's defaults where the environment sets none. Returns null if UCX cannot read its
// settings: then it uses its defaults.
std::unique_ptr<ucp_config_t, void (*)(ucp_config_t*)> read_config(UcxReach reach,
                                                                   const std::string& devices) {
    ucp_config_t* config = nullptr;
    if (ucp_config_read(nullptr, nullptr, &config) != UCS_OK) return {nullptr, ucp_config_release};
    // TCP sends a message in pieces of the smaller of the two sizes, with one system call each: 8
    // KiB and 64 KiB by default. Pieces above 96 KiB are slower again:
    // docs/how-to/several_hosts.md.
    const std::string prefix = prefix_of_tcp();
    if (may_take_tcp())
        for (const std::string name : {"TX_SEG_SIZE", "RX_SEG_SIZE"})
            if (!is_set_by_user("TCP_" + name))
                ucp_config_modify(config, (prefix + name).c_str(), "96kb");
    // A connection over a link that carries nothing would take minutes to fail.
    if (!devices.empty() && !is_set_by_user("TCP_CONN_NB"))
        ucp_config_modify(config, (prefix + "CONN_NB").c_str(), "y");
    const std::string& chosen = devices.empty() ? devices_near_this_rank() : devices;
    if (!chosen.empty()) ucp_config_modify(config, "NET_DEVICES", chosen.c_str());
    // With shared memory, UCX starts in 13 ms instead of 4 ms and uses 4 MiB more memory per rank.
    if (reach == UcxReach::other_hosts && !is_set_by_user("TLS"))
        ucp_config_modify(config, "TLS", "^sm,self");
    return {config, ucp_config_release};
}

}  // namespace

std::vector<std::string> devices_of_rails(World& world) {
    std::map<std::string, std::string> device_of;
    if (world.one_host()) return {};
    if (!is_set_by_user("NET_DEVICES") && may_take_tcp() && devices_near_this_rank().empty())
        device_of = equal_devices(cards_of_this_host());
    std::string networks;
    for (const auto& [network, device] : device_of) networks += network + '\n';
    for (const std::string& of_rank : gather_all_texts(world, networks))
        std::erase_if(device_of, [&](const auto& one) {
            return ('\n' + of_rank).find('\n' + one.first + '\n') == std::string::npos;
        });
    if (device_of.size() < 2) return {};
    std::vector<std::string> devices;
    for (const auto& [network, device] : device_of) devices.push_back(device);
    return devices;
}

UcxWorker::UcxWorker(World& world, UcxReach reach, const std::string& devices)
    : world_(world),
      unwinding_before_(std::uncaught_exceptions()),
      neighbours_(world),
      is_on_trial_(!devices.empty()) {
    try {
        exchange(open(reach, devices));
        reach_neighbours(reach);
    } catch (...) {
        is_in_trouble_ = true;
        release();
        throw;
    }
    if (!world_.one_host()) looks_before_yield_ = polls_before_yield;
    if (world_.oversubscribed) looks_before_yield_ = 0;
    world_.register_progress(*this);
}

UcxWorker::~UcxWorker() {
    is_leaving_ = true;
    is_in_trouble_ = is_on_trial_ || lost_ || world_.has_given_up ||
                     std::uncaught_exceptions() != unwinding_before_;
    // A barrier: no endpoint is closed while other ranks still send.
    if (!is_in_trouble_) try {
            world_.barrier();
        } catch (const std::exception&) {  // late peers do not matter any more
            is_in_trouble_ = true;
        }
    world_.unregister_progress(*this);
    release();
}

// The part of the setup that needs no peer; returns the reason of a failure, or nothing.
std::string UcxWorker::open(UcxReach reach, const std::string& devices) {
    static std::mutex one_thread_looks;  // at the environment and settings
    const std::lock_guard lock(one_thread_looks);
    if (std::string missing = missing_for_ucx(); !missing.empty()) return missing;
    const auto config = read_config(reach, devices);
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS |
                        UCP_PARAM_FIELD_ESTIMATED_NUM_PPN | UCP_PARAM_FIELD_NAME;
    params.features = UCP_FEATURE_TAG;
    params.estimated_num_eps = as_size(world_.size());
    params.estimated_num_ppn = world_.hosts().nodes().front().size();
    params.name = "tutti";
    ucs_status_t status = ucp_init(&params, config.get(), &context_);
    if (status != UCS_OK) return failed("make a context", status);

    ucp_context_attr_t attributes{.field_mask = UCP_ATTR_FIELD_REQUEST_SIZE};
    status = ucp_context_query(context_, &attributes);
    if (status != UCS_OK) return failed("describe its context", status);
    request_bytes_ = attributes.request_size;

    ucp_worker_params_t worker{};
    worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;  // a program may hand its calls over
    status = ucp_worker_create(context_, &worker, &worker_);
    return status == UCS_OK ? "" : failed("make a worker", status);
}

void UcxWorker::exchange(std::string refusal) {
    std::string address;
    if (refusal.empty()) {
        ucp_address_t* bytes = nullptr;
        std::size_t length = 0;
        const ucs_status_t status = ucp_worker_get_address(worker_, &bytes, &length);
        if (status == UCS_OK) {
            address.assign(reinterpret_cast<const char*>(bytes), length);
            ucp_worker_release_address(worker_, bytes);
        } else {
            refusal = failed("give its address", status);
        }
    }
    const auto works = gather_all(world_, static_cast<char>(refusal.empty()));
    addresses_ = gather_all_texts(world_, refusal.empty() ? address : refusal);
    for (int rank = 0; rank < world_.size(); ++rank) {
        const auto i = as_size(rank);
        if (works[i] == 0) throw Error("on rank " + std::to_string(rank) + " " + addresses_[i]);
        peers_.push_back({.owner = this, .rank = {rank}});
    }
    for (const Rank member : world_.ranks_of_host()) of(member).is_on_this_host = true;
}

// Connects to one rank of the next host and, with UcxReach::all_ranks, to one of this host. If they
// cannot be reached, all ranks learn it now.
void UcxWorker::reach_neighbours(UcxReach reach) {
    std::string refusal;
    try {
        const auto& hosts = world_.hosts().nodes();
        for (std::size_t host = 0; host < hosts.size(); ++host) {
            const auto me = std::find(hosts[host].begin(), hosts[host].end(), world_.rank());
            if (me == hosts[host].end()) continue;
            const auto next = me + 1 == hosts[host].end() ? hosts[host].begin() : me + 1;
            if (*next != world_.rank() && reach == UcxReach::all_ranks) connect(*next);
            if (hosts.size() > 1) connect(hosts[(host + 1) % hosts.size()].front());
        }
    } catch (const Error& error) {
        refusal = error.what();
    }
    for (const std::string& of_rank : gather_all_texts(world_, refusal))
        if (!of_rank.empty()) throw Error(of_rank);
}

void UcxWorker::connect(Rank peer) {
    Peer& other = of(peer);
    if (other.endpoint != nullptr) return;
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                        UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.address = reinterpret_cast<const ucp_address_t*>(at(addresses_, peer).data());
    // For an endpoint within a host that reports errors, UCX would not use its fastest transports,
    // and would check the peer only every 20 s: so we check it ourselves.
    params.err_mode =
        other.is_on_this_host ? UCP_ERR_HANDLING_MODE_NONE : UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler.arg = &other;
    params.err_handler.cb = [](void* argument, ucp_ep_h, ucs_status_t status) {
        const Peer& lost = *static_cast<Peer*>(argument);
        lost.owner->lose(lost.rank, ucs_status_string(status));
    };
    const ucs_status_t status = ucp_ep_create(worker_, &params, &other.endpoint);
    if (status == UCS_OK) return;
    other.endpoint = nullptr;
    throw Error("UCX finds no transport from rank " + std::to_string(world_.rank().index) +
                " to rank " + std::to_string(peer.index) + " (" + ucs_status_string(status) +
                "): check UCX_TLS and UCX_NET_DEVICES, or use --transport mpi");
}

std::string UcxWorker::connections() const {
    std::map<std::string, std::string> ranks_by_lanes;
    for (const Peer& peer : peers_)
        if (peer.endpoint != nullptr)
            ranks_by_lanes[lanes_of(peer.endpoint)].append(" ").append(
                std::to_string(peer.rank.index));
    std::string text;
    for (const auto& [lanes, ranks] : ranks_by_lanes)
        text += "; rank " + std::to_string(world_.rank().index) + " to" + ranks + " by" + lanes;
    return text;
}

bool UcxWorker::progress() {
    if (ucp_worker_progress(worker_) != 0) {
        idle_looks_ = 0;
        return true;
    }
    if (++idle_looks_ % looks_between_watches == 0) watch_neighbours();
    return false;
}

// A rank that ends with an error reports it itself, and its launcher ends the others: these report
// a lost peer only if that does not happen in time.
void UcxWorker::watch_neighbours() {
    const auto gone = neighbours_.ended();
    if (!gone) return;
    if (!gone_since_) gone_since_ = now_ns();
    if (now_ns() - *gone_since_ > launcher_kills_within_ns) lose(*gone, "its process has ended");
}

void UcxWorker::make_progress() {
    progress();
    if (!is_leaving_ && !is_on_trial_) throw_if_lost();
}

void UcxWorker::throw_lost() const {
    throw Error("rank " + std::to_string(world_.rank().index) + " lost rank " +
                    std::to_string(lost_->peer.index) + " (ucx): " + lost_->why,
                Exit::rank_lost);
}

// Endpoints to other hosts are closed by force: this rank has either met all others after their
// last message, or is unwinding an error. UCX does not support force within a host; during
// unwinding, those endpoints stay open.
void UcxWorker::close_endpoints() {
    std::vector<void*> under_way;
    for (Peer& peer : peers_) {
        if (peer.endpoint == nullptr) continue;
        if (peer.is_on_this_host && is_in_trouble_) continue;
        ucp_request_param_t force{};
        force.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
        force.flags = peer.is_on_this_host ? 0 : UCP_EP_CLOSE_FLAG_FORCE;
        void* closing = ucp_ep_close_nbx(peer.endpoint, &force);
        peer.endpoint = nullptr;
        if (UCS_PTR_IS_PTR(closing)) under_way.push_back(closing);
    }
    const std::int64_t end = now_ns() + close_timeout_ns;
    for (void* closing : under_way) {
        while (ucp_request_check_status(closing) == UCS_INPROGRESS && now_ns() < end) progress();
        ucp_request_free(closing);
    }
}

void UcxWorker::release() {
    if (!kept_.empty()) return;
    if (worker_ != nullptr) {
        close_endpoints();
        ucp_worker_destroy(worker_);
    }
    if (context_ != nullptr) ucp_cleanup(context_);
}

std::string ucx_version() { return ucp_get_version_string(); }

}  // namespace tutti
