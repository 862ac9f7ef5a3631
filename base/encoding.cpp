// SPDX-License-Identifier: Apache-2.0
#include "base/encoding.hpp"

#include <cstdint>

namespace tutti {
namespace {

bool has_utf16_mark(std::string_view text) {
    return text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff");
}

void append_utf8(std::string& text, std::uint32_t code) {
    const auto add = [&](std::uint32_t byte) { text.push_back(static_cast<char>(byte)); };
    const auto add_rest = [&](int shift) { add(0x80U | ((code >> shift) & 0x3fU)); };
    if (code < 0x80U) return add(code);
    if (code < 0x800U) {
        add(0xc0U | (code >> 6));
    } else {
        if (code < 0x10000U) {
            add(0xe0U | (code >> 12));
        } else {
            add(0xf0U | (code >> 18));
            add_rest(12);
        }
        add_rest(6);
    }
    add_rest(0);
}

}  // namespace

std::string_view without_byte_order_mark(std::string_view text) {
    constexpr std::string_view mark = "\xef\xbb\xbf";
    return text.substr(text.starts_with(mark) ? mark.size() : 0);
}

bool is_utf16(std::string_view text) {
    return has_utf16_mark(text) || (text.size() > 1 && (text[0] == '\0') != (text[1] == '\0'));
}

std::string in_utf8(std::string_view text) {
    if (!is_utf16(text)) return std::string(without_byte_order_mark(text));
    const bool has_mark = has_utf16_mark(text);
    const bool low_first = has_mark ? text[0] == '\xff' : text[1] == '\0';
    const auto unit = [&](std::size_t at) {
        const auto first = static_cast<unsigned char>(text[at]);
        const auto second = static_cast<unsigned char>(text[at + 1]);
        return static_cast<std::uint32_t>(low_first ? first | second << 8 : first << 8 | second);
    };
    std::string converted;
    for (std::size_t at = has_mark ? 2 : 0; at + 1 < text.size(); at += 2) {
        std::uint32_t code = unit(at);
        const bool is_pair = code >= 0xd800U && code < 0xdc00U && at + 3 < text.size() &&
                             unit(at + 2) >= 0xdc00U && unit(at + 2) < 0xe000U;
        if (is_pair) {
            code = 0x10000U + ((code - 0xd800U) << 10) + (unit(at + 2) - 0xdc00U);
            at += 2;
        } else if (code >= 0xd800U && code < 0xe000U) {
            code = 0xfffdU;  // half a pair
        }
        append_utf8(converted, code);
    }
    return converted;
}

std::string_view beginning_of(std::string_view text, std::size_t most_bytes) {
    const auto continues = [](char byte) {
        return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
    };
    if (text.size() <= most_bytes) return text;
    std::size_t end = most_bytes;
    while (end > 0 && continues(text[end])) --end;
    return text.substr(0, end);
}

}  // namespace tutti
