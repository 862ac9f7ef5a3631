// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <iterator>

namespace tutti {

/// Walks through a text for a parser and counts lines in `line`, of type Number. A line is over
/// once something behind its end is read: parsers look one character past a number before they tell
/// of it.
template <class Number>
class LineCounter {
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    LineCounter(const char* at, Number& line) : at_(at), line_(&line) {}
    reference operator*() const { return *at_; }
    LineCounter& operator++() {
        if (at_line_end_) ++*line_;
        at_line_end_ = *at_++ == '\n';
        return *this;
    }
    LineCounter operator++(int) {
        const LineCounter before = *this;
        ++*this;
        return before;
    }
    bool operator==(const LineCounter& other) const { return at_ == other.at_; }

private:
    const char* at_;
    Number* line_;
    bool at_line_end_ = false;
};

}  // namespace tutti
