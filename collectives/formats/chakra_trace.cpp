// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <bit>

#include "collectives/formats/format_writers.hpp"
#include "collectives/formats/simulated_nodes.hpp"

namespace tutti {
namespace {

// A message of protobuf's wire format. libprotobuf would need a compiler of schemas in each build.
class WireMessage {
public:
    WireMessage& number(int field, std::int64_t value) {
        varint(static_cast<std::uint64_t>(field) << 3);
        varint(static_cast<std::uint64_t>(value));
        return *this;
    }
    WireMessage& bytes(int field, std::string_view value) {
        varint(static_cast<std::uint64_t>(field) << 3 | 2);
        return append(value);
    }
    WireMessage& append(std::string_view value) {
        varint(value.size());
        text_ += value;
        return *this;
    }
    void varint(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7) add_byte(value | 0x80);
        add_byte(value);
    }
    const std::string& text() const { return text_; }

private:
    void add_byte(std::uint64_t byte) {
        text_ += std::bit_cast<char>(static_cast<unsigned char>(byte));
    }
    std::string text_;
};

// Field numbers and values of the schema et_def.proto of mlcommons/chakra.
constexpr int metadata_version = 1, node_id = 1, node_name = 2, node_type = 3, data_deps = 5,
              duration_micros = 7, node_attribute = 10, attribute_name = 1, int32_value = 7,
              int64_value = 9;
constexpr int compute_node = 4, send_node = 5, receive_node = 6;

void add_attribute(WireMessage& node, std::string_view name, int kind, std::int64_t value) {
    node.bytes(node_attribute,
               WireMessage().bytes(attribute_name, name).number(kind, value).text());
}

WireMessage message_node(const SimulatedNode& node, int type, std::string_view peer) {
    WireMessage wire;
    wire.number(node_type, type);
    add_attribute(wire, "comm_type", int64_value, type);
    add_attribute(wire, "comm_size", int64_value, node.bytes);
    add_attribute(wire, peer, int32_value, node.peer);
    add_attribute(wire, "comm_tag", int32_value, node.tag);
    return wire;
}

WireMessage node_of(const SimulatedNode& node, const ExportedSchedule& exported) {
    switch (node.kind) {
        case SimulatedNode::Kind::send:
            return message_node(node, send_node, "comm_dst");
        case SimulatedNode::Kind::receive:
            return message_node(node, receive_node, "comm_src");
        case SimulatedNode::Kind::compute:
            break;
    }
    // Whole microseconds are the only unit: a short reduction still takes one.
    const auto time = std::chrono::ceil<std::chrono::microseconds>(time_of(exported, node.bytes));
    WireMessage wire;
    wire.number(node_type, compute_node).number(duration_micros, time.count());
    return wire;
}

}  // namespace

std::vector<ExportedFile> chakra_trace(const ExportedSchedule& exported) {
    std::vector<ExportedFile> files;
    for (const std::vector<SimulatedNode>& nodes : simulated_nodes(exported)) {
        WireMessage file;
        file.append(WireMessage().bytes(metadata_version, "0.0.4").text());
        std::int64_t id = 0;
        for (const SimulatedNode& node : nodes) {
            WireMessage wire = node_of(node, exported);
            wire.number(node_id, id).bytes(node_name, fmt::format("{}_{}", exported.name, id));
            WireMessage deps;
            for (const int before : node.after) deps.varint(static_cast<std::uint64_t>(before));
            if (!node.after.empty()) wire.bytes(data_deps, deps.text());
            file.append(wire.text());
            ++id;
        }
        files.push_back({.name_end = fmt::format(".{}.et", files.size()), .text = file.text()});
    }
    return files;
}

}  // namespace tutti
