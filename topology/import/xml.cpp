// SPDX-License-Identifier: Apache-2.0
#include "topology/import/xml.hpp"

#include <fmt/format.h>
#include <tinyxml2.h>

#include <algorithm>
#include <cctype>

namespace tutti {
namespace {

// Converts "XML_ERROR_PARSING_ATTRIBUTE" to "parsing attribute".
std::string readable_error(std::string_view error) {
    constexpr std::string_view prefix = "XML_ERROR_";
    if (error.starts_with(prefix)) error.remove_prefix(prefix.size());
    std::string words(error);
    for (char& c : words) c = c == '_' ? ' ' : static_cast<char>(std::tolower(c));
    return words;
}

// The recursion is bounded by tinyxml2's limit for nested elements.
XmlElement copy_of(const tinyxml2::XMLElement& from) {
    XmlElement element{.name = from.Name(), .line = from.GetLineNum()};
    for (auto* attribute = from.FirstAttribute(); attribute; attribute = attribute->Next())
        element.attributes.emplace_back(attribute->Name(), attribute->Value());
    for (auto* child = from.FirstChild(); child; child = child->NextSibling()) {
        if (const auto* inner = child->ToElement()) element.children.push_back(copy_of(*inner));
        if (const auto* text = child->ToText()) element.text += text->Value();
    }
    return element;
}

}  // namespace

const std::string* XmlElement::find(std::string_view attribute) const {
    const auto found = std::ranges::find_if(
        attributes, [&](const auto& named) { return named.first == attribute; });
    return found == attributes.end() ? nullptr : &found->second;
}

std::string XmlElement::value(std::string_view attribute) const {
    const std::string* found = find(attribute);
    return found ? *found : "";
}

XmlElement parse_xml(const Source& source) {
    tinyxml2::XMLDocument document;
    document.Parse(source.text().data(), source.text().size());
    if (document.Error())
        source.fail(document.ErrorLineNum(),
                    fmt::format("invalid XML ({}); use the complete, unedited file",
                                readable_error(document.ErrorName())));
    const auto* root = document.RootElement();
    if (!root) source.fail(1, "no XML element; use the complete, unedited file");
    return copy_of(*root);
}

std::string_view root_name(std::string_view text) {
    const auto skip_past = [&](std::string_view end) {
        const std::size_t at = text.find(end);
        text.remove_prefix(at == std::string_view::npos ? text.size() : at + end.size());
    };
    for (;;) {
        text.remove_prefix(std::min(text.find('<'), text.size()));
        if (text.starts_with("<!--"))
            skip_past("-->");
        else if (text.starts_with("<?") || text.starts_with("<!"))
            skip_past(">");
        else
            break;
    }
    if (!text.empty()) text.remove_prefix(1);
    return text.substr(0, text.find_first_of(" \t\r\n/>"));
}

std::int64_t whole(const XmlElement& element, std::string_view attribute,
                   std::int64_t default_value, const Source& source, std::int64_t least,
                   std::int64_t most) {
    const std::string* text = element.find(attribute);
    if (!text || text->empty()) return default_value;
    const auto number = decimal_number(*text);
    if (!number || *number < least || *number > most)
        source.fail(element.line,
                    fmt::format("{}={} of <{}> is not a whole number from {} to {}", attribute,
                                in_quotes(*text), element.name, least, most));
    return *number;
}

const std::string& required(const XmlElement& element, std::string_view attribute,
                            const Source& source) {
    const std::string* text = element.find(attribute);
    if (!text) source.fail(element.line, fmt::format("<{}> lacks {}=", element.name, attribute));
    return *text;
}

}  // namespace tutti
