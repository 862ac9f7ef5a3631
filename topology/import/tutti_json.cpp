// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <set>
#include <type_traits>

#include "base/json_value.hpp"
#include "topology/import/formats.hpp"
#include "topology/machine/machine_fields.hpp"

namespace tutti {
namespace {

// Takes fields out of JSON objects: what a field lacks keeps its default (unknown), what has the
// wrong type, and a field that no part of a machine has, is an error with the way to it.
class Reader {
public:
    Reader(const JsonValue& object, std::string way, const Source& source)
        : object_(object), way_(std::move(way)), source_(source) {
        if (!object.object()) fail(object, way_, "an object {...}");
    }

    template <class Part>
    void operator()(const char* field, Part& part) {
        known_.push_back(field);
        if (const JsonValue* value = object_.find(field)) read(*value, way_to(field), part);
    }

    // To be called after all fields were visited.
    void refuse_others() const {
        for (const auto& [field, value] : *object_.object()) {
            bool known = false;
            for (const std::string_view name : known_) known = known || name == field;
            if (known) continue;
            std::string names;
            for (const std::string_view name : known_) names.append(" ").append(name);
            source_.fail(value.line, fmt::format("unknown field {}; known here:{}",
                                                 in_quotes(way_to(field)), names));
        }
    }

private:
    std::string way_to(std::string_view field) const {
        return way_ + (way_.empty() ? "" : ".") + std::string(field);
    }

    [[noreturn]] void fail(const JsonValue& value, const std::string& way,
                           const std::string& wanted) const {
        source_.fail(value.line, fmt::format("{} is not {}",
                                             way.empty() ? "the file" : in_quotes(way), wanted));
    }

    template <class Number>
    Number whole_number(const JsonValue& value, const std::string& way) const {
        const auto* number = std::get_if<std::int64_t>(&value.value);
        if (!number || *number < 0 || *number > std::numeric_limits<Number>::max())
            fail(value, way,
                 fmt::format("a whole number from 0 to {}", std::numeric_limits<Number>::max()));
        return static_cast<Number>(*number);
    }

    void read(const JsonValue& value, const std::string& way, std::string& text) const {
        const auto* given = std::get_if<std::string>(&value.value);
        if (!given) fail(value, way, "a text \"...\"");
        text = *given;
    }

    void read(const JsonValue& value, const std::string& way, int& number) const {
        number = whole_number<int>(value, way);
    }

    void read(const JsonValue& value, const std::string& way, std::int64_t& number) const {
        number = whole_number<std::int64_t>(value, way);
    }

    void read(const JsonValue& value, const std::string& way, double& number) const {
        if (const auto* exact = std::get_if<std::int64_t>(&value.value))
            number = static_cast<double>(*exact);
        else if (const auto* given = std::get_if<double>(&value.value))
            number = *given;
        else
            fail(value, way, "a number");
        if (!(number >= 0)) fail(value, way, "a number from 0 upwards");
    }

    void read(const JsonValue& value, const std::string& way, std::optional<int>& number) const {
        if (std::holds_alternative<std::nullptr_t>(value.value))
            number.reset();
        else
            number = whole_number<int>(value, way);
    }

    template <class Part>
    void read(const JsonValue& value, const std::string& way, std::vector<Part>& parts) const {
        const auto* list = value.list();
        if (!list) fail(value, way, "a list [...]");
        for (std::size_t i = 0; i < list->size(); ++i)
            read((*list)[i], fmt::format("{}[{}]", way, i), parts.emplace_back());
    }

    template <class Part>
    void read(const JsonValue& value, const std::string& way, Part& part) const {
        if constexpr (std::is_enum_v<Part>) {
            const auto* given = std::get_if<std::string>(&value.value);
            std::string choices;
            for (const auto& [choice, word] : words_for<Part>) {
                if (given && *given == word) {
                    part = choice;
                    return;
                }
                choices += (choices.empty() ? "one of " : ", ") + std::string(word);
            }
            fail(value, way, choices);
        } else {
            Reader inner(value, way, source_);
            visit_fields(inner, part);
            inner.refuse_others();
        }
    }

    const JsonValue& object_;
    std::string way_;
    const Source& source_;
    std::vector<std::string_view> known_;
};

constexpr int most_links = 1024;  // between the same two ends

// The positions in a host must lead somewhere, and sums must fit.
class References {
public:
    References(const Host& host, const JsonValue& json, const Source& source)
        : host_(host), json_(json), source_(source) {}

