// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/index.hpp"
#include "workloads/traces/trace_forms.hpp"

namespace tutti {
namespace {

// Reads protobuf's wire format: fields of varints, fixed numbers, and bytes with their length.
// libprotobuf would need a compiler of schemas in each build, for three kinds of messages.
class Wire {
public:
    Wire(std::string_view bytes, const Source& source, int message)
        : rest_(bytes), source_(&source), message_(message) {}

    struct Field {
        std::uint64_t number = 0, value = 0;
        std::string_view bytes = {};
        bool has_bytes = false;
    };

    bool is_done() const { return rest_.empty(); }
    Wire within(std::string_view bytes) const { return {bytes, *source_, message_}; }
    int message() const { return message_; }
    void set_message(int number) { message_ = number; }

    std::uint64_t varint() {
        std::uint64_t value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            const auto byte = static_cast<unsigned char>(take(1).front());
            value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
            if (byte < 0x80) return value;
        }
        fail("has a number of more than 64 bits");
    }
    std::string_view with_length() { return take(varint()); }

    Field field() {
        const std::uint64_t tag = varint();
        Field field{.number = tag >> 3};
        if (field.number == 0) fail("has a field without a number");
        switch (tag & 7) {
            case 0:
                field.value = varint();
                break;
            case 1:
                field.value = fixed(8);
                break;
            case 2:
                field.bytes = with_length();
                field.has_bytes = true;
                break;
            case 5:
                field.value = fixed(4);
                break;
            default:
                fail(fmt::format("has a field of the unknown kind {}", tag & 7));
        }
        return field;
    }

    [[noreturn]] void fail(const std::string& what) const {
        throw Error(
            fmt::format("{}: message {} {}; use a Chakra trace (.et), or record or copy it "
                        "again",
                        source_->name(), message_, what));
    }

private:
    std::string_view take(std::uint64_t bytes) {
        if (bytes > rest_.size()) fail("is cut off");
        const std::string_view taken = rest_.substr(0, bytes);
        rest_.remove_prefix(bytes);
        return taken;
    }
    std::uint64_t fixed(std::size_t bytes) {
        const std::string_view taken = take(bytes);
        std::uint64_t value = 0;
        for (std::size_t i = bytes; i-- > 0;)  // little-endian
            value = value << 8 | static_cast<unsigned char>(taken[i]);
        return value;
    }

    std::string_view rest_;
    const Source* source_;
    int message_;
};

JsonValue value_of(int line, auto value) { return {line, std::move(value)}; }

void add(JsonValue::Object& object, const char* name, JsonValue value) {
    object.push_back({name, std::move(value)});
}

// The fields of a message keep their number of the schema et_def.proto of mlcommons/chakra.
JsonValue attribute_in(Wire wire, std::string& name) {
    enum : std::uint64_t { name_field = 1, sint32 = 15, sint64 = 17, text = 29 };
    JsonValue value = value_of(wire.message(), nullptr);
    while (!wire.is_done()) {
        const auto field = wire.field();
        if (field.number == name_field) {
            name = field.bytes;
        } else if (field.number == text && field.has_bytes) {
            value.value = std::string(field.bytes);
        } else if (field.number > 2 && !field.has_bytes && field.number > 6) {
            const bool is_zigzag = field.number == sint32 || field.number == sint64;
            const std::uint64_t number =
                is_zigzag ? (field.value >> 1) ^ (~(field.value & 1) + 1) : field.value;
            value.value = std::bit_cast<std::int64_t>(number);
        }
    }
    return value;
}

void add_dependencies(JsonValue::List& deps, const Wire& wire, const Wire::Field& field) {
    const auto add_one = [&](std::uint64_t id) {
        deps.push_back(value_of(wire.message(), std::bit_cast<std::int64_t>(id)));
    };
    if (!field.has_bytes) return add_one(field.value);
    for (Wire packed = wire.within(field.bytes); !packed.is_done();) add_one(packed.varint());
}

JsonValue node_in(Wire wire) {
    enum : std::uint64_t { id = 1, name, type, control, data, start, duration, attribute = 10 };
    const int line = wire.message();
    JsonValue::Object node, attributes;
    JsonValue::List deps;
    std::int64_t id_value = 0, type_value = 0, duration_value = 0;
    std::string name_value;
    while (!wire.is_done()) {
        const auto field = wire.field();
        const auto number = std::bit_cast<std::int64_t>(field.value);
        switch (field.number) {
            case id:
                id_value = number;
                break;
            case name:
                name_value = field.bytes;
                break;
            case type:
                type_value = number;
                break;
            case control:
            case data:
                add_dependencies(deps, wire, field);
                break;
            case duration:
                duration_value = number;
                break;
            case attribute: {
                std::string name;
                JsonValue value = attribute_in(wire.within(field.bytes), name);
                std::erase_if(attributes, [&](const JsonField& one) { return one.name == name; });
                attributes.push_back({name, std::move(value)});
                break;
            }
            default:
                break;
        }
    }
    add(node, "id", value_of(line, id_value));
    add(node, "name", value_of(line, name_value));
    add(node, "type", value_of(line, type_value));
    add(node, "duration_micros", value_of(line, duration_value));
    add(node, "deps", value_of(line, std::move(deps)));
    add(node, "attr", value_of(line, std::move(attributes)));
    return value_of(line, std::move(node));
}

}  // namespace

JsonValue chakra_messages_in(std::string_view bytes, const Source& source) {
    Wire wire(bytes, source, 1);
    wire.within(wire.with_length());  // the first message describes the trace
    JsonValue::List nodes;
    for (int number = 2; !wire.is_done(); ++number) {
        wire.set_message(number);
        nodes.push_back(node_in(wire.within(wire.with_length())));
    }
    JsonValue::Object document;
    add(document, "messages", value_of(1, std::move(nodes)));
    return value_of(1, std::move(document));
}

}  // namespace tutti
