"""Element types and kinds of arguments."""

import numpy as np

import dygraph
from dygraph import nn
from mistakes.common import floats, ids, leaf


def float64_array_into_a_float32_net():
    net = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2))
    net(dygraph.to_variable(np.random.rand(3, 4)))


def integers_into_linear():
    nn.Linear(4, 2)(dygraph.to_variable(np.arange(8).reshape(2, 4)))


def bytes_of_an_image_into_a_convolution():
    nn.Conv2D(3, 8, 3)(dygraph.to_variable(np.zeros((1, 3, 8, 8), "uint8")))


def float16_into_a_float32_net():
    nn.Linear(4, 2)(floats(3, 4, dtype="float16"))


def numpy_array_into_a_layer():
    nn.Linear(4, 2)(np.ones((3, 4), "float32"))


def list_into_a_layer():
    nn.Linear(4, 2)([[1.0, 2.0, 3.0, 4.0]])


def none_into_a_layer():
    nn.Sequential(nn.Linear(4, 2))(None)


def nothing_into_a_layer():
    nn.Linear(4, 2)()


def a_list_of_lists_and_variables_into_concat():
    dygraph.concat([floats(2, 2), [[1.0, 2.0]]], axis=0)


def one_variable_into_concat():
    return f"taken for a list of one, shape {dygraph.concat(floats(2, 2), axis=0).shape}"


def variable_plus_text():
    floats(2) + "1"


def mixed_floats_into_an_operator():
    dygraph.ops.elementwise_add(floats(2), floats(2, dtype="float64"))


def array_of_objects():
    dygraph.to_variable(np.array([1, "a", None], dtype=object))


def ragged_list():
    dygraph.to_variable([[1.0, 2.0], [3.0]])


def array_of_texts():
    dygraph.to_variable(["cat", "dog"])


def misspelt_dtype():
    floats(2).astype("flaot32")


def torch_dtype_name():
    dygraph.zeros([2], dtype="double precision")


def mean_of_integers_with_gradient():
    v = ids(1, 2, 3)
    v.stop_gradient = False


def bool_of_many_elements():
    if floats(3) > 0:
        pass


def float_of_many_elements():
    float(floats(3))


def item_of_many_elements():
    floats(2, 2).item()


def length_of_a_number():
    len(floats())


def index_of_a_python_list_with_a_float_variable():
    [1, 2, 3][floats()]


def range_over_a_float_variable():
    range(floats())


def numpy_of_a_variable_with_gradient():
    return f"no detach() is needed, {leaf(2).numpy().tolist()}"


def positional_axis_that_is_a_float():
    dygraph.ops.softmax(floats(2, 2), axis=1.5)


def misspelt_keyword_of_an_operator():
    dygraph.ops.softmax(floats(2, 2), axes=1)


def keyword_of_another_library():
    dygraph.ops.gelu(floats(2, 2), inplace=True)


def misspelt_keyword_of_a_layer():
    nn.Linear(4, 2, activation="relu")


def misspelt_function():
    dygraph.ops.rellu(floats(2))


def misspelt_layer():
    nn.Conv2d(3, 8, 3)


def misspelt_method():
    floats(2).revers()


def misspelt_activation():
    nn.Linear(4, 2, act="rellu")


def activation_as_a_function():
    nn.Linear(4, 2, act=dygraph.ops.relu)


def dropout_of_two():
    nn.Dropout(p=2)


def negative_size():
    nn.Linear(-4, 2)


def size_as_a_float():
    nn.Linear(28 * 28 / 4, 10)


def embedding_with_two_arguments():
    nn.Embedding(1000, 64)


def initializer_as_an_array():
    nn.Linear(2, 2, param_attr=np.ones((2, 2)))
