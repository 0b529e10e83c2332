"""Networks train on the device as on the host, in every setting of the pretended CUDA."""

import pytest

import cuda_library
import cuda_steps
from dygraph import cuda

SETTINGS = [{}, {"LATE": 1}, {"REVERSE": 1}, {"BATCH": 1}, {"LATE": 1, "REVERSE": 1}]
CASES = [("mlp", "sgd"), ("mlp", "momentum"), ("mlp", "adam"), ("lenet", "momentum")]


@pytest.fixture
def place():
    here = cuda_library.place()
    if here is None:
        pytest.skip("neither a device nor the pretended library is there")
    return here


@pytest.mark.parametrize("network, optimizer", CASES)
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: " ".join(s) or "usual")
def test_training_gives_the_hosts_numbers(place, network, optimizer, settings):
    if settings and not cuda_library.is_pretended():
        pytest.skip("settings of the pretended CUDA")
    if not settings:
        return cuda_steps.assert_trains_as_the_host(network, optimizer, place)
    with cuda_library.pretending(**settings):
        cuda_steps.assert_trains_as_the_host(network, optimizer, place)


def test_a_step_of_an_mlp_computes_on_the_device_and_waits_for_nothing(place):
    training = cuda_steps.Training("mlp", "momentum", place)
    training.step()
    fallbacks, waits = cuda.fallbacks(), cuda.syncs(place)
    for _ in range(3):
        loss = training.step()
    assert cuda.syncs(place) == waits
    assert cuda.fallbacks() == fallbacks
    assert loss.place == place and all(p.place == place for p in training.net.parameters())


def test_a_device_gives_equal_bits_each_time(place):
    first, second = (cuda_steps.trained("lenet", "adam", place) for _ in range(2))
    assert first[0].tobytes() == second[0].tobytes()
    assert first[1].tobytes() == second[1].tobytes()
