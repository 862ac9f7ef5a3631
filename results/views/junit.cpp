// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <tinyxml2.h>

#include "base/source.hpp"
#include "results/views/view_words.hpp"
#include "results/views/views.hpp"

namespace tutti {
namespace {

void add_case(tinyxml2::XMLPrinter& xml, const VerdictRecord& verdict) {
    xml.OpenElement("testcase");
    xml.PushAttribute("name", printable(verdict.metric).c_str());
    xml.PushAttribute("classname", "tutti.compare");
    xml.PushAttribute("time",
                      fmt::format("{:.9f}", is_in_ns(verdict) ? verdict.b_ns * 1e-9 : 0.).c_str());
    const std::string message =
        printable(fmt::format("{} against A ({}), noise {:.1f} %: {}", change_in_words(verdict),
                              interval_in_words(verdict), 100 * verdict.noise, verdict.rule));
    if (verdict.verdict == Change::slower) {
        xml.OpenElement("failure");
        xml.PushAttribute("message", message.c_str());
        xml.PushAttribute("type", "slower");
        xml.CloseElement();
    } else if (verdict.verdict == Change::undecided) {
        xml.OpenElement("skipped");
        xml.PushAttribute("message", message.c_str());
        xml.CloseElement();
    }
    xml.CloseElement();
}

}  // namespace

std::string as_junit(const ComparisonRecords& comparison) {
    int metrics = 0, slower = 0, undecided = 0;
    for (const VerdictRecord& verdict : comparison.verdicts) {
        if (is_mean(verdict)) continue;
        ++metrics;
        slower += verdict.verdict == Change::slower ? 1 : 0;
        undecided += verdict.verdict == Change::undecided ? 1 : 0;
    }
    tinyxml2::XMLPrinter xml;
    xml.PushHeader(false, true);
    xml.OpenElement("testsuites");
    xml.OpenElement("testsuite");
    xml.PushAttribute("name", "tutti compare");
    xml.PushAttribute("tests", metrics + static_cast<int>(comparison.wrong.size()));
    xml.PushAttribute("failures", slower);
    xml.PushAttribute("errors", static_cast<int>(comparison.wrong.size()));
    xml.PushAttribute("skipped", undecided);
    xml.PushAttribute("time", "0");
    // Without a zone, as the schema wants it: to the second.
    xml.PushAttribute("timestamp", comparison.session.t.substr(0, 19).c_str());
    xml.PushAttribute("hostname", "localhost");
    xml.PushAttribute("id", 0);
    xml.PushAttribute("package", "tutti");
    xml.OpenElement("properties");
    xml.CloseElement();
    for (const std::string& wrong : comparison.wrong) {
        xml.OpenElement("testcase");
        xml.PushAttribute("name", "results are right");
        xml.PushAttribute("classname", "tutti.compare");
        xml.PushAttribute("time", "0");
        xml.OpenElement("error");
        xml.PushAttribute("message", printable(wrong).c_str());
        xml.PushAttribute("type", "wrong result");
        xml.CloseElement();
        xml.CloseElement();
    }
    for (const VerdictRecord& verdict : comparison.verdicts)
        if (!is_mean(verdict)) add_case(xml, verdict);
    xml.OpenElement("system-out");
    xml.CloseElement();
    xml.OpenElement("system-err");
    xml.CloseElement();
    xml.CloseElement();
    xml.CloseElement();
    return xml.CStr() + std::string("\n");
}

}  // namespace tutti
