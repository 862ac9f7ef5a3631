// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "autotune/table/table_checks.hpp"
#include "autotune/table/table_fields.hpp"
#include "autotune/table/table_json.hpp"
#include "topology/machine/printable.hpp"

namespace tutti {
namespace {

template <class Part>
void read(const JsonPlace& place, Part& part);

const std::string& text_at(const JsonPlace& place) {
    const auto* text = std::get_if<std::string>(&place.value().value);
    if (!text) place.fail("is not a text \"...\"");
    return *text;
}

// Takes the fields of one object.
class Fields {
public:
    explicit Fields(const JsonPlace& object) : object_(object) {
        if (!object.value().object()) object.fail("is not an object {...}");
    }

    template <class Part>
    void needed(const char* name, Part& part) {
        const auto place = object_.field(name);
        if (!place) object_.fail(fmt::format("lacks the field '{}'", name));
        read(*place, part);
    }

    template <class Part>
    void usual(const char* name, Part& part, const std::type_identity_t<Part>& otherwise) {
        if (const auto place = object_.field(name))
            read(*place, part);
        else
            part = otherwise;
    }

    /// A text of another format, which may go over lines.
    void text(const char* name, std::string& part) {
        const auto place = object_.field(name);
        part = place ? text_at(*place) : "";
    }

private:
    const JsonPlace& object_;
};

// Names are printed, so nothing that a terminal would obey.
const std::string& name_at(const JsonPlace& place) {
    constexpr std::size_t longest = 200;
    const std::string& name = text_at(place);
    if (name.size() > longest) place.fail(fmt::format("is longer than {} letters", longest));
    if (printable(name) != name) place.fail("holds control characters");
    return name;
}

std::int64_t whole_number_at(const JsonPlace& place) {
    const auto* number = std::get_if<std::int64_t>(&place.value().value);
    if (!number) place.fail("is not a whole number");
    return *number;
}

void read_plain(const JsonPlace& place, std::string& text) { text = name_at(place); }
void read_plain(const JsonPlace& place, std::int64_t& number) { number = whole_number_at(place); }
void read_plain(const JsonPlace& place, Bytes& bytes) { bytes.count = whole_number_at(place); }

void read_plain(const JsonPlace& place, int& number) {
    const std::int64_t given = whole_number_at(place);
    constexpr int most = std::numeric_limits<int>::max();
    if (given < 0 || given > most) place.fail(fmt::format("is not a number from 0 to {}", most));
    number = static_cast<int>(given);
}

void read_plain(const JsonPlace& place, double& number) {
    if (const auto* exact = std::get_if<std::int64_t>(&place.value().value))
        number = static_cast<double>(*exact);
    else if (const auto* given = std::get_if<double>(&place.value().value))
        number = *given;
    else
        place.fail("is not a number");
    if (!std::isfinite(number)) place.fail("is not a finite number");
}

void read_plain(const JsonPlace& place, bool& yes) {
    const auto* given = std::get_if<bool>(&place.value().value);
    if (!given) place.fail("is neither true nor false");
    yes = *given;
}

void parse_name(std::string_view text, Collective& to) { to = parse_collective(text); }
void parse_name(std::string_view text, TypeClass& to) { to = parse_type_class(text); }
void parse_name(std::string_view text, OpClass& to) { to = parse_op_class(text); }
void parse_name(std::string_view text, BufferKind& to) { to = parse_buffer_kind(text); }
void parse_name(std::string_view text, Origin& to) { to = parse_origin(text); }

template <class Part>
void read_plain(const JsonPlace& place, std::optional<Part>& part) {
    read(place, part.emplace());
}

template <class Part>
void read_plain(const JsonPlace& place, std::vector<Part>& parts) {
    const auto* list = place.value().list();
    if (!list) place.fail("is not a list [...]");
    for (std::size_t i = 0; i < list->size(); ++i) read(place.item(i), parts.emplace_back());
}

template <class Part>
void read(const JsonPlace& place, Part& part) {
    if constexpr (std::is_enum_v<Part>) {
        const std::string& name = name_at(place);
        try {
            parse_name(name, part);
        } catch (const Error& error) {
            place.fail_as(error);
        }
    } else if constexpr (requires { read_plain(place, part); }) {
        read_plain(place, part);
    } else {
        Fields fields(place);
        visit_fields(fields, part);
        check(part, place);
    }
}

void check_format(const Source& source, const JsonValue& json) {
    const JsonValue* format = json.find("format");
    const auto* name = format ? std::get_if<std::string>(&format->value) : nullptr;
    if (!name || *name != "tutti-table")
        source.fail(json.line,
                    "no table: there is no \"format\": \"tutti-table\"; give a file that "
                    "`tutti tune` wrote");
    const JsonValue* field = json.find("version");
    const auto* version = field ? std::get_if<std::int64_t>(&field->value) : nullptr;
    if (!version || *version < 1)
        source.fail(field ? field->line : json.line,
                    fmt::format("'version' is not a whole number from 1 upwards{}", remedy));
    if (*version > Table::version)
        source.fail(field->line, fmt::format("made by a newer tutti, in version {} of the format; "
                                             "this one reads version {}: take the newer tutti, or "
                                             "write the table anew: tutti tune",
                                             *version, Table::version));
}

}  // namespace

Table parse_table(std::string_view text, std::string_view name) {
    const Source source(text, name);
    const JsonValue json = parse_json(source);
    check_format(source, json);
    Table table;
    read(JsonPlace(json, "", source), table);
    return table;
}

}  // namespace tutti
