// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "topology/import/import.hpp"

namespace tutti {

/// What is said of a text that is no machine; empty if it is one.
inline std::string complaint_about(std::string_view text) {
    try {
        parse_machine(text, "FILE");
        return "";
    } catch (const Error& error) {
        return error.what();
    }
}

/// "FILE:3: ..." on one line.
inline bool names_a_line(const std::string& complaint) {
    return complaint.starts_with("FILE:") && complaint[5] >= '1' && complaint[5] <= '9' &&
           complaint.find('\n') == std::string::npos;
}

}  // namespace tutti
