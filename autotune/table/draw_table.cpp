// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "autotune/table/explain.hpp"
#include "autotune/table/range_text.hpp"
#include "autotune/table/size_axis.hpp"
#include "base/svg_canvas.hpp"

namespace tutti {
namespace {

constexpr double gap = 24, label_width = 210, octave_width = 41, row_height = 46, box_height = 38,
                 least_width = 1;

// A box's colour is its algorithm, as in the plots of reports (scripts/plots/palette.py); its shade
// is the origin.
constexpr std::string_view styles = R"(
text{font-family:system-ui,'Segoe UI',Helvetica,Arial,sans-serif;font-size:11px;fill:#1d2329}
.title{font-size:18px;font-weight:600}.job_shape{font-size:13px;font-weight:600}.bold{font-weight:600}
.note{fill:#5b626b}.gain{font-size:10px;fill:#333a42}.grid{stroke:#e8eaed}.axis{stroke:#8a9099}
.measured{fill-opacity:.5}.learnt{fill-opacity:.35}.kept{fill-opacity:.25}
.interpolated{fill-opacity:.16;stroke-dasharray:5 3}.predicted{fill-opacity:.06;stroke-dasharray:1.5 3}
.library{fill:#5b626b;stroke:#5b626b}
)";

struct Colour {
    std::string_view algorithm, colour;
};
constexpr Colour known_colours[] = {
    {"ring", "#0072b2"},
    {"tree", "#005a2d"},
    {"double-tree", "#a500ff"},
    {"butterfly", "#d55e00"},
    {"halving-doubling", "#874b00"},
    {"one-shot", "#d20f4b"},
    {"two-shot", "#b40096"},
    {"bruck", "#874be1"},
    {"round-robin", "#0f87e1"},
    {"linear", "#96873c"},
    {"chain", "#781e00"},
    {"circulant", "#4b9687"},
    {"two-level", "#00783c"},
    {"two-level-butterfly", "#5a960f"},
    {"three-level", "#d21e69"},
    {"multi-rail", "#c33cc3"},
};
constexpr std::string_view spare_colours[] = {"#4253af", "#a6661d", "#5a6f7a",
                                              "#6b7b00", "#ad1457", "#00717b"};

// Which style class each algorithm of a table has.
class Palette {
public:
    explicit Palette(const Table& table) {
        for (const Section& section : table.sections)
            for (const Range& range : section.ranges)
                if (range.choice.is_ours())
                    numbers_.try_emplace(range.choice.algorithm, 0);
                else
                    has_library_ = true;
        std::size_t number = 0, spare = 0;
        for (auto& [algorithm, own] : numbers_) {
            const auto* known = std::ranges::find(known_colours, algorithm, &Colour::algorithm);
            const std::string_view colour = known != std::end(known_colours)
                                                ? known->colour
                                                : spare_colours[spare++ % std::size(spare_colours)];
            own = number++;
            styles_ += fmt::format(".c{}{{fill:{};stroke:{}}}", own, colour, colour);
        }
    }

    std::string style_of(const Configuration& choice) const {
        return choice.is_ours() ? fmt::format("c{}", numbers_.at(choice.algorithm)) : "library";
    }

    const std::string& styles() const { return styles_; }

    struct Entry {
        std::string name, style;
    };
    std::vector<Entry> entries() const {
        std::vector<Entry> all;
        for (const auto& [algorithm, number] : numbers_)
            all.push_back({algorithm, fmt::format("c{}", number)});
        if (has_library_) all.push_back({"the library", "library"});
        return all;
    }

private:
    std::map<std::string, std::size_t> numbers_;
    std::string styles_;
    bool has_library_ = false;
};

std::string tip_for(const Range& range, std::string_view end) {
    std::string tip = fmt::format("{} to {}: {}, {}", to_string(range.from), end,
                                  to_string(range.choice), name_of(range.origin));
    const RangeEvidence* seen = typical_evidence(range);
    if (!seen) return tip;
    tip += fmt::format("; at {}: {}", to_string(seen->size), to_string(seen->time));
    if (seen->runner_up) tip += fmt::format("; runner-up {}", runner_up_text(*seen));
    if (const auto gain = gain_of(range, *seen)) tip += fmt::format("; gain {}", gain_text(*gain));
    return tip;
}

class Page {
public:
    explicit Page(const Table& table) : table_(table), axis_(table), palette_(table) {}

    std::string draw() {
        text(gap, 22, "Which configuration for which size", "title");
        y_ += 6;
        for (const JobShape& job_shape : job_shapes_of(table_)) draw_job_shape(job_shape);
        draw_legend();
        const std::string all_styles = fmt::format("{}{}", styles, palette_.styles());
        return canvas_.page(left() + chart_width() + gap, y_ + gap, all_styles);
    }

private:
    double left() const { return gap + label_width; }
    double chart_width() const { return octave_width * axis_.octaves(); }
    double x_of(Bytes size) const { return left() + octave_width * axis_.place_of(size); }

    // A line of text of the page.
    void text(double x, double height, std::string_view words, std::string_view style) {
        y_ += height;
        canvas_.text({x, y_}, words, style, Anchor::start);
    }

    void draw_job_shape(const JobShape& job_shape) {
        text(gap, 30, to_string(job_shape), "setting");
        y_ += 10;
        std::vector<const Section*> sections;
        for (const Section& section : table_.sections)
            if (section.job_shape == job_shape && !section.ranges.empty())
                sections.push_back(&section);
        draw_axis(row_height * static_cast<double>(sections.size()));
        for (const Section* section : sections) {
            draw_section(*section);
            y_ += row_height;
        }
        y_ += 18;
        for (const std::string& words : too_long_) text(left(), 15, words, "note");
        too_long_.clear();
    }

    void draw_axis(double height) {
        constexpr int tick = 2;  // from 16 B, so that 1K and 1M are among them
        for (int octave = 1; octave <= axis_.octaves(); octave += tick) {
            const double x = left() + octave_width * octave;
            canvas_.line({x, y_}, {x, y_ + height}, "grid", 1);
            canvas_.text({x, y_ + height + 14}, to_string(axis_.size_at(octave)), "note",
                         Anchor::middle);
        }
        canvas_.line({left(), y_ + height}, {left() + chart_width(), y_ + height}, "axis", 1);
        canvas_.text({left() - 6, y_ + height + 14}, "bytes", "note", Anchor::end);
    }

    void draw_section(const Section& section) {
        const std::string name(name_of(section.subject.collective));
        const std::string rest = to_string(section.subject).substr(name.size() + 1);
        canvas_.text({gap, y_ + 16}, name, "bold", Anchor::start, label_width);
        canvas_.text({gap, y_ + 29}, rest, "note", Anchor::start, label_width);
        if (!section.is_complete)
            canvas_.text({gap, y_ + 42}, "incomplete", "note", Anchor::start, label_width);
        for (std::size_t i = 0; i < section.ranges.size(); ++i) {
            const Range& range = section.ranges[i];
            const bool is_last = i + 1 == section.ranges.size();
            const double from = x_of(range.from);
            const double to = is_last ? left() + chart_width() : x_of(section.ranges[i + 1].from);
            const std::string end = is_last ? "any" : to_string(section.ranges[i + 1].from);
            const double width = std::max(to - from - 2, least_width);
            if (to > from) draw_range(range, {from + 1, y_ + 4, width, box_height}, end);
        }
    }

    void draw_range(const Range& range, const Box& box, std::string_view end) {
        const std::string style =
            fmt::format("{} {}", palette_.style_of(range.choice), name_of(range.origin));
        canvas_.rectangle(box, style, 3, tip_for(range, end));
        const double room = box.width - 10;
        const std::string choice = short_text(range.choice);
        const RangeEvidence* seen = typical_evidence(range);
        const auto gain = seen ? gain_of(range, *seen) : std::nullopt;
        if (fits(choice, room) && (!gain || fits(gain_in(*gain, room), room))) {
            canvas_.text({box.x + 5, box.y + 16}, choice, "", Anchor::start);
            if (gain)
                canvas_.text({box.x + 5, box.y + 30}, gain_in(*gain, room), "gain", Anchor::start);
            return;
        }
        const std::string number = std::to_string(too_long_.size() + 1);
        if (fits(number, box.width))
            canvas_.text({box.middle(), box.y + 23}, number, "bold", Anchor::middle);
        too_long_.push_back(fmt::format("{} ({} to {}): {}{}", number, to_string(range.from), end,
                                        choice, gain ? ", " + gain_text(*gain) : ""));
    }

    static bool fits(std::string_view words, double room) {
        constexpr double letter = 6.4;
        return static_cast<double>(words.size()) * letter <= room;
    }

    // With its interval where that fits.
    static std::string gain_in(const HoldOut& hold_out, double room) {
        std::string all = gain_text(hold_out);
        return fits(all, room) ? all : fmt::format("{:.2f}", hold_out.gain);
    }

    void draw_legend() {
        double x = gap;
        y_ += 30;
        for (const auto& [name, style] : palette_.entries())
            legend_entry(x, fmt::format("{} measured", style), name);
        x = gap;
        y_ += 24;
        for (const Origin origin : {Origin::measured, Origin::learnt, Origin::kept,
                                    Origin::interpolated, Origin::predicted})
            legend_entry(x, fmt::format("library {}", name_of(origin)), name_of(origin));
        text(gap, 26,
             "s: segment, r: radix, c: channels. Numbers in boxes: how many times as fast as the "
             "library's default [95 % interval]; where that was kept: as what challenged it.",
             "note");
    }

    void legend_entry(double& x, std::string_view style, std::string_view name) {
        constexpr double swatch = 22, letter = 6.8;
        const double width = swatch + 6 + letter * static_cast<double>(name.size()) + 16;
        if (x + width > left() + chart_width()) {
            x = gap;
            y_ += 22;
        }
        canvas_.rectangle({x, y_ - 11, swatch, 14}, style, 3);
        canvas_.text({x + swatch + 6, y_}, name, "", Anchor::start);
        x += width;
    }

    const Table& table_;
    SizeAxis axis_;
    Palette palette_;
    SvgCanvas canvas_;
    double y_ = 12;
    // What the boxes of a job shape have no room for; they have its number.
    std::vector<std::string> too_long_;
};

}  // namespace

std::string draw(const Table& table) { return Page(table).draw(); }

}  // namespace tutti
