"""Training, data and schedules: the types that mypy must find, and the mistakes it must report.

A comment on a line says which; this file is never run.
"""

import numpy as np
from typing_extensions import reveal_type

import dygraph
import dygraph.ops as F
from dygraph import callbacks, metrics, nn

x = np.ones((8, 4), "float32")
y = np.zeros((8, 1), "int64")
net = nn.Sequential(nn.Linear(4, 3))
model = dygraph.Model(net)
adam = dygraph.optimizer.Adam(0.1, parameter_list=net.parameters())


class Tell(callbacks.Callback):
    def on_epoch_end(self, epoch: int, logs: dict[str, float]) -> None:
        print(epoch, logs["loss"], self.model.network)


class Worst(metrics.MetricBase):
    def update(self, preds: np.ndarray, labels: np.ndarray) -> None:
        self.worst = float(np.abs(preds - labels).max())

    def eval(self) -> float:
        return self.worst


model.prepare(adam, nn.CrossEntropyLoss(), metrics.Accuracy())
model.prepare(adam, lambda out, label: (out - label).mean(), [metrics.Auc(), Worst()])
reveal_type(model.fit(x, y, epochs=2))  # dygraph.training.model.History
reveal_type(model.fit(x, y)["loss"])  # list[float]
data = dygraph.io.TensorDataset([x, y])
reveal_type(model.fit(data, batch_size=2))  # dygraph.training.model.History
reveal_type(model.evaluate(x, y))  # dict[str, float]
reveal_type(model.train_batch([x, y]))  # float
reveal_type(model.load("a.ckpt").step)  # Any
reveal_type(model.network)  # dygraph.nn.Layer
reveal_type(model.history)  # dygraph.training.model.History
reveal_type(model.epoch)  # int
print(model.predict(x).shape)
model.save("a.ckpt", epoch=3)
model.fit(x, y, callbacks=[Tell(), callbacks.EarlyStopping(patience=2)], verbose=0)
model.fit(lambda: iter([[x, y]]), eval_data=(x, y))
reveal_type(metrics.Accuracy().eval())  # float
reveal_type(metrics.EditDistance().eval())  # tuple[float, float]
reveal_type(callbacks.EarlyStopping().best)  # float | None
loader = dygraph.io.DataLoader(data, batch_size=4, shuffle=True)
reveal_type(len(loader))  # int
reveal_type(loader.state_dict())  # dict[str, Any]
reveal_type(dygraph.lr.StepDecay(0.1, 3)())  # float
reveal_type(dygraph.lr.StepDecay(0.1, 3).get_last_lr())  # list[float]
image = dygraph.ones([1, 1, 4, 4])
reveal_type(F.max_pool2d(image, 2))  # dygraph._core.Variable
values, places = F.max_pool2d(image, 2, return_mask=True)
reveal_type(places)  # dygraph._core.Variable
reveal_type(nn.functional.max_pool2d(image, 2, 2, 1))  # dygraph._core.Variable
reveal_type(nn.functional.max_pool2d(image, 2, return_indices=True)[1])  # dygraph._core.Variable
reveal_type(nn.functional.softmax(image, dim=1))  # dygraph._core.Variable
reveal_type(nn.functional.relu(image))  # dygraph._core.Variable
reveal_type(nn.MaxPool2D(2)(image))  # dygraph._core.Variable
reveal_type(nn.MaxPool2D(2, return_mask=True)(image)[1])  # dygraph._core.Variable
reveal_type(nn.AdaptiveMaxPool1D(2, return_mask=True)(image)[0])  # dygraph._core.Variable

dygraph.Model("net")  # error: arg-type
dygraph.Model(net, input=1)  # error: call-arg
model.prepare(0.1)  # error: arg-type
model.prepare(adam, 3)  # error: arg-type
model.prepare(adam, metrics=[3])  # error: list-item
model.fit(3)  # error: arg-type
model.fit(x, y, epochs="2")  # error: arg-type
model.fit(x, y, nb_epoch=2)  # error: call-arg
model.fit(x, y, callbacks=[Tell])  # error: list-item
print(model.evaluate(x, y).loss)  # error: attr-defined
model.save(3)  # error: arg-type
model.stop_training = "yes"  # error: assignment
metrics.Accuracy(1)  # error: arg-type
callbacks.EarlyStopping(patience="2")  # error: arg-type
callbacks.ModelCheckpoint()  # error: call-arg
dygraph.io.DataLoader(x, suffle=True)  # error: call-arg
dygraph.lr.StepDecay(0.1)  # error: call-arg
number: int = dygraph.lr.StepDecay(0.1, 3)()  # error: assignment
nn.functional.cross_entropy(image, "labels")  # error: arg-type
nn.functional.dropout(image, rate=0.5)  # error: call-arg
pair: tuple = F.max_pool2d(image, 2)  # error: assignment
one: dygraph.Variable = nn.MaxPool1D(2, return_mask=True)(image)  # error: assignment
