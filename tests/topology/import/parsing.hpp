// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "topology/import/import.hpp"

namespace tutti {

inline Host host_of(const std::string& text) { return parse_machine(text, "FILE").hosts.at(0); }

/// Whether one of Host::not_seen contains this text.
inline bool notes(const Host& host, const std::string& part) {
    return std::ranges::any_of(host.not_seen, [&](const std::string& note) {
        return note.find(part) != std::string::npos;
    });
}

/// Replaces the first `from` in the text by `to`.
inline std::string with(std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
}

/// Returns the error for a text, or "" if it describes a machine.
inline std::string complaint_about(std::string_view text) {
    try {
        parse_machine(text, "FILE");
        return "";
    } catch (const Error& error) {
        return error.what();
    }
}

/// Whether the error is one line "FILE:3: ...".
inline bool names_a_line(const std::string& complaint) {
    return complaint.starts_with("FILE:") && complaint[5] >= '1' && complaint[5] <= '9' &&
           complaint.find('\n') == std::string::npos;
}

}  // namespace tutti
