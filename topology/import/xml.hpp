// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/source.hpp"

namespace tutti {

/// An XML element with its line; nested at most 100 deep.
struct XmlElement {
    std::string name;
    int line = 0;
    std::vector<std::pair<std::string, std::string>> attributes;
    std::vector<XmlElement> children;
    std::string text;  ///< without the text of its children

    /// Returns null without such an attribute.
    const std::string* find(std::string_view attribute) const;

    /// Returns "" without such an attribute.
    std::string value(std::string_view attribute) const;
};

/// Returns the root element. Throws Error through `source` if the XML is invalid.
XmlElement parse_xml(const Source& source);

/// Returns the name of the root element if the text is XML, else "".
std::string_view root_name(std::string_view text);

/// Returns the attribute as a whole number, `default_value` if it is missing or empty. Throws Error
/// through `source` if it is not a number or out of range.
std::int64_t whole(const XmlElement& element, std::string_view attribute,
                   std::int64_t default_value, const Source& source, std::int64_t least = 0,
                   std::int64_t most = std::numeric_limits<int>::max());

/// Returns the attribute. Throws Error through `source` if it is missing.
const std::string& required(const XmlElement& element, std::string_view attribute,
                            const Source& source);

}  // namespace tutti
