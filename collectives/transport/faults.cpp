// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/faults.hpp"

#include <cmath>

#include "base/error.hpp"
#include "base/name_table.hpp"
#include "base/source.hpp"

namespace tutti {
namespace {

constexpr Named<Fault::Kind> kinds[] = {
    {Fault::Kind::drop, "drop"},      {Fault::Kind::delay, "delay"},
    {Fault::Kind::doubled, "double"}, {Fault::Kind::corrupt, "corrupt"},
    {Fault::Kind::stop, "stop"},
};

int number_of(std::string_view text, std::string_view whole) {
    const auto number = number_in<int>(text);
    if (!number || *number < 0)
        throw Error("fault '" + std::string(whole) + "' has '" + std::string(text) +
                    "' where a number is expected; use e.g. drop:from=1,step=0");
    return *number;
}

void set(Fault& fault, std::string_view key, int value, std::string_view whole) {
    if (key == "from")
        fault.from = Rank{value};
    else if (key == "to")
        fault.to = Rank{value};
    else if (key == "step")
        fault.step = value;
    else if (key == "nth")
        fault.nth = value;
    else if (key == "ms")
        fault.delay_seconds = value * 1e-3;
    else
        throw Error("fault '" + std::string(whole) + "' has an unknown field '" + std::string(key) +
                    "'; known: from to step nth ms");
}

}  // namespace

Fault parse_fault(std::string_view text) {
    Fault fault;
    const auto colon = text.find(':');
    const std::string_view kind = text.substr(0, colon);
    fault.kind = parse_from(kinds, "fault", kind);
    std::string_view fields = colon == text.npos ? "" : text.substr(colon + 1);
    if (fields.ends_with(',')) fields.remove_suffix(1);
    if (fields.empty()) return fault;
    for (const std::string_view field : split(fields, ',')) {
        const auto equals = field.find('=');
        if (equals == field.npos)
            throw Error("fault '" + std::string(text) + "' has '" + std::string(field) +
                        "' where FIELD=NUMBER is expected; use e.g. drop:from=1,step=0");
        set(fault, field.substr(0, equals), number_of(field.substr(equals + 1), text), text);
    }
    return fault;
}

std::string to_string(const Fault& fault) {
    std::string text(name_in(kinds, fault.kind));
    char separator = ':';
    const auto add = [&](const char* key, long value) {
        text += separator + std::string(key) + "=" + std::to_string(value);
        separator = ',';
    };
    if (fault.from) add("from", fault.from->index);
    if (fault.to) add("to", fault.to->index);
    if (fault.step) add("step", *fault.step);
    if (fault.nth != 0) add("nth", fault.nth);
    if (fault.delay_seconds > 0) add("ms", std::lround(fault.delay_seconds * 1e3));
    return text;
}

}  // namespace tutti
