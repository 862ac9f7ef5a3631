# SPDX-License-Identifier: Apache-2.0
"""A backend of torch.distributed for CPU tensors.

    import tutti_torch                                     # registers the backend
    torch.distributed.init_process_group("tutti")          # for example under torchrun

It also works next to another backend, as a communication hook of DistributedDataParallel:

    model.register_comm_hook(torch.distributed.new_group(backend="tutti"), tutti_torch.all_reduce_hook)
"""
from tutti.library import TuttiError

from .hook import all_reduce_hook
from .process_group import TuttiProcessGroup, register

register()

__all__ = ["TuttiError", "TuttiProcessGroup", "all_reduce_hook"]