    void check() {
        check_numa_nodes();
        check_cores("packages", host_.packages);
        check_cores("numa_nodes", host_.numa_nodes);
        check_cores("caches", host_.caches);
        check_switches();
        for (std::size_t i = 0; i < host_.devices.size(); ++i)
            if (const auto above = host_.devices[i].above;
                above && static_cast<std::size_t>(*above) >= host_.pcie_switches.size())
                fail("devices", i,
                     fmt::format("above is {}, but there are {} pcie_switches", *above,
                                 host_.pcie_switches.size()));
        for (std::size_t i = 0; i < host_.links.size(); ++i)
            if (host_.links[i].count > most_links)
                fail("links", i,
                     fmt::format("count is {}; give 0 to {}", host_.links[i].count, most_links));
        for (std::size_t i = 0; i < host_.links.size(); ++i)
            for (const LinkEnd end : {host_.links[i].a, host_.links[i].b}) check_end(i, end);
        for (std::size_t i = 0; i < host_.no_peer_access.size(); ++i)
            for (const int gpu : {host_.no_peer_access[i].a, host_.no_peer_access[i].b})
                check_device("no_peer_access", i, gpu);
        for (std::size_t i = 0; i < host_.cores.size(); ++i)
            for (const int cpu : host_.cores[i].threads)
                if (cpu >= most_cpus) fail("cores", i, fmt::format("no machine has a CPU {}", cpu));
    }

private:
    [[noreturn]] void fail(const char* field, std::size_t position, const std::string& what) const {
        const JsonValue& part = (*json_.find(field)->list())[position];
        source_.fail(part.line, fmt::format("{}[{}]: {}", field, position, what));
    }

    void check_numa_nodes() {
        constexpr std::int64_t most_bytes = std::int64_t{1} << 60;
        std::int64_t bytes = 0;
        for (std::size_t i = 0; i < host_.numa_nodes.size(); ++i) {
            const NumaNode& node = host_.numa_nodes[i];
            if (!numa_nodes_.insert(node.os_index).second)
                fail("numa_nodes", i, fmt::format("os_index {} is there twice", node.os_index));
            if (node.memory.count > most_bytes - bytes)
                fail("numa_nodes", i, "no host has more than 2^60 bytes of memory");
            bytes += node.memory.count;
        }
    }

    template <class Part>
    void check_cores(const char* field, const std::vector<Part>& parts) const {
        for (std::size_t i = 0; i < parts.size(); ++i) {
            int least = 0;
            for (const int core : parts[i].cores) {
                if (core < least || static_cast<std::size_t>(core) >= host_.cores.size())
                    fail(field, i,
                         fmt::format("cores must be ascending positions in cores, which has {}",
                                     host_.cores.size()));
                least = core + 1;
            }
        }
    }

    void check_switches() const {
        constexpr int deepest = 64;
        std::vector<int> depth;
        for (std::size_t i = 0; i < host_.pcie_switches.size(); ++i) {
            const auto above = host_.pcie_switches[i].above;
            if (above && static_cast<std::size_t>(*above) >= i)
                fail("pcie_switches", i,
                     fmt::format("above is {}; give a switch that comes before", *above));
            depth.push_back(above ? depth[*above] + 1 : 1);
            if (depth.back() > deepest) fail("pcie_switches", i, "too many switches above");
        }
    }

    void check_device(const char* field, std::size_t part, int device) const {
        if (static_cast<std::size_t>(device) >= host_.devices.size())
            fail(field, part,
                 fmt::format("no device {}, as there are {}", device, host_.devices.size()));
    }

    void check_end(std::size_t link, LinkEnd end) const {
        if (end.kind == LinkEnd::Kind::device) check_device("links", link, end.index);
        if (end.kind == LinkEnd::Kind::numa_node && !numa_nodes_.contains(end.index))
            fail("links", link, fmt::format("no NUMA node has os_index {}", end.index));
    }

    const Host& host_;
    const JsonValue& json_;
    const Source& source_;
    std::set<int> numa_nodes_;
};

}  // namespace

Machine read_tutti_json(const Source& source) {
    const JsonValue json = parse_json(source);
    Reader reader(json, "", source);
    std::string kind;
    std::int64_t version = 0;
    Machine machine;
    reader("v", version);
    reader("kind", kind);
    if (kind != "machine" || version != 1)
        source.fail(json.line,
                    "JSON without \"v\": 1 and \"kind\": \"machine\"; give what "
                    "`tutti topo --json` prints");
    visit_fields(reader, machine);
    reader.refuse_others();
    const JsonValue* hosts = json.find("hosts");
    if (machine.hosts.empty()) source.fail(json.line, "'hosts' is missing or empty");
    for (std::size_t i = 0; i < machine.hosts.size(); ++i)
        References(machine.hosts[i], (*hosts->list())[i], source).check();
    const auto count = static_cast<int>(machine.hosts.size());
    for (std::size_t i = 0; i < machine.network.size(); ++i)
        if (machine.network[i].from >= count || machine.network[i].to >= count)
            source.fail((*json.find("network")->list())[i].line,
                        fmt::format("network[{}] leads to a host that is not there: give 0 to {}",
                                    i, count - 1));
    return machine;
}

}  // namespace tutti
