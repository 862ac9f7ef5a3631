// SPDX-License-Identifier: Apache-2.0
// A switch whose cables have a given rate, delay, jitter and loss, for scripts/testhosts, as
// kernels may lack netem. An interface of each host is a TAP device whose frames this process
// moves. Bursts of frames that TCP sends as one (TSO) are moved as one, which saves CPU time.
//
//   delay_switch NAME PID,RATE,DELAY,JITTER,LOSS ...   the interface's name, and for each host: a
//                                                      process in its network namespace, bit/s
//                                                      (0: no limit), ns, ns, probability
// Prints "ready". Reads orders: "down I" and "up I" disconnect and connect host I. Ends at the end
// of its input, which removes the devices.
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "link.hpp"

namespace tutti::hosts {
namespace {

using Nanoseconds = std::int64_t;
using Address = std::array<unsigned char, 6>;

constexpr std::int64_t least_queue = 512 * 1024;
constexpr Nanoseconds queue_ns = 10'000'000;   // queue of a port, some milliseconds
constexpr Nanoseconds backlog_ns = 1'000'000;  // then the host has to wait
constexpr Nanoseconds spin_ns = 30'000;        // possible excess of a sleep

// The header of each frame of a device with IFF_VNET_HDR. The kernel's header file is not valid
// C++.
struct DeviceHeader {
    std::uint8_t flags, gso_type;
    std::uint16_t hdr_len, gso_size, csum_start, csum_offset;
};
static_assert(sizeof(DeviceHeader) == 10);

Nanoseconds now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

void require(bool holds, const std::string& what) {
    if (!holds) throw std::runtime_error(what + ": " + std::strerror(errno));
}

struct Port {
    int tap = -1;
    bool is_up = true;
    Link up, down;  // to the switch, from the switch
    Nanoseconds jitter = 0;
    double loss = 0;
};

struct Burst {
    std::vector<char> data;  // the device's header, then the burst as one frame
    std::int64_t bytes = 0;  // on the network
    std::int64_t frame = 0;  // bytes of the longest frame
    Nanoseconds last = 0;    // when its end arrives at the event's place
};

struct Event {
    Nanoseconds at;
    std::uint64_t number;  // first come, first served
    std::size_t port;      // the receiver's
    bool is_delivery;      // else its arrival at the switch
    std::shared_ptr<Burst> burst;
    bool operator<(const Event& other) const {
        return at != other.at ? at > other.at : number > other.number;
    }
};

// Returns a request about the interface of this name.
ifreq request_for(const std::string& name) {
    ifreq request{};
    if (name.size() >= sizeof request.ifr_name) throw std::runtime_error("too long: " + name);
    std::memcpy(request.ifr_name, name.data(), name.size());
    return request;
}

// Sets the device's speed, which programs read.
void set_speed(const std::string& name, double bits_per_second) {
    const int socket = ::socket(AF_INET, SOCK_DGRAM, 0);
    ethtool_cmd command{};
    command.cmd = ETHTOOL_SSET;
    command.duplex = DUPLEX_FULL;
    const auto megabits =
        static_cast<unsigned>(bits_per_second == 0 ? 10'000 : bits_per_second / 1e6);
    ethtool_cmd_speed_set(&command, std::max(1U, megabits));
    ifreq request = request_for(name);
    request.ifr_data = reinterpret_cast<char*>(&command);
    ioctl(socket, SIOCETHTOOL, &request);  // old kernels report 10 Mbit/s
    close(socket);
}

int open_tap(const std::string& name, const std::string& process, const Port& port) {
    const int space = open(("/proc/" + process + "/ns/net").c_str(), O_RDONLY | O_CLOEXEC);
    require(space >= 0 && setns(space, CLONE_NEWNET) == 0,
            "cannot enter the network of " + process);
    close(space);
    const int tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    require(tap >= 0, "/dev/net/tun");
    ifreq request = request_for(name);
    request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
    require(ioctl(tap, TUNSETIFF, &request) == 0, "no TAP device");
    // Single frames get lost.
    const unsigned offload = port.loss > 0 ? 0 : TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6;
    require(ioctl(tap, TUNSETOFFLOAD, offload) == 0, "no TSO");
    set_speed(name, port.up.bits_per_second);
    return tap;
}

Port make_port(const std::string& name, const std::string& words) {
    char process[32];
    double rate = 0, delay = 0, jitter = 0, loss = 0;
    if (std::sscanf(words.c_str(), "%31[0-9],%lf,%lf,%lf,%lf", process, &rate, &delay, &jitter,
                    &loss) != 5)
        throw std::runtime_error("not PID,RATE,DELAY,JITTER,LOSS: " + words);
    Port port;
    port.up.bits_per_second = port.down.bits_per_second = rate;
    port.up.delay_ns = port.down.delay_ns = static_cast<Nanoseconds>(delay);
    port.up.queue_bytes = port.down.queue_bytes =
        std::max(least_queue, static_cast<std::int64_t>(rate / 8e9 * queue_ns));
    port.jitter = static_cast<Nanoseconds>(jitter);
    port.loss = loss;
    port.tap = open_tap(name, process, port);
    return port;
}

class Switch {
public:
    explicit Switch(std::vector<Port> ports) : ports_(std::move(ports)) {}

    void run() {
        std::vector<pollfd> polled(ports_.size() + 1);
        for (;;) {
            const Nanoseconds time = now();
            while (!events_.empty() && events_.top().at <= time) happen();
            polled[0] = {STDIN_FILENO, POLLIN, 0};
            for (std::size_t i = 0; i < ports_.size(); ++i)
                polled[i + 1] = {
                    ports_[i].tap,
                    static_cast<short>(ports_[i].up.wait(time) < backlog_ns ? POLLIN : 0), 0};
            sleep(polled, time);
            if (polled[0].revents != 0 && !obey()) return;
            for (std::size_t i = 0; i < ports_.size(); ++i)
                if ((polled[i + 1].revents & POLLIN) != 0) receive(i);
        }
    }

private:
    // Waits for a frame or the next event. Spins at the end, unless there is much traffic: then
    // microseconds do not matter, and the ranks need the cores.
    void sleep(std::vector<pollfd>& polled, Nanoseconds time) {
        Nanoseconds until = time + 1'000'000'000;
        if (!events_.empty()) until = events_.top().at - (events_.size() < 4 ? spin_ns : 0);
        for (const Port& port : ports_)
            if (port.up.wait(time) >= backlog_ns)
                until = std::min(until, port.up.free_at - backlog_ns / 2);
        const Nanoseconds left = std::max<Nanoseconds>(0, until - time);
        const timespec timeout{left / 1'000'000'000, left % 1'000'000'000};
        ppoll(polled.data(), polled.size(), &timeout, nullptr);
    }

    // A read may return several orders or part of one.
    bool obey() {
        char text[256];
        const ssize_t size = read(STDIN_FILENO, text, sizeof text);
        if (size <= 0) return false;
        orders_.append(text, static_cast<std::size_t>(size));
        for (std::size_t end; (end = orders_.find('\n')) != std::string::npos;) {
            follow(orders_.substr(0, end));
            orders_.erase(0, end + 1);
        }
        return true;
    }

    void follow(const std::string& order) {
        char word[8];
        unsigned index = 0;
        if (std::sscanf(order.c_str(), "%7s %u", word, &index) != 2 || index >= ports_.size())
            return;
        const int carrier = std::strcmp(word, "up") == 0;
        ports_[index].is_up = carrier != 0;
        ioctl(ports_[index].tap, TUNSETCARRIER, &carrier);
    }

    // Reads all frames of a host that its cable can carry by now.
    void receive(std::size_t from) {
        Port& port = ports_[from];
        for (Nanoseconds time = now(); port.up.wait(time) < backlog_ns; time = now()) {
            const ssize_t size = read(port.tap, buffer_.data(), buffer_.size());
            if (size < static_cast<ssize_t>(sizeof(DeviceHeader) + 14)) return;
            if (!port.is_up || is_lost(port)) continue;
            auto burst = std::make_shared<Burst>();
            burst->data.assign(buffer_.data(), buffer_.data() + size);
            measure(*burst);
            Nanoseconds first = 0;
            const Nanoseconds end = port.up.take(time, time, burst->bytes, burst->frame, first);
            const Nanoseconds delay = port.up.delay_ns + jitter(port);
            burst->last = end + delay;
            route(from, burst, first + delay);
        }
    }

    void measure(Burst& burst) const {
        DeviceHeader header;
        std::memcpy(&header, burst.data.data(), sizeof header);
        const auto size = static_cast<std::int64_t>(burst.data.size() - sizeof header);
        burst.bytes = burst.frame = size;
        if (header.gso_size == 0) return;
        const std::int64_t frames = (size - header.hdr_len + header.gso_size - 1) / header.gso_size;
        burst.bytes += (frames - 1) * header.hdr_len;
        burst.frame = header.hdr_len + header.gso_size;
    }

    void route(std::size_t from, const std::shared_ptr<Burst>& burst, Nanoseconds at) {
        Address to{}, source{};
        std::memcpy(to.data(), burst->data.data() + sizeof(DeviceHeader), 6);
        std::memcpy(source.data(), burst->data.data() + sizeof(DeviceHeader) + 6, 6);
        known_[source] = from;
        if (const auto found = known_.find(to); found != known_.end()) {
            plan(at, found->second, false, burst);
            return;
        }
        for (std::size_t port = 0; port < ports_.size(); ++port)
            if (port != from) plan(at, port, false, std::make_shared<Burst>(*burst));
    }

    void plan(Nanoseconds at, std::size_t port, bool is_delivery,
              const std::shared_ptr<Burst>& burst) {
        events_.push({at, ++number_, port, is_delivery, burst});
    }

    void happen() {
        const Event event = events_.top();
        events_.pop();
        Port& port = ports_[event.port];
        if (!port.is_up) return;
        Burst& burst = *event.burst;
        if (event.is_delivery) {
            // Frames that a full or closed device rejects are lost, as on a cable.
            [[maybe_unused]] const auto size =
                write(port.tap, burst.data.data(), burst.data.size());
            return;
        }
        if (port.down.is_full(event.at) || is_lost(port)) return;
        Nanoseconds first = 0;
        const Nanoseconds end =
            port.down.take(event.at, burst.last, burst.bytes, burst.frame, first);
        plan(end + port.down.delay_ns + jitter(port), event.port, true, event.burst);
    }

    Nanoseconds jitter(const Port& port) {
        return port.jitter == 0
                   ? 0
                   : std::uniform_int_distribution<Nanoseconds>(0, port.jitter)(random_);
    }

    bool is_lost(const Port& port) {
        return port.loss > 0 && std::uniform_real_distribution<>(0, 1)(random_) < port.loss;
    }

    std::vector<Port> ports_;
    std::priority_queue<Event> events_;
    std::map<Address, std::size_t> known_;  // port by address
    std::uint64_t number_ = 0;
    std::mt19937_64 random_{1};
    std::string orders_;
    std::vector<char> buffer_ = std::vector<char>(128 * 1024);
};

}  // namespace
}  // namespace tutti::hosts

int main(int argc, char** argv) {
    try {
        std::vector<tutti::hosts::Port> ports;
        for (int i = 2; i < argc; ++i) ports.push_back(tutti::hosts::make_port(argv[1], argv[i]));
        prctl(PR_SET_TIMERSLACK, 1UL);
        const sched_param priority{.sched_priority = 1};
        sched_setscheduler(0, SCHED_FIFO, &priority);  // optional; not allowed everywhere
        std::puts("ready");
        std::fflush(stdout);
        tutti::hosts::Switch(std::move(ports)).run();
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "delay_switch: %s\n", error.what());
        return 1;
    }
}
