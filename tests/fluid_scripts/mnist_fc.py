"""Fluid 1.5 and 1.6: layers with a name_scope, FC, an optimizer without parameter_list."""

import numpy as np
import paddle
import paddle.fluid as fluid
from paddle.fluid.dygraph import FC
from paddle.fluid.optimizer import SGDOptimizer


class MLP(fluid.dygraph.Layer):
    def __init__(self, name_scope):
        super(MLP, self).__init__(name_scope)
        self._hidden = FC(self.full_name(), size=32, act="relu")
        self._out = FC(self.full_name(), size=10, act="softmax")

    def forward(self, inputs):
        return self._out(self._hidden(inputs))


with fluid.dygraph.guard():
    mlp = MLP("mlp")
    sgd = SGDOptimizer(learning_rate=0.01)
    backward_strategy = fluid.dygraph.BackwardStrategy()
    backward_strategy.sort_sum_gradient = True
    train_reader = paddle.batch(
        paddle.reader.shuffle(paddle.dataset.mnist.train(), buf_size=500), batch_size=16
    )
    for epoch in range(8):
        losses = []
        for data in train_reader():
            images = np.array([x[0] for x in data]).reshape(-1, 1, 28, 28)
            labels = np.array([x[1] for x in data]).astype("int64").reshape(-1, 1)
            img = fluid.dygraph.to_variable(images)
            label = fluid.dygraph.to_variable(labels)
            label._stop_gradient = True
            loss = fluid.layers.cross_entropy(mlp(img), label)
            avg_loss = fluid.layers.mean(loss)
            avg_loss.backward(backward_strategy)
            sgd.minimize(avg_loss)
            mlp.clear_gradients()
            losses.append(float(avg_loss.numpy()))
        print("epoch", epoch, "loss", np.mean(losses))
