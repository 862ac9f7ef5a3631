# SPDX-License-Identifier: Apache-2.0
"""One rank of scripts/compare_torch, which compares tutti with gloo in torch.distributed.

All ways alternate step by step in one launch: DistributedDataParallel with a hook that sends nothing, over gloo, over tutti, and
over gloo with tutti's communication hook. torch_backends.py calls|NETWORK FILE
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

UNCOUNTED = 10  # DistributedDataParallel sorts its buckets again after its first step, and tutti tries methods
CALL_BYTES = (4, 256, 4096, 65536, 1 << 20, 16 << 20)
ROUNDS = 100
MOST_IN_A_ROW = 20  # calls; each adds up the result of the one before, as they are in place
BYTES_IN_A_ROW = 16 << 20
BYTES_OF_A_SIZE = 1 << 30
SECONDS_TO_GET_READY = 0.02  # the two calls over gloo take up to 10 ms of it on 4 ranks


def start_together(group):
    """Lets all ranks sleep until a time that rank 0 sends, as ranks may leave a barrier milliseconds apart."""
    start = torch.tensor([time.monotonic() + SECONDS_TO_GET_READY], dtype=torch.float64)
    dist.broadcast(start, 0, group=group)
    dist.barrier(group=group)
    time.sleep(max(0, start.item() - time.monotonic()))


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


# Constructor, a rank's rows and labels, and training steps per way.
NETWORKS = {
    "mlp": (mlp, lambda: (torch.randn(64, 784), torch.randint(10, (64,))), 300),
    "transformer": (Transformer, lambda: (torch.randint(1000, (8, 32)), torch.randint(1000, (8 * 32,))), 150),
    "resnet18": (resnet18, lambda: (torch.randn(2, 3, 32, 32), torch.randint(10, (2,))), 60),
}


class Way:
    """A model that is trained in one way, with its optimizer."""

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


def sends_nothing(_, bucket):
    future = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future


def ways_of(network, gloo, tutti):
    torch.manual_seed(1)
    model = NETWORKS[network][0]()
    # Without buffers and copies of gradients, so a step has no other communication than the all-reduces.
    parallel = {name: DistributedDataParallel(copy.deepcopy(model), process_group=group, broadcast_buffers=False,
                                              gradient_as_bucket_view=True)
                for name, group in (("alone", gloo), ("gloo", gloo), ("tutti", tutti), ("hook", gloo))}
    parallel["alone"].register_comm_hook(None, sends_nothing)
    parallel["hook"].register_comm_hook(tutti, tutti_torch.all_reduce_hook)
    return {name: Way(each) for name, each in parallel.items()}


def train(network, gloo, tutti):
    """Returns the record of a launch: times of each step's slowest rank in ns, and the difference from gloo's weights."""
    ways, steps = ways_of(network, gloo, tutti), NETWORKS[network][2]
    torch.manual_seed(2 + dist.get_rank())
    rows, labels = NETWORKS[network][1]()
    for step in range(steps):
        names = list(ways)
        for name in names[step % len(names):] + names[:step % len(names)]:
            start_together(gloo)
            ways[name].step(rows, labels)
    theirs = ways["gloo"].weights()
    return {"kind": "training", "network": network, "ranks": dist.get_world_size(), "steps": steps, "uncounted": UNCOUNTED,
            "parameters": theirs.numel(), "step_ns": {name: of_slowest(way.times) for name, way in ways.items()},
            "largest_weight": theirs.abs().max().item(),
            "largest_difference": {name: (ways[name].weights() - theirs).abs().max().item() for name in ("tutti", "hook")}}


def calls(gloo, tutti):
    """Returns times of all_reduce in ns, of the slowest rank: calls in a row, alternating backends."""
    sizes = []
    for size in CALL_BYTES:
        times = {"gloo": [], "tutti": []}
        data = torch.empty(size // 4)
        in_a_row = max(1, min(MOST_IN_A_ROW, BYTES_IN_A_ROW // size))
        for _ in range(min(ROUNDS, BYTES_OF_A_SIZE // size) + UNCOUNTED):
            for name, group in (("gloo", gloo), ("tutti", tutti)):
                data.fill_(1)
                start_together(gloo)
                began = time.perf_counter_ns()
                for _ in range(in_a_row):
                    dist.all_reduce(data, group=group)
                times[name].append((time.perf_counter_ns() - began) / in_a_row)
                expected = float(dist.get_world_size()) ** in_a_row
                assert data[0] == data[-1] == expected, f"{name}: a wrong sum of {size} bytes: {data[0]}, not {expected}"
        sizes.append({"bytes": size, "call_ns": {name: of_slowest(each[UNCOUNTED:]) for name, each in times.items()}})
    return {"kind": "calls", "collective": "all_reduce", "ranks": dist.get_world_size(), "sizes": sizes}


def main(what, file):
    torch.set_num_threads(1)
    has_heap = "libtutti_heap" in Path("/proc/self/maps").read_text(encoding="utf-8")
    if not has_heap and "libtutti_heap" in os.environ.get("LD_PRELOAD", ""):
        sys.exit("libtutti_heap.so was not found; use scripts/build --target tutti_heap")
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
    gloo, tutti = dist.group.WORLD, dist.new_group(backend="tutti")
    record = calls(gloo, tutti) if what == "calls" else train(what, gloo, tutti)
    record["heap"] = has_heap
    record["framework"] = f"torch {torch.__version__}, {blas()}"
    if dist.get_rank() == 0:
        Path(file).write_text(json.dumps(record) + "\n", encoding="utf-8")
    dist.destroy_process_group(tutti)
    with contextlib.suppress(RuntimeError):  # the peer may have ended; all is written
        dist.barrier(group=gloo)
    sys.stdout.flush()
    os._exit(0)  # gloo's shutdown sometimes waits forever for connections that the peer has closed


if __name__ == "__main__":
    if len(sys.argv) != 3 or "RANK" not in os.environ:
        sys.exit("torch_backends.py is started by scripts/compare_torch")
    main(sys.argv[1], sys.argv[2])
