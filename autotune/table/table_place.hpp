// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/json_value.hpp"

namespace tutti {

/// What to do about a damaged table.
inline constexpr std::string_view remedy =
    "; give the table as tutti wrote it, or write it anew: tutti tune";

/// A value in the file of a table, and the way to it ("sections[0].ranges[2].from").
class JsonPlace {
public:
    JsonPlace(const JsonValue& value, std::string way, const Source& source)
        : value_(value), way_(std::move(way)), source_(source) {}

    const JsonValue& value() const { return value_; }

    [[noreturn]] void fail(const std::string& what) const {
        source_.fail(value_.line, fmt::format("{} {}{}", quoted_way(), what, remedy));
    }

    /// With the words of an Error that tells what could be given instead.
    [[noreturn]] void fail_as(const Error& error) const {
        source_.fail(value_.line, fmt::format("{}: {}", quoted_way(), error.what()));
    }

    std::optional<JsonPlace> field(std::string_view name) const {
        const JsonValue* found = value_.find(name);
        if (!found) return std::nullopt;
        return JsonPlace(*found, fmt::format("{}{}{}", way_, way_.empty() ? "" : ".", name),
                         source_);
    }

    JsonPlace item(std::size_t index) const {
        return {(*value_.list())[index], fmt::format("{}[{}]", way_, index), source_};
    }

private:
    std::string quoted_way() const { return way_.empty() ? "the file" : fmt::format("'{}'", way_); }

    const JsonValue& value_;
    std::string way_;
    const Source& source_;
};

}  // namespace tutti
