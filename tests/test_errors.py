"""Every error keeps its facts in fields that equal its args, and crosses a process's border whole."""

from __future__ import annotations

import inspect
import pickle

import pytest

from wellfed import errors

CLASSES = [
    value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, errors.WellfedError)
]
SAMPLES = {"str": "text", "int": 7, "object": "anything", "str | None": "text", "BaseException | None": ValueError("x")}


def parameters(cls):
    """Returns the constructor's parameters; none where the class takes what `Exception` takes."""
    signature = inspect.signature(cls.__init__)
    return [
        parameter
        for parameter in list(signature.parameters.values())[1:]
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        and parameter.kind is not inspect.Parameter.VAR_POSITIONAL
    ]


def example(cls):
    """Makes an error with a distinct value in each field."""
    values = [SAMPLES[str(parameter.annotation)] for parameter in parameters(cls)]
    return cls(*(f"{value}{i}" if isinstance(value, str) else value for i, value in enumerate(values)))


def test_the_tree_has_errors():
    assert len(CLASSES) > 20


@pytest.mark.parametrize("cls", CLASSES)
def test_the_fields_equal_the_args_in_order(cls):
    error = example(cls)

    assert tuple(getattr(error, parameter.name) for parameter in parameters(cls)) == error.args


@pytest.mark.parametrize("cls", CLASSES)
def test_an_error_survives_pickling_with_every_field(cls):
    error = example(cls)
    copy = pickle.loads(pickle.dumps(error))

    assert type(copy) is cls
    assert (str(copy), vars(copy)) == (str(error), vars(error))


# TensorFlow's errors say what their message says; it names the op where that helps.
@pytest.mark.parametrize("cls", [cls for cls in CLASSES if parameters(cls) and not issubclass(cls, errors.OpError)])
def test_the_sentence_names_every_fact(cls):
    error = example(cls)

    assert not [value for value in error.args if isinstance(value, str) and value not in str(error)]


@pytest.mark.parametrize("cls", CLASSES)
def test_the_picture_at_the_top_of_the_tree_shows_the_class(cls):
    assert cls.__name__ in errors.__doc__
