// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <string>

#include "base/error.hpp"

namespace tutti {

/// The error of a call with its exit code; empty text if there was none.
struct Thrown {
    std::string text;
    Exit code = Exit::ok;
};
inline Thrown thrown_by(const std::function<void()>& call) {
    try {
        call();
        return {};
    } catch (const Error& error) {
        return {error.what(), error.code()};
    }
}

/// Returns the text of a call's error, which is one line and of the user; empty if there was none.
inline std::string refusal_by(const std::function<void()>& call) {
    const auto [text, code] = thrown_by(call);
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    EXPECT_TRUE(text.empty() || code == Exit::usage) << text;
    return text;
}

/// Whether the text holds all keys, which are short pieces of a message.
inline testing::AssertionResult holds(const std::string& text,
                                      std::initializer_list<const char*> keys) {
    for (const char* key : keys)
        if (text.find(key) == std::string::npos)
            return testing::AssertionFailure() << "'" << key << "' is not in '" << text << "'";
    return testing::AssertionSuccess();
}
inline testing::AssertionResult holds(const std::string& text, const std::string& key) {
    return holds(text, {key.c_str()});
}

}  // namespace tutti
