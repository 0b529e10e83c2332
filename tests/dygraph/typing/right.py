"""A program mypy must find no fault with; it runs as well."""

from collections import OrderedDict
from typing import Any

import numpy as np

import dygraph
import dygraph.ops as F
import dygraph.static as fluid
from dygraph import nn


class Net(dygraph.Layer):
    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, width, act="relu"), nn.Dropout(0.1))
        self.head = nn.Linear(width, 3)

    def forward(self, x: dygraph.Variable) -> dygraph.Variable:
        return self.head(self.body(x))


class Reverse(dygraph.Function):
    @staticmethod
    def forward(ctx: Any, x: dygraph.Variable, factor: float) -> dygraph.Variable:
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: dygraph.Variable) -> tuple[dygraph.Variable, None]:
        return -grad * ctx.factor, None


@dygraph.no_grad()
def averages(x: dygraph.Variable) -> dygraph.Variable:
    return x.mean(axis=0)


@dygraph.no_grad
def rows(x: dygraph.Variable) -> int:
    with dygraph.guard(seed=1), dygraph.enable_grad():
        count = x.size(0)
    return count + x.size


def loss_of(net: Net, x: dygraph.Variable, y: dygraph.Variable) -> dygraph.Variable:
    loss: dygraph.Variable = F.softmax_cross_entropy(net(x), y)
    return loss


class OfFluid(fluid.dygraph.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.fc = fluid.dygraph.Linear(4, 3, act="softmax")

    def forward(self, x: dygraph.Variable) -> dygraph.Variable:
        return self.fc(x)


def of_fluid(x: dygraph.Variable, y: dygraph.Variable) -> float:
    with fluid.dygraph.guard():
        cost = fluid.layers.mean(fluid.layers.cross_entropy(OfFluid()(x), y))
        cost.backward()
    return float(cost.numpy())


def main() -> None:
    net = Net()
    x = dygraph.to_variable(np.ones((6, 4), "float32"))
    y = dygraph.to_variable(np.zeros((6, 1), "int64"))
    schedule = dygraph.StepDecay(0.1, step_size=2)
    optimizer = dygraph.optimizer.Adam(schedule, parameter_list=net.parameters())
    for other in (
        dygraph.optimizer.SGD(net.parameters(), lr=0.1),
        dygraph.optimizer.Momentum(0.1, 0.9, net.parameters(), grad_clip=nn.ClipGradByNorm(1.0)),
        dygraph.optimizer.AdamW(parameters=net.parameters(), learning_rate=0.1, weight_decay=0.1),
        dygraph.optimizer.Adam(0.1, parameter_list=[{"params": net.parameters()}]),
        dygraph.optimizer.Adam(0.1, parameter_list=net, weight_decay=1e-4),
        dygraph.optimizer.Adam(schedule, parameters=net.parameters()),
    ):
        other.clear_gradients()
    conv = nn.Conv2D(1, 2, (3, 3), stride=[1, 1], padding=np.int64(1), bias_attr=False)
    norm = nn.LayerNorm(4, param_attr=dygraph.initializer.Constant(1.0))
    for batch in dygraph.io.DataLoader(range(5), batch_size=2, shuffle=True):
        batch.mean()
    nn.Conv1D(4, 2, (3,), stride=[1], padding="same")
    nn.Sequential(OrderedDict([("a", nn.ReLU()), ("b", nn.Linear(2, 2))]))(x[:, :2])
    nn.Sequential([nn.ReLU(), nn.Dropout(0.5)])
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    with dygraph.no_grad():
        kept = averages(Reverse.apply(x, 0.5)).sum()
    print(of_fluid(x, y), kept.item() + rows(x), dygraph.autograd.jvp, dygraph.vision.ops.box_area)
    for pair in dygraph.io.DataLoader(dygraph.io.TensorDataset(x, y)):
        print(pair[0].shape)
    nn.functional.relu(norm(x))
    print(conv, norm(x).shape, nn.LayerList([conv])[0].weight.shape)
    loss = loss_of(net, x, y)
    loss.backward()
    optimizer.step()
    optimizer.clear_gradients()
    value: float = float(loss)
    shape: tuple[int, ...] = x.shape
    first: dygraph.Variable = x[0, 1:3]
    x[0] = 2.0
    total: dygraph.Variable = (-x / 3 + 2.0 * x - (x @ x.T)[:, :4]).sum(axis=1)
    parts: list[dygraph.Variable] = F.split(x, num=2)
    values, where = F.topk(x, 2)
    mask: dygraph.Variable = x == 0.0
    array: np.ndarray = x.numpy()
    scaled = dygraph.ops.scale(x, 2, bias=np.float32(1.0)).reshape(-1, 2).reshape([3, -1])
    product: dygraph.Variable = dygraph.matmul(x, x, trans_y=True)
    for row in x:
        row.detach()
    if x.grad is not None:
        print(x.grad.shape)
    kind: dygraph.dtype = x.dtype
    made = dygraph.zeros([2, 3], dtype="float64") + dygraph.full((2, 3), 1.5, "float64")
    print(
        value,
        shape,
        product.shape,
        first.shape,
        total.shape,
        len(parts),
        values.shape,
        where.dtype,
        mask.ndim,
    )
    print(array.shape, scaled.shape, kind == dygraph.float32, made.size, dygraph.release())


main()
