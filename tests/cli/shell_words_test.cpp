// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "cli/jobs/job.hpp"

namespace tutti {
namespace {

using Words = std::vector<std::string>;

TEST(ShellWords, AreSeparatedByBlanks) {
    EXPECT_EQ(shell_words(""), Words{});
    EXPECT_EQ(shell_words("  mpirun\t-n  2\n"), (Words{"mpirun", "-n", "2"}));
}

// The expected words are those that `printf '[%s]\n'` prints in a shell.
TEST(ShellWords, AreQuotedAsInAShell) {
    EXPECT_EQ(shell_words(R"(sh -c 'sleep 1; exec "$@"' sh)"),
              (Words{"sh", "-c", "sleep 1; exec \"$@\"", "sh"}));
    EXPECT_EQ(shell_words(R"(--x="a b"'c d'e)"), (Words{"--x=a bc de"}));
    EXPECT_EQ(shell_words(R"("" '' a)"), (Words{"", "", "a"}));
    EXPECT_EQ(shell_words(R"(a\ b \" "\"\\\n" '\')"), (Words{"a b", "\"", R"("\\n)", "\\"}));
    EXPECT_EQ(shell_words("end\\"), (Words{"end\\"}));
    EXPECT_EQ(shell_words(R"("\$x \`")"), (Words{"$x `"}));
}

TEST(ShellWords, NeedClosedQuotes) {
    for (const char* text : {"a 'b", "\"", "'\""}) EXPECT_THROW(shell_words(text), Error) << text;
}

}  // namespace
}  // namespace tutti
