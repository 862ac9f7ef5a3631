// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/faults.hpp"

#include <charconv>

#include "base/error.hpp"
#include "base/name_table.hpp"

namespace tutti {
namespace {

constexpr Named<Fault::Kind> kinds[] = {
    {Fault::Kind::drop, "drop"},      {Fault::Kind::delay, "delay"},
    {Fault::Kind::doubled, "double"}, {Fault::Kind::corrupt, "corrupt"},
    {Fault::Kind::stop, "stop"},
};

long number_in(std::string_view text, std::string_view whole) {
    long number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number < 0)
        throw Error("fault '" + std::string(whole) + "' has '" + std::string(text) +
                    "' where a number belongs; type for example drop:from=1,step=0");
    return number;
}

void set(Fault& fault, std::string_view key, long value, std::string_view whole) {
    if (key == "from")
        fault.from = Rank{static_cast<int>(value)};
    else if (key == "to")
        fault.to = Rank{static_cast<int>(value)};
    else if (key == "step")
        fault.step = static_cast<int>(value);
    else if (key == "nth")
        fault.nth = value;
    else if (key == "ms")
        fault.delay_seconds = static_cast<double>(value) * 1e-3;
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
    std::string_view rest = colon == text.npos ? "" : text.substr(colon + 1);
    while (!rest.empty()) {
        const auto comma = rest.find(',');
        const std::string_view field = rest.substr(0, comma);
        const auto equals = field.find('=');
        if (equals == field.npos)
            throw Error("fault '" + std::string(text) + "' has '" + std::string(field) +
                        "' where FIELD=NUMBER belongs; type for example drop:from=1,step=0");
        set(fault, field.substr(0, equals), number_in(field.substr(equals + 1), text), text);
        rest = comma == rest.npos ? "" : rest.substr(comma + 1);
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
    if (fault.delay_seconds > 0) add("ms", static_cast<long>(fault.delay_seconds * 1e3));
    return text;
}

}  // namespace tutti
