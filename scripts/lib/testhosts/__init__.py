# SPDX-License-Identifier: Apache-2.0
"""Several hosts on one machine: namespaces, the network between them, launching over it, faults."""
