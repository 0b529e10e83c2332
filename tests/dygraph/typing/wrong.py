"""Mistakes mypy must find; this file is never run."""

import dygraph
import dygraph.ops as F
import dygraph.static as fluid
from dygraph import nn

x = dygraph.to_variable([1.0, 2.0])
x.shpe()  # error: attr-defined
dygraph.rellu(x)  # error: attr-defined
F.relu("a")  # error: arg-type
F.relu(3.0)  # error: arg-type
F.relu()  # error: call-arg
F.softmax(x, axs=1)  # error: call-arg
F.scale(x, "two")  # error: arg-type
F.reduce_sum(x, keep_dim="yes")  # error: arg-type
F.matmul_v2(x, None)  # error: arg-type
nn.Linear(3)  # error: call-arg
nn.Linear(3, 2, activation="relu")  # error: call-arg
nn.Linear("3", 2)  # error: arg-type
nn.Linear(3, 2, act=dygraph.ops.relu)  # error: arg-type
nn.Conv2D(1, 2, 3, stride="2")  # error: arg-type
nn.Linear(3, 2)(3)  # error: arg-type
nn.Linear(3, 2)(x, x)  # error: call-arg
nn.Sequential(nn.ReLU)  # error: arg-type
nn.MSELoss()(x)  # error: call-arg
number: int = nn.Linear(3, 2)(x)  # error: assignment
dygraph.optimizer.SGD(parameter_list=[])  # error: call-overload
dygraph.optimizer.SGD(0.1, 3)  # error: call-overload
dygraph.optimizer.Adam(0.1, beta="0.9")  # error: call-overload
dygraph.optimizer.Adam(0.1).stepp()  # error: attr-defined
dygraph.io.DataLoader([1, 2], batch_size="4")  # error: arg-type
dygraph.io.DataLoader(3)  # error: arg-type
dygraph.lr.StepDecay("0.1", 3)  # error: arg-type
dygraph.optimizer.Momentm(0.1)  # error: attr-defined
x.stop_gradient = "no"  # error: assignment
x.shape = (2, 1)  # error: misc
text: str = x.sum()  # error: assignment
one: dygraph.Variable = F.split(x, num=2)  # error: assignment
x.backward(retain="yes")  # error: call-arg
x + "a"  # error: operator
x.grad.numpy()  # error: union-attr
dygraph.guard(sed=1)  # error: call-arg
fluid.layers.relu(x, nane="relu")  # error: call-arg
