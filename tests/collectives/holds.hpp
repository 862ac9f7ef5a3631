// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace tutti {

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
