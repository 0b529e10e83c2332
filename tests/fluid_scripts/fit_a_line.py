"""The documents' first script, of Paddle's v2.fluid."""

import numpy as np
import paddle.v2 as paddle
import paddle.v2.fluid as fluid
from paddle.v2.fluid import debuger

x = fluid.layers.data(name="x", shape=[13], dtype="float32")
y_predict = fluid.layers.fc(input=x, size=1, act=None)
y = fluid.layers.data(name="y", shape=[1], dtype="float32")
cost = fluid.layers.square_error_cost(input=y_predict, label=y)
avg_cost = fluid.layers.mean(x=cost)
fluid.optimizer.SGD(learning_rate=0.01).minimize(avg_cost)
train_reader = paddle.batch(paddle.dataset.uci_housing.train(), batch_size=20)
place = fluid.CPUPlace()
feeder = fluid.DataFeeder(place=place, feed_list=[x, y])
exe = fluid.Executor(place)
exe.run(fluid.default_startup_program())
for pass_id in range(5):
    for data in train_reader():
        (avg_loss_value,) = exe.run(
            fluid.default_main_program(), feed=feeder.feed(data), fetch_list=[avg_cost]
        )
    print("pass", pass_id, float(np.array(avg_loss_value)))
print(debuger.pprint_program_codes(fluid.default_main_program().desc) is not None)
