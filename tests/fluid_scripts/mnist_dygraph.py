"""Fluid 1.7 and 1.8: a convolutional network on MNIST in the eager mode."""

import sys

import numpy as np
import paddle
import paddle.fluid as fluid
from paddle.fluid.dygraph.base import to_variable
from paddle.fluid.dygraph.nn import Conv2D, Linear, Pool2D
from paddle.fluid.optimizer import AdamOptimizer

fluid.require_version("1.7.0")


class SimpleImgConvPool(fluid.dygraph.Layer):
    def __init__(self, num_channels, num_filters, filter_size, pool_size, pool_stride, act=None):
        super(SimpleImgConvPool, self).__init__()
        self._conv2d = Conv2D(
            num_channels=num_channels, num_filters=num_filters, filter_size=filter_size,
            stride=1, padding=0, dilation=1, groups=1, param_attr=None, bias_attr=None, act=act,
            use_cudnn=False,
        )
        self._pool2d = Pool2D(pool_size=pool_size, pool_type="max", pool_stride=pool_stride)

    def forward(self, inputs):
        return self._pool2d(self._conv2d(inputs))


class MNIST(fluid.dygraph.Layer):
    def __init__(self):
        super(MNIST, self).__init__()
        self._simple_img_conv_pool_1 = SimpleImgConvPool(1, 4, 5, 2, 2, act="relu")
        self._simple_img_conv_pool_2 = SimpleImgConvPool(4, 8, 5, 2, 2, act="relu")
        self.pool_2_shape = 8 * 4 * 4
        self._fc = Linear(
            self.pool_2_shape, 10,
            param_attr=fluid.param_attr.ParamAttr(
                initializer=fluid.initializer.NormalInitializer(loc=0.0, scale=0.1)
            ),
            act="softmax",
        )

    def forward(self, inputs, label=None):
        x = self._simple_img_conv_pool_1(inputs)
        x = self._simple_img_conv_pool_2(x)
        x = fluid.layers.reshape(x, shape=[-1, self.pool_2_shape])
        x = self._fc(x)
        if label is not None:
            return x, fluid.layers.accuracy(input=x, label=label)
        return x


def test_mnist(reader, model):
    acc_set, avg_loss_set = [], []
    for data in reader():
        dy_x_data = np.array([x[0].reshape(1, 28, 28) for x in data]).astype("float32")
        y_data = np.array([x[1] for x in data]).astype("int64").reshape(-1, 1)
        img, label = to_variable(dy_x_data), to_variable(y_data)
        label.stop_gradient = True
        prediction, acc = model(img, label)
        loss = fluid.layers.cross_entropy(input=prediction, label=label)
        avg_loss = fluid.layers.mean(loss)
        acc_set.append(float(acc.numpy()))
        avg_loss_set.append(float(avg_loss.numpy()))
    return np.array(avg_loss_set).mean(), np.array(acc_set).mean()


def train_mnist(epochs):
    place = fluid.CUDAPlace(0) if fluid.is_compiled_with_cuda() else fluid.CPUPlace()
    with fluid.dygraph.guard(place):
        fluid.default_startup_program().random_seed = 90
        fluid.default_main_program().random_seed = 90
        mnist = MNIST()
        adam = AdamOptimizer(learning_rate=0.01, parameter_list=mnist.parameters())
        train_reader = paddle.batch(paddle.dataset.mnist.train(), batch_size=16, drop_last=True)
        test_reader = paddle.batch(paddle.dataset.mnist.test(), batch_size=16, drop_last=True)
        for epoch in range(epochs):
            for batch_id, data in enumerate(train_reader()):
                dy_x_data = np.array([x[0].reshape(1, 28, 28) for x in data]).astype("float32")
                y_data = np.array([x[1] for x in data]).astype("int64").reshape(-1, 1)
                img, label = to_variable(dy_x_data), to_variable(y_data)
                label.stop_gradient = True
                cost, acc = mnist(img, label)
                loss = fluid.layers.cross_entropy(cost, label)
                avg_loss = fluid.layers.mean(loss)
                avg_loss.backward()
                adam.minimize(avg_loss)
                mnist.clear_gradients()
            mnist.eval()
            test_cost, test_acc = test_mnist(test_reader, mnist)
            mnist.train()
            print("Loss at epoch {} , Test avg_loss is: {}, acc is: {}".format(
                epoch, test_cost, test_acc))
        fluid.save_dygraph(mnist.state_dict(), sys.argv[1])
    with fluid.dygraph.guard(place):
        mnist_infer = MNIST()
        model_dict, _ = fluid.load_dygraph(sys.argv[1])
        mnist_infer.set_dict(model_dict)
        mnist_infer.eval()
        print("checkpoint loaded", test_mnist(test_reader, mnist_infer)[1] == test_acc)


if __name__ == "__main__":
    train_mnist(4)
