"""Layers of one's own, containers, hooks."""

import dygraph
from dygraph import nn
from mistakes.common import floats


def forgotten_super_init():
    class Net(nn.Layer):
        def __init__(self):
            self.fc = nn.Linear(2, 2)

    Net()


def forgotten_super_init_without_parts():
    class Net(nn.Layer):
        def __init__(self):
            self.size = 3

        def forward(self, x):
            return x

    Net()(floats(2))


def forgotten_forward():
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(2, 2)

    Net()(floats(1, 2))


def misspelt_forward():
    class Net(nn.Layer):
        def foward(self, x):
            return x

    Net()(floats(1, 2))


def the_class_called_for_the_layer():
    nn.ReLU(floats(2))


def the_class_in_sequential():
    nn.Sequential(nn.Linear(2, 2), nn.ReLU)


def a_function_in_sequential():
    nn.Sequential(nn.Linear(2, 2), dygraph.ops.relu)


def layers_as_one_list():
    net = nn.Sequential([nn.Linear(2, 2), nn.ReLU()])
    return f"a list of layers is taken, {len(net)} layers"


def index_beyond_the_layers():
    nn.Sequential(nn.Linear(2, 2))[1]


def sequential_slot_that_is_not_there():
    nn.Sequential(("fc", nn.Linear(2, 2)))["head"]


def a_variable_for_a_parameter():
    nn.Linear(2, 2).add_parameter("scale", floats(2))


def a_name_with_a_dot():
    nn.Linear(2, 2).add_sublayer("a.b", nn.ReLU())


def a_name_that_is_taken():
    nn.Linear(2, 2).register_buffer("forward", floats(2))


def buffer_that_is_an_array():
    layer = nn.Linear(2, 2)
    layer.register_buffer("mean", floats(2))
    layer.mean = floats(2).numpy()


def missing_attribute():
    return nn.Linear(2, 2).wieght


def wrong_number_of_arguments():
    nn.Sequential(nn.Linear(2, 2))(floats(1, 2), floats(1, 2))


def training_as_an_argument():
    nn.Dropout(0.5)(floats(2), training=True)


def hook_that_is_no_function():
    nn.Linear(2, 2).register_forward_post_hook(3)


def error_in_ones_own_forward():
    class Block(nn.Layer):
        def forward(self, x):
            return {"a": x}["no such key"]

    nn.Sequential(nn.ReLU(), nn.Sequential(nn.Linear(2, 2), Block()))(floats(1, 2))


def layer_dict_key_that_is_not_there():
    nn.LayerDict({"encoder": nn.Linear(2, 2)})["encodr"]


def initializer_with_a_wrong_shape():
    initializer = dygraph.initializer.NumpyArrayInitializer(floats(3, 2).numpy())
    nn.Linear(2, 2, param_attr=dygraph.ParamAttr(initializer=initializer))


def guard_forgotten():
    return f"{nn.Linear(2, 2)(floats(1, 2)).shape}, works without dygraph.guard()"


def dtype_of_integers():
    nn.Linear(2, 2, dtype="int64")


def printing_a_parameter_before_it_is_one():
    dygraph.Parameter("weight")
