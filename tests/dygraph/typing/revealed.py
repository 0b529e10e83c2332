"""Types that mypy must find, each in the comment of its line; this file is never run."""

from typing_extensions import reveal_type

import dygraph
from dygraph import nn

x = dygraph.ones([2, 3])


class Net(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 4)

    def forward(self, x: dygraph.Variable, steps: int = 1) -> tuple[dygraph.Variable, int]:
        return self.fc(x), steps


class Plain(nn.Layer):
    def forward(self, x):
        return x


net = Net()
reveal_type(nn.Linear(3, 4)(x))  # dygraph._core.Variable
reveal_type(nn.Sequential(nn.Linear(3, 4), nn.ReLU())(x))  # dygraph._core.Variable
reveal_type(nn.MSELoss()(x, x))  # dygraph._core.Variable
reveal_type(nn.LSTM(3, 4)(x)[0])  # dygraph._core.Variable
reveal_type(nn.Linear(3, 4).weight)  # dygraph.core.variable.Parameter
reveal_type(net(x, steps=2))  # tuple[dygraph._core.Variable, int]
reveal_type(net.fc(x))  # dygraph._core.Variable
reveal_type(net.train().eval())  # revealed.Net
reveal_type(net.parameters())  # list[dygraph.core.variable.Parameter]
reveal_type(Plain()(x))  # Any
