# SPDX-License-Identifier: Apache-2.0
"""A communication hook for DistributedDataParallel."""
import torch.distributed as dist


def all_reduce_hook(group, bucket):
    """Averages a bucket of gradients over `group`, of the backend tutti; None: the default group.

    model.register_comm_hook(group, tutti_torch.all_reduce_hook)
    """
    group = group if group is not None else dist.group.WORLD
    submit = getattr(group, "average", None)
    if submit is None:
        raise ValueError("all_reduce_hook needs a group of the backend tutti: "
                         "register_comm_hook(torch.distributed.new_group(backend='tutti'), tutti_torch.all_reduce_hook)")
    return submit(bucket.buffer())
