// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "results/records/launch.hpp"

namespace tutti {

TEST(Environment, WhatConfiguresTheLibrariesIsStored) {
    for (const char* name :
         {"OMPI_MCA_btl", "MPICH_OFI_NIC", "MPIR_CVAR_ALLREDUCE", "UCX_TLS", "NCCL_ALGO",
          "NCCL_P2P_LEVEL", "CUDA_MODULE_LOADING", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS",
          "SLURM_JOB_ID", "SLURM_JOBID", "TUTTI_TABLE"})
        EXPECT_TRUE(may_be_stored(name)) << name;
}

TEST(Environment, EverythingElseIsNot) {
    for (const char* name : {"HOME", "PATH", "LD_LIBRARY_PATH", "SLURM_STEP_ID", "ompi_x", "XUCX_",
                             "CUDA_VISIBLE_DEVICES2", ""})
        EXPECT_FALSE(may_be_stored(name)) << name;
}

TEST(Environment, WhatALauncherSetsForItsOwnProcessesIsNot) {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "OMPI_MCA_orte_hnp_uri", "OMPI_ARGV",
                             "OMPI_MCA_ess", "NCCL_COMM_ID"})
        EXPECT_FALSE(may_be_stored(name)) << name;
}

TEST(Environment, NothingThatSoundsSecretIsStored) {
    for (const char* name :
         {"SLURM_JOB_TOKEN", "UCX_KEY", "TUTTI_SECRET", "NCCL_PASSWORD", "OMPI_MCA_jobkey"})
        EXPECT_FALSE(may_be_stored(name)) << name;
}

TEST(Environment, ValuesMayHoldEqualsSignsAndNothing) {
    const char* const variables[] = {"UCX_TLS=a=b", "NCCL_ALGO=", "HOME=/root", "UCX_broken",
                                     nullptr};
    EXPECT_EQ(stored_environment(variables), (TextByName{{"UCX_TLS", "a=b"}, {"NCCL_ALGO", ""}}));
}

}  // namespace tutti
