# SPDX-License-Identifier: Apache-2.0
"""tutti against the MPI libraries: what to launch, what came out, and whether that is what we wanted."""
