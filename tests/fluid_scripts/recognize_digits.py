"""Fluid 1.x: a program that recognizes digits, from the book of Fluid."""

import sys

import numpy
import paddle
import paddle.fluid as fluid
import paddle.fluid.core as core
from paddle.fluid.framework import Program, program_guard


def softmax_regression():
    img = fluid.data(name="img", shape=[None, 1, 28, 28], dtype="float32")
    return img, fluid.layers.fc(input=img, size=10, act="softmax")


main_program, startup_program = Program(), Program()
main_program.random_seed = startup_program.random_seed = 1
with program_guard(main_program, startup_program):
    img, prediction = softmax_regression()
    label = fluid.data(name="label", shape=[None, 1], dtype=core.VarDesc.VarType.INT64)
    cost = fluid.layers.cross_entropy(input=prediction, label=label)
    avg_cost = fluid.layers.mean(cost)
    acc = fluid.layers.accuracy(input=prediction, label=label)
    test_program = main_program.clone(for_test=True)
    fluid.optimizer.Adam(learning_rate=0.01).minimize(avg_cost)

place = fluid.CUDAPlace(0) if fluid.core.is_compiled_with_cuda() else fluid.CPUPlace()
exe = fluid.Executor(place)
feeder = fluid.DataFeeder(feed_list=[img, label], place=place)
exe.run(startup_program)
train_reader = paddle.batch(paddle.dataset.mnist.train(), batch_size=16)
test_reader = paddle.batch(paddle.dataset.mnist.test(), batch_size=16)
for epoch_id in range(3):
    for step, data in enumerate(train_reader()):
        exe.run(main_program, feed=feeder.feed(data), fetch_list=[avg_cost])
    results = [
        exe.run(program=test_program, fetch_list=[acc.name, avg_cost], feed=feeder.feed(data))
        for data in test_reader()
    ]
    acc_val, avg_loss_val = numpy.array(results).reshape(-1, 2).mean(0)
    print("Test with Epoch %d, avg_cost: %s, acc: %s" % (epoch_id, avg_loss_val, acc_val))
fluid.io.save_inference_model(
    sys.argv[1], ["img"], [prediction], exe, main_program=test_program
)
