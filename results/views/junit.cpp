// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <tinyxml2.h>

#include "base/source.hpp"
#include "results/views/view_words.hpp"
#include "results/views/views.hpp"

namespace tutti {
namespace {

// Replaces what XML 1.0 cannot hold even escaped: control characters and two non-characters.
std::string in_xml(const std::string& text) {
    const std::string whole = printable(text);
    std::string safe;
    for (std::size_t i = 0; i < whole.size(); ++i) {
        const std::string_view rest = std::string_view(whole).substr(i);
        if (rest.starts_with("\xef\xbf\xbe") || rest.starts_with("\xef\xbf\xbf")) {
            safe += '?';
            i += 2;
        } else {
            safe += whole[i];
        }
    }
    return safe;
}

// GitLab shows the text and not the attribute, Jenkins shows both.
void add_fault(tinyxml2::XMLPrinter& xml, const char* element, const std::string& message,
               const char* type) {
    xml.OpenElement(element);
    xml.PushAttribute("message", message.c_str());
    xml.PushAttribute("type", type);
    xml.PushText(message.c_str());
    xml.CloseElement();
}

void add_case(tinyxml2::XMLPrinter& xml, const VerdictRecord& verdict) {
    xml.OpenElement("testcase");
    xml.PushAttribute("name", in_xml(name_in_views(verdict)).c_str());
    xml.PushAttribute("classname", "tutti.compare");
    xml.PushAttribute("time",
                      fmt::format("{:.9f}", is_in_ns(verdict) ? verdict.b_ns * 1e-9 : 0.).c_str());
    std::string message =
        fmt::format("{} against A ({}), {} instead of {}, noise {}: {}", change_in_words(verdict),
                    basis_in_words(verdict), value_in_words(verdict.b_ns, verdict),
                    value_in_words(verdict.a_ns, verdict), noise_in_words(verdict),
                    message_in_views(verdict.rule));
    if (verdict.verdict == Change::undecided) message += "; " + open_question(verdict);
    message = in_xml(message);
    if (verdict.verdict == Change::slower) {
        add_fault(xml, "failure", message, "slower");
    } else if (verdict.verdict == Change::undecided) {
        xml.OpenElement("skipped");
        xml.PushAttribute("message", message.c_str());
        xml.CloseElement();
    }
    xml.CloseElement();
}

void add_case(tinyxml2::XMLPrinter& xml, const FloorRecord& floor) {
    xml.OpenElement("testcase");
    xml.PushAttribute("name", in_xml(name_in_views(floor.asked)).c_str());
    xml.PushAttribute("classname", "tutti.floor");
    xml.PushAttribute("time", "0");
    if (!floor.met)
        add_fault(xml, "failure", in_xml(message_in_views(floor_in_words(floor))), "missed");
    xml.CloseElement();
}

}  // namespace

std::string as_junit(const ComparisonRecords& comparison) {
    int metrics = 0, failures = 0, undecided = 0;
    for (const VerdictRecord& verdict : comparison.verdicts) {
        if (is_mean(verdict)) continue;
        ++metrics;
        failures += verdict.verdict == Change::slower ? 1 : 0;
        undecided += verdict.verdict == Change::undecided ? 1 : 0;
    }
    for (const FloorRecord& floor : comparison.floors) {
        ++metrics;
        failures += floor.met ? 0 : 1;
    }
    tinyxml2::XMLPrinter xml;
    xml.PushHeader(false, true);
    xml.OpenElement("testsuites");
    xml.OpenElement("testsuite");
    xml.PushAttribute("name", "tutti compare");
    xml.PushAttribute("tests", metrics + static_cast<int>(comparison.wrong.size()));
    xml.PushAttribute("failures", failures);
    xml.PushAttribute("errors", static_cast<int>(comparison.wrong.size()));
    xml.PushAttribute("skipped", undecided);
    xml.PushAttribute(
        "time", fmt::format("{:.3f}", static_cast<double>(comparison.wall_ns) * 1e-9).c_str());
    // Without a zone, as the schema wants it: to the second.
    xml.PushAttribute("timestamp", time_in_views(comparison.session.t).c_str());
    xml.PushAttribute("hostname", "localhost");
    xml.PushAttribute("id", 0);
    xml.PushAttribute("package", "tutti");
    xml.OpenElement("properties");
    xml.CloseElement();
    int wrong_ones = 0;
    for (const std::string& wrong : comparison.wrong) {
        xml.OpenElement("testcase");
        // GitLab only shows the first of several cases with one name.
        const std::string number = ++wrong_ones > 1 ? fmt::format(" ({})", wrong_ones) : "";
        xml.PushAttribute("name", ("results are right" + number).c_str());
        xml.PushAttribute("classname", "tutti.compare");
        xml.PushAttribute("time", "0");
        add_fault(xml, "error", in_xml(message_in_views(wrong)), "wrong result");
        xml.CloseElement();
    }
    for (const VerdictRecord& verdict : comparison.verdicts)
        if (!is_mean(verdict)) add_case(xml, verdict);
    for (const FloorRecord& floor : comparison.floors) add_case(xml, floor);
    xml.OpenElement("system-out");
    xml.CloseElement();
    xml.OpenElement("system-err");
    xml.CloseElement();
    xml.CloseElement();
    xml.CloseElement();
    return xml.CStr() + std::string("\n");
}

}  // namespace tutti
