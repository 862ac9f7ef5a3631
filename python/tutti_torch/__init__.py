# SPDX-License-Identifier: Apache-2.0
"""tutti beneath torch.distributed, for tensors in memory of the host.

    import tutti_torch                                     # registers the backend
    torch.distributed.init_process_group("tutti")          # under torchrun, say

or beside another backend, as DistributedDataParallel's communication hook:

    model.register_comm_hook(torch.distributed.new_group(backend="tutti"), tutti_torch.all_reduce_hook)
"""
from .hook import all_reduce_hook
from .library import TuttiError
from .process_group import TuttiProcessGroup, register

register()

__all__ = ["TuttiError", "TuttiProcessGroup", "all_reduce_hook"]
