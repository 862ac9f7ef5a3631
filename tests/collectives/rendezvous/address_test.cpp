// SPDX-License-Identifier: Apache-2.0
// Rendezvous addresses, typed by users or given by launchers in the environment.
#include "collectives/world/rendezvous/address.hpp"

#include <cstdlib>

#include "tests/collectives/rendezvous/ranks.hpp"

namespace tutti {
namespace {

TEST(RendezvousAddress, IsReadWithHostAndPort) {
    EXPECT_EQ(parse_tcp_address("tcp://node3:29500").host, "node3");
    EXPECT_EQ(parse_tcp_address("tcp://node3:29500").port, 29500);
    EXPECT_EQ(parse_tcp_address("tcp://[fe80::1]:7").host, "fe80::1");
    EXPECT_EQ(to_string(parse_tcp_address("tcp://[fe80::1]:7")), "tcp://[fe80::1]:7");
    for (const char* wrong : {"", "node3", "node3:1", "tcp://node3", "tcp://:1", "tcp://a:b",
                              "tcp://a:1x", "tcp://a:65536", "tcp://a:-1", "udp://a:1"})
        EXPECT_TRUE(holds(thrown_by([&] { parse_tcp_address(wrong); }).text, "tcp://HOST:PORT"))
            << wrong;
}

// The system assigns even ports to ends of connections, one after the other.
TEST(RendezvousAddress, IsNotThatOfTheConnectingSocketItself) {
    const int even = port_of(listen_at({"127.0.0.1", 0}).number) & ~1;
    port_of(listen_at({"127.0.0.1", even}).number);  // so it is free
    for (int attempt = 0; attempt < 30'000; ++attempt) {
        const ConnectAttempt nobody = try_connect({"127.0.0.1", even});
        ASSERT_FALSE(nobody.socket) << "attempt " << attempt;
        ASSERT_TRUE(nobody.is_refused);
    }
}

// Other machines cannot reach a job of one machine.
TEST(RendezvousAddress, OfLoopbackIsHeardOnThisMachineOnly) {
    for (const char* name : {"localhost", "127.0.0.1", "127.0.0.2"}) {
        const std::string heard = own_end(listen_at({name, 0}).number).host;
        EXPECT_TRUE(is_loopback({heard, 0})) << name << " is heard at " << heard;
    }
    const std::string everywhere = own_end(listen_at({"", 0}).number).host;
    EXPECT_TRUE(everywhere == "::" || everywhere == "0.0.0.0") << everywhere;
    EXPECT_FALSE(is_loopback({"node3", 0}));
    EXPECT_FALSE(is_loopback({"10.127.0.1", 0}));
}

TEST(RendezvousAddress, NeedsARankAmongAllAndAPort) {
    EXPECT_TRUE(holds(thrown_by([] {
                          rendezvous_world({.address = "tcp://localhost:1", .rank = 2, .size = 2});
                      }).text,
                      "no rank 2"));
    EXPECT_TRUE(holds(thrown_by([] {
                          rendezvous_world({.address = "tcp://localhost:0", .rank = 0, .size = 2});
                      }).text,
                      "tcp://localhost:0 has no port"));
}

// Sets environment variables for one test.
class Environment {
public:
    using Variables = std::vector<std::pair<std::string, std::string>>;
    explicit Environment(Variables variables) : variables_(std::move(variables)) {
        for (const auto& [name, value] : variables_) setenv(name.c_str(), value.c_str(), 1);
    }
    ~Environment() {
        for (const auto& [name, value] : variables_) unsetenv(name.c_str());
    }

private:
    Variables variables_;
};

TEST(RendezvousFromEnvironment, ReadsWhatTorchrunSays) {
    const Environment torchrun(
        {{"RANK", "3"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "node1"}, {"MASTER_PORT", "29400"}});
    const Rendezvous where = rendezvous_from_environment();
    EXPECT_EQ(where.address, "tcp://node1:29400");
    EXPECT_EQ(where.rank, 3);
    EXPECT_EQ(where.size, 4);
    const Environment agent(Environment::Variables{{"TORCHELASTIC_USE_AGENT_STORE", "True"}});
    EXPECT_EQ(rendezvous_from_environment().address, "tcp://node1:29401");
}

TEST(RendezvousFromEnvironment, ReadsWhatSrunSays) {
    for (const auto& [list, first] :
         std::vector<std::pair<std::string, std::string>>{{"n[003-007,9],login1", "n003"},
                                                          {"gpu-1", "gpu-1"},
                                                          {"a,b[1-2]", "a"},
                                                          {"rack[2,5]-node,x", "rack2-node"}}) {
        const Environment srun({{"SLURM_PROCID", "1"},
                                {"SLURM_NTASKS", "6"},
                                {"SLURM_JOB_ID", "77"},
                                {"SLURM_STEP_ID", "2"},
                                {"SLURM_STEP_NODELIST", list}});
        const Rendezvous where = rendezvous_from_environment();
        EXPECT_EQ(where.address, "tcp://" + first + ":" + std::to_string(20000 + 77 * 16 + 2));
        EXPECT_EQ(where.rank, 1);
        EXPECT_EQ(where.size, 6);
        EXPECT_EQ(where.job, "77.2");
    }
}

TEST(RendezvousFromEnvironment, NamesTheVariableThatIsMissing) {
    EXPECT_TRUE(holds(thrown_by([] { rendezvous_from_environment(); }).text, "torchrun nor srun"));
    const Environment few({{"MASTER_ADDR", "node1"}, {"MASTER_PORT", "many"}});
    EXPECT_TRUE(holds(thrown_by([] { rendezvous_from_environment(); }).text, "MASTER_PORT=many"));
    const Environment more(Environment::Variables{{"MASTER_PORT", "1"}});
    EXPECT_TRUE(holds(thrown_by([] { rendezvous_from_environment(); }).text, "RANK is not set"));
}

}  // namespace
}  // namespace tutti
