// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/source.hpp"

namespace tutti {

/// An XML element that knows its line; nested at most 100 deep.
struct XmlElement {
    std::string name;
    int line = 0;
    std::vector<std::pair<std::string, std::string>> attributes;
    std::vector<XmlElement> children;
    std::string text;  ///< its own, without that of its children

    /// None where there is no such attribute.
    const std::string* find(std::string_view attribute) const;

    /// Empty where there is no such attribute.
    std::string value(std::string_view attribute) const;
};

/// The outermost element. Throws Error through `source` for what is no well-formed XML.
XmlElement parse_xml(const Source& source);

/// The name of the outermost element of what may be XML; empty where there is none.
std::string_view root_name(std::string_view text);

/// The attribute as a whole number; `otherwise` where it is absent or empty. Throws Error through
/// `source` if it is anything else, or out of range.
std::int64_t whole(const XmlElement& element, std::string_view attribute, std::int64_t otherwise,
                   const Source& source, std::int64_t least = 0,
                   std::int64_t most = std::numeric_limits<int>::max());

/// Throws Error through `source` where the attribute is absent.
const std::string& required(const XmlElement& element, std::string_view attribute,
                            const Source& source);

}  // namespace tutti
