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
                fail(fmt::format("has a field of unknown wire type {}", tag & 7));
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

// A node as both forms of the trace describe it. Fields that are missing are 0.
struct Node {
    int line;
    JsonValue id = value_of(line, std::int64_t{0}), type = id, duration = id;
    JsonValue name = value_of(line, std::string());
    JsonValue::List deps = {};
    JsonValue::Object attributes = {};

    void set_attribute(const std::string& key, JsonValue value) {
        std::erase_if(attributes, [&](const JsonField& one) { return one.name == key; });
        attributes.push_back({key, std::move(value)});
    }

    JsonValue value() && {
        return value_of(line, JsonValue::Object{{"id", std::move(id)},
                                                {"name", std::move(name)},
                                                {"type", std::move(type)},
                                                {"duration_micros", std::move(duration)},
                                                {"deps", value_of(line, std::move(deps))},
                                                {"attr", value_of(line, std::move(attributes))}});
    }
};

JsonValue document_of_nodes(JsonValue::List nodes) {
    return value_of(1, JsonValue::Object{{"messages", value_of(1, std::move(nodes))}});
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
        } else if (field.number > 6 && !field.has_bytes) {
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

Node node_in(Wire wire) {
    enum : std::uint64_t { id = 1, name, type, control, data, start, duration, attribute = 10 };
    Node node{.line = wire.message()};
    while (!wire.is_done()) {
        const auto field = wire.field();
        const JsonValue number = value_of(node.line, std::bit_cast<std::int64_t>(field.value));
        switch (field.number) {
            case id:
                node.id = number;
                break;
            case name:
                node.name = value_of(node.line, std::string(field.bytes));
                break;
            case type:
                node.type = number;
                break;
            case control:
            case data:
                add_dependencies(node.deps, wire, field);
                break;
            case duration:
                node.duration = number;
                break;
            case attribute: {
                std::string name;
                JsonValue value = attribute_in(wire.within(field.bytes), name);
                node.set_attribute(name, std::move(value));
                break;
            }
            default:
                break;
        }
    }
    return node;
}

// Returns a field of protobuf's JSON, which has names in camel case or as in the schema, and
// numbers of 64 bits as texts.
const JsonValue* proto_field(const JsonValue& object, std::string_view name) {
    if (const JsonValue* found = object.find(name)) return found;
    std::string in_camel_case;
    for (std::size_t i = 0; i < name.size(); ++i)
        in_camel_case += name[i] == '_' ? static_cast<char>(name[++i] - 'a' + 'A') : name[i];
    return object.find(in_camel_case);
}

JsonValue number_of(const JsonValue& value) {
    const auto number = value.text() ? decimal_number(*value.text()) : std::nullopt;
    return number ? value_of(value.line, *number) : value;
}

constexpr std::string_view node_types[] = {"INVALID_NODE",   "METADATA_NODE", "MEM_LOAD_NODE",
                                           "MEM_STORE_NODE", "COMP_NODE",     "COMM_SEND_NODE",
                                           "COMM_RECV_NODE", "COMM_COLL_NODE"};

// Reads {"name": "comm_size", "int64Val": "4096"}.
void read_attribute(const JsonValue& json, Node& node) {
    const JsonValue* const name = json.find("name");
    if (name == nullptr || !name->text()) return;
    for (const JsonField& field : *json.object())
        if (field.name == "stringVal" || field.name == "string_val")
            node.set_attribute(*name->text(), field.value);
        else if (field.name.ends_with("Val") || field.name.ends_with("_val"))
            node.set_attribute(*name->text(), number_of(field.value));
}

Node node_of(const JsonValue& json) {
    Node node{.line = json.line};
    if (const JsonValue* id = proto_field(json, "id")) node.id = number_of(*id);
    if (const JsonValue* name = proto_field(json, "name")) node.name = *name;
    if (const JsonValue* duration = proto_field(json, "duration_micros"))
        node.duration = number_of(*duration);
    if (const JsonValue* type = proto_field(json, "type")) {
        const auto* const known =
            type->text() ? std::ranges::find(node_types, *type->text()) : std::end(node_types);
        node.type = known == std::end(node_types)
                        ? number_of(*type)
                        : value_of(type->line, std::int64_t{known - node_types});
    }
    for (const char* kind : {"ctrl_deps", "data_deps"})
        if (const JsonValue* deps = proto_field(json, kind); deps && deps->list())
            std::ranges::transform(*deps->list(), std::back_inserter(node.deps), number_of);
    if (const JsonValue* attributes = json.find("attr"); attributes && attributes->list())
        for (const JsonValue& attribute : *attributes->list()) read_attribute(attribute, node);
    return node;
}

// Returns the JSON documents that follow each other in the text; none if the text is something
// else.
JsonValue::List documents_in(std::string_view text, const Source& source) {
    JsonValue::List documents;
    int depth = 0, line = 1, first_line = 1;
    bool is_in_text = false;
    std::size_t begin = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '\n') ++line;
        if (c == '"') is_in_text = !is_in_text;
        if (c == '\\') ++at;
        if (is_in_text) continue;
        if (c == '{' && depth++ == 0) {
            begin = at;
            first_line = line;
        }
        if (c == '}' && --depth == 0)
            documents.push_back(parse_json(text.substr(begin, at + 1 - begin), source, first_line));
        if (depth < 0) return {};
    }
    if (depth > 0 && !documents.empty())
        source.fail(first_line, "cut off; record or copy the trace again");
    return documents;
}

}  // namespace

JsonValue chakra_messages_in(std::string_view bytes, const Source& source) {
    Wire wire(bytes, source, 1);
    wire.within(wire.with_length());  // the first message describes the trace
    JsonValue::List nodes;
    for (int number = 2; !wire.is_done(); ++number) {
        wire.set_message(number);
        nodes.push_back(node_in(wire.within(wire.with_length())).value());
    }
    return document_of_nodes(std::move(nodes));
}

bool is_chakra_node(const JsonValue& json) {
    const JsonValue* const type = json.find("type");
    return type && type->text() &&
           std::ranges::find(node_types, *type->text()) != std::end(node_types);
}

JsonValue chakra_messages_of(const JsonValue::List& documents) {
    JsonValue::List nodes;
    for (const JsonValue& json : documents)
        if (&json != &documents.front() ||
            is_chakra_node(json))  // the first may describe the trace
            nodes.push_back(node_of(json).value());
    return document_of_nodes(std::move(nodes));
}

std::optional<JsonValue> chakra_messages_in_json(std::string_view text, const Source& source) {
    const JsonValue::List documents = documents_in(text, source);
    if (std::ranges::none_of(documents, is_chakra_node)) return std::nullopt;
    return chakra_messages_of(documents);
}

}  // namespace tutti
