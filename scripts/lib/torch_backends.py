# SPDX-License-Identifier: Apache-2.0
"""One rank of the comparison of gloo with tutti beneath torch.distributed: for scripts/compare_torch.

All of it is in one launch, step by step in turn: the network without communication, DistributedDataParallel over gloo, over tutti,
and over gloo with tutti's communication hook. torch_backends.py calls|NETWORK STEPS FILE
"""

import contextlib
import copy
import datetime
import json
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
import tutti_torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch_train import blas, of_slowest

UNCOUNTED = 10  # DistributedDataParallel sorts its buckets anew after its first step, and tutti tries its ways
CALL_BYTES = (4, 256, 4096, 65536, 1 << 20, 16 << 20)
MAX_CALLS = 200
BYTES_OF_CALLS = 1 << 30  # of one size, at most


class Block(nn.Module):
    """A residual block: two convolutions, and a third of 1 x 1 where the shape changes."""

    def __init__(self, channels_in, channels, stride):
        super().__init__()
        self.path = nn.Sequential(nn.Conv2d(channels_in, channels, 3, stride, 1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(),
                                  nn.Conv2d(channels, channels, 3, 1, 1, bias=False), nn.BatchNorm2d(channels))
        same = stride == 1 and channels_in == channels
        self.short = nn.Identity() if same else nn.Sequential(nn.Conv2d(channels_in, channels, 1, stride, bias=False),
                                                              nn.BatchNorm2d(channels))

    def forward(self, images):
        return torch.relu(self.path(images) + self.short(images))


def resnet18():
    """He et al. 2016, for images of 32 x 32 pixels: 11.2 million parameters."""
    widths, blocks, before = (64, 128, 256, 512), [], 64
    for width in widths:
        blocks += [Block(before, width, 1 if width == 64 else 2), Block(width, width, 1)]
        before = width
    return nn.Sequential(nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(), *blocks, nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(512, 10))


def mlp():
    """0.8 million parameters."""
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(),
                         nn.Linear(256, 10))


class Transformer(nn.Module):
    """Two layers of an encoder, for 32 words of 1000: 0.8 million parameters."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(1000, 128)
        layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2)
        self.last = nn.Linear(128, 1000)

    def forward(self, words):
        return self.last(self.layers(self.words(words))).flatten(0, 1)


# How each is made, and a rank's rows and labels.
NETWORKS = {
    "mlp": (mlp, lambda: (torch.randn(64, 784), torch.randint(10, (64,)))),
    "transformer": (Transformer, lambda: (torch.randint(1000, (8, 32)), torch.randint(1000, (8 * 32,)))),
    "resnet18": (resnet18, lambda: (torch.randn(2, 3, 32, 32), torch.randint(10, (2,)))),
}


class Way:
    """A model that is trained in one way, with its own optimizer."""

    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        self.times = []

    def step(self, rows, labels):
        began = time.perf_counter_ns()
        self.optimizer.zero_grad()
        nn.functional.cross_entropy(self.model(rows), labels).backward()
        self.optimizer.step()
        self.times.append(time.perf_counter_ns() - began)

    def weights(self):
        return torch.cat([each.detach().reshape(-1) for each in self.model.parameters()])


def ways_of(network, gloo, tutti):
    torch.manual_seed(1)
    model = NETWORKS[network][0]()
    # Neither buffers are sent nor gradients copied, so that there is nothing beside a step but the all-reduces.
    parallel = {name: DistributedDataParallel(copy.deepcopy(model), process_group=group, broadcast_buffers=False,
                                              gradient_as_bucket_view=True)
                for name, group in (("gloo", gloo), ("tutti", tutti), ("hook", gloo))}
    parallel["hook"].register_comm_hook(tutti, tutti_torch.all_reduce_hook)
    return {"alone": Way(model)} | {name: Way(each) for name, each in parallel.items()}


def train(network, steps, gloo, tutti):
    """The record of a launch: times of each step's slowest rank in ns, and how far the weights are from gloo's."""
    ways = ways_of(network, gloo, tutti)
    torch.manual_seed(2 + dist.get_rank())
    rows, labels = NETWORKS[network][1]()
    for step in range(steps):
        names = list(ways)
        for name in names[step % len(names):] + names[:step % len(names)]:
            dist.barrier(group=gloo)
            ways[name].step(rows, labels)
    theirs = ways["gloo"].weights()
    return {"kind": "training", "network": network, "ranks": dist.get_world_size(), "steps": steps, "uncounted": UNCOUNTED,
            "parameters": theirs.numel(), "step_ns": {name: of_slowest(way.times) for name, way in ways.items()},
            "largest_weight": theirs.abs().max().item(),
            "largest_difference": {name: (ways[name].weights() - theirs).abs().max().item() for name in ("tutti", "hook")}}


def calls(most, gloo, tutti):
    """Times of all_reduce in ns, of the slowest rank, the backends in turn."""
    sizes = []
    for size in CALL_BYTES:
        times = {"gloo": [], "tutti": []}
        data = torch.ones(size // 4)
        for number in range(min(most, MAX_CALLS, BYTES_OF_CALLS // size) + UNCOUNTED):
            for name, group in (("gloo", gloo), ("tutti", tutti)):
                data.fill_(1)
                dist.barrier(group=gloo)
                began = time.perf_counter_ns()
                dist.all_reduce(data, group=group)
                times[name].append(time.perf_counter_ns() - began)
                assert data[0] == data[-1] == dist.get_world_size(), f"{name}: a wrong sum at call {number} of {size} bytes"
        sizes.append({"bytes": size, "call_ns": {name: of_slowest(each[UNCOUNTED:]) for name, each in times.items()}})
    return {"kind": "calls", "collective": "all_reduce", "ranks": dist.get_world_size(), "sizes": sizes}


def main(what, steps, file):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
    gloo, tutti = dist.group.WORLD, dist.new_group(backend="tutti")
    record = calls(steps, gloo, tutti) if what == "calls" else train(what, steps, gloo, tutti)
    record["framework"] = f"torch {torch.__version__}, {blas()}"
    if dist.get_rank() == 0:
        Path(file).write_text(json.dumps(record) + "\n", encoding="utf-8")
    dist.destroy_process_group(tutti)
    with contextlib.suppress(RuntimeError):  # the other may have gone by now: all is written
        dist.barrier(group=gloo)
    sys.stdout.flush()
    os._exit(0)  # gloo's own end now and then waits for ever for connections that the other rank has closed


if __name__ == "__main__":
    if len(sys.argv) != 4 or "RANK" not in os.environ:
        sys.exit("torch_backends.py is started by scripts/compare_torch")
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
