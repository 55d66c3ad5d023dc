"""Deferred tensors, graphs and sessions: what is known before a run, and what a run does."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import wellfed.compat as tf


@pytest.fixture(autouse=True)
def session():
    """A graph and a session of the test's own."""
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess


def test_dtypes_and_shapes_show_as_in_tensorflow():
    assert (str(tf.float32), repr(tf.float32)) == ("<dtype: 'float32'>", "tf.float32")
    assert [str(tf.TensorShape(dims)) for dims in ([], [3], [None, 2], None)] == [
        "()",
        "(3,)",
        "(None, 2)",
        "<unknown>",
    ]


def test_a_part_of_an_unknown_size_has_an_unknown_size():
    x = tf.placeholder(tf.float32, [None, 5, 3])

    parts = [x[:2], x[1], x[:, 1:], x[..., 0], x[:, None], tf.strided_slice(x, [0, 1], [2, 9])]

    assert [part.shape.as_list() for part in parts] == [
        [None, 5, 3],
        [5, 3],
        [None, 4, 3],
        [None, 5],
        [None, 1, 5, 3],
        [None, 4, 3],
    ]


# --- Tensors -------------------------------------------------------------------------------------


def test_python_operators_give_tensors(session):
    x = tf.placeholder(tf.float32, [None, 2])

    got = session.run([x + 1, 1 - x, 2 * x, x / 2, -x, x**2, x > 1, abs(x)], {x: [[1, 2]]})

    assert [value.tolist() for value in got] == [
        [[2, 3]],
        [[0, -1]],
        [[2, 4]],
        [[0.5, 1]],
        [[-1, -2]],
        [[1, 4]],
        [[False, True]],
        [[1, 2]],
    ]


def test_a_numpy_array_on_the_left_leaves_the_work_to_the_tensor(session):
    x = tf.placeholder(tf.float64)

    assert session.run(np.array([1.0, 2.0]) * x, {x: 3}).tolist() == [3, 6]


def test_an_eager_value_on_the_left_leaves_the_work_to_the_tensor(session):
    x = tf.placeholder(tf.float32)

    assert session.run([tf.constant(2.0) * x, tf.constant([1.0, 2.0]) - x], {x: 3})[1].tolist() == [-2, -1]


def test_a_fraction_does_not_fit_an_integer_tensor():
    with pytest.raises(TypeError, match=r"Expected int64, but got float64 values such as 1\.5"):
        tf.placeholder(tf.int64) + 1.5


def test_slices_may_have_tensors_as_ends(session):
    x, n = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [])

    assert session.run(x[1:n], {x: [1, 2, 3, 4], n: 3}).tolist() == [2, 3]


def test_indexing_follows_numpy(session):
    x = tf.placeholder(tf.int32, [2, 3])

    got = session.run([x[0], x[:, 1], x[..., -1], x[:, None]], {x: [[1, 2, 3], [4, 5, 6]]})

    assert [value.tolist() for value in got] == [[1, 2, 3], [2, 5], [3, 6], [[[1, 2, 3]], [[4, 5, 6]]]]


@pytest.mark.parametrize(
    "use",
    [bool, int, float, np.asarray, len, lambda x: [1, 2][x]],
    ids=["bool", "int", "float", "array", "len", "index"],
)
def test_a_tensor_has_no_value_before_a_run(use):
    x = tf.placeholder(tf.int32, [], name="x")

    with pytest.raises(TypeError, match="x:0"):
        use(x)


def test_a_tensor_whose_first_size_is_known_can_be_taken_apart(session):
    first, second = tf.placeholder(tf.int32, [2, 1], name="pair")

    assert session.run([first, second], {"pair:0": [[1], [2]]})[1].tolist() == [2]


def test_tensors_are_compared_by_identity():
    x = tf.placeholder(tf.int32)

    assert (x == x, x == 1, len({x, x})) == (True, False, 1)


# --- Static shapes -------------------------------------------------------------------------------


def test_what_is_known_of_a_shape_goes_through_operations():
    x = tf.placeholder(tf.float32, [None, 4])

    assert (x + 1).shape.as_list() == [None, 4]
    assert tf.reshape(x, [-1, 2, 2]).shape.as_list() == [None, 2, 2]
    assert tf.reduce_sum(x, axis=1).shape.as_list() == [None]
    assert tf.concat([x, x], 1).shape.as_list() == [None, 8]
    assert tf.stack([x, x]).shape.as_list() == [2, None, 4]
    assert tf.expand_dims(x, 0).shape.as_list() == [1, None, 4]
    assert tf.transpose(x).shape.as_list() == [4, None]
    assert x[0].shape.as_list() == [4]
    assert tf.shape(x).shape.as_list() == [2]
    assert tf.zeros([tf.shape(x)[0], 3]).shape.as_list() == [None, 3]
    assert tf.image.resize(tf.placeholder(tf.uint8, [None, None, 3]), [4, 5]).shape.as_list() == [4, 5, 3]


def test_set_shape_adds_what_is_known():
    x = tf.placeholder(tf.float32, [None, 4])

    x.set_shape([3, None])

    assert x.get_shape().as_list() == [3, 4]


def test_a_contradicting_shape_is_refused():
    with pytest.raises(ValueError, match=r"Shapes \(None, 4\) and \(2, 5\) are not compatible"):
        tf.placeholder(tf.float32, [None, 4]).set_shape([2, 5])


def test_dimensions_count_as_numbers():
    height, width = tf.placeholder(tf.float32, [3, None]).shape

    assert (int(height), height.value, height * 2, height == 3) == (3, 3, 6, True)
    assert (width.value, width + 1, bool(width)) == (None, None, False)


# --- Graphs --------------------------------------------------------------------------------------


def test_names_are_made_unique_and_scoped():
    with tf.name_scope("input"):
        first, second = tf.placeholder(tf.int32, name="x"), tf.placeholder(tf.int32, name="x")

    assert (first.name, second.name) == ("input/x:0", "input/x_1:0")
    assert tf.get_default_graph().get_tensor_by_name("input/x_1:0") is second


def test_an_unknown_name_is_refused(session):
    with pytest.raises(KeyError, match="'nothing' refers to an Operation not in the graph"):
        session.run("nothing:0")


def test_a_tensor_of_another_graph_is_refused(session):
    with tf.Graph().as_default():
        stranger = tf.placeholder(tf.int32)

    with pytest.raises(ValueError, match="is not an element of this graph"):
        session.run(stranger)
    with pytest.raises(ValueError, match="must be from the same graph"):
        tf.placeholder(tf.int32) + stranger


def test_a_finalized_graph_takes_no_more():
    tf.get_default_graph().finalize()

    with pytest.raises(RuntimeError, match="Graph is finalized"):
        tf.placeholder(tf.int32)


def test_collections_keep_what_they_are_given():
    tf.add_to_collection("mine", 1)
    tf.add_to_collection("mine", 2)

    assert tf.get_collection("mine") == [1, 2]


# --- Runs ----------------------------------------------------------------------------------------


def test_an_operation_is_done_once_in_a_run_and_again_in_the_next(session):
    calls = []
    x = tf.py_func(lambda: calls.append(1) or np.int64(len(calls)), [], tf.int64)

    assert session.run([x, x + 1, x * 10]) == [1, 2, 10]
    assert session.run(x) == 2


def test_what_nobody_asks_for_is_not_done(session):
    calls = []
    tf.py_func(lambda: calls.append(1) or np.int64(1), [], tf.int64)

    session.run(tf.placeholder_with_default(1, []))

    assert calls == []


def test_any_tensor_can_be_fed_and_what_is_before_it_is_not_done(session):
    x = tf.py_func(lambda: 1 // 0, [], tf.int64)
    y = x + 1

    assert session.run(y * 2, {y: 5}) == 10


def test_fetches_come_back_in_their_form(session):
    x = tf.placeholder_with_default(np.int64(3), [])

    got = session.run({"a": x, "b": [x, (x, None)], "c": 7, "d": tf.no_op()})

    assert got == {"a": 3, "b": [3, (3, None)], "c": 7, "d": None}


def test_a_fetch_that_is_nothing_of_the_graph_is_refused(session):
    with pytest.raises(TypeError, match=r"Fetch argument .* has invalid type object"):
        session.run(object())


def test_a_fed_value_has_to_fit(session):
    x = tf.placeholder(tf.float32, [2], name="x")

    with pytest.raises(ValueError, match=r"Cannot feed value of shape \(3,\) for Tensor 'x:0', which has shape \(2,\)"):
        session.run(x, {x: [1, 2, 3]})
    with pytest.raises(TypeError, match="The value of a feed cannot be a Tensor"):
        session.run(x, {x: x})


def test_an_unfed_placeholder_says_so(session):
    x = tf.placeholder(tf.float32, [2], name="x")

    with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value for placeholder tensor 'x'"):
        session.run(x + 1)


def test_what_a_run_gives_belongs_to_the_caller(session):
    fixed = tf.Variable(np.zeros(3, np.float32))

    session.run(fixed)[:] = 7

    assert session.run(fixed).tolist() == [0, 0, 0]


def test_control_dependencies_are_done_first(session):
    order = []
    first = tf.py_func(lambda: order.append("first"), [], [])
    with tf.control_dependencies([tf.get_default_graph().get_operations()[-1]]):
        second = tf.py_func(lambda: order.append("second") or np.int64(1), [], tf.int64)

    session.run(second)

    assert (order, first) == (["first", "second"], [])


def test_a_very_long_chain_is_no_recursion(session):
    x = tf.placeholder_with_default(np.int64(0), [])
    for _ in range(3000):
        x = x + 1

    assert session.run(x) == 3000


def test_make_callable_takes_values_in_order(session):
    x, y = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])

    assert session.make_callable(x - y, [x, y])(5, 3) == 2


def test_eval_uses_the_default_session():
    x = tf.placeholder(tf.int32, [])

    assert (x + 1).eval({x: 1}) == 2


def test_without_a_default_session_eval_says_so():
    with tf.Graph().as_default():
        x = tf.placeholder_with_default(1, [])
    tf.get_default_session().close()

    with pytest.raises(ValueError, match="no session is given, and none is the default"):
        x.eval()


def test_a_closed_session_runs_nothing(session):
    session.close()

    with pytest.raises(RuntimeError, match="Attempted to use a closed Session"):
        session.run(tf.no_op())


def test_closing_a_session_frees_who_waits_in_it(session):
    queue = tf.FIFOQueue(1, [tf.int64], [[]])
    wait = queue.dequeue()
    told = []

    def take():
        try:
            session.run(wait)
        except (tf.errors.CancelledError, RuntimeError) as error:
            told.append(str(error))

    thread = threading.Thread(target=take)
    thread.start()
    behind = queue.in_session(session)
    while behind.waiting() != (0, 1):
        thread.join(0.001)
    session.close()
    thread.join()

    assert "was cancelled" in told[0]


def test_cond_does_only_the_chosen_branch(session):
    done = []
    choice = tf.placeholder(tf.bool, [])

    def branch(name):
        return lambda: tf.py_func(lambda: done.append(name) or np.int64(len(name)), [], tf.int64)

    chosen = tf.cond(choice, branch("yes"), branch("no"))

    assert (session.run(chosen, {choice: True}), session.run(chosen, {choice: False})) == (3, 2)
    assert done == ["yes", "no"]


def test_cond_of_a_known_truth_chooses_at_once():
    assert tf.cond(True, lambda: "yes", lambda: "no") == "yes"


def test_an_assertion_that_fails_ends_the_run(session):
    x = tf.placeholder(tf.int32, [])
    with tf.control_dependencies([tf.Assert(x > 0, [x])]):
        checked = tf.identity(x)

    assert session.run(checked, {x: 1}) == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="assertion failed"):
        session.run(checked, {x: -1})


# --- Variables -----------------------------------------------------------------------------------


def test_a_variable_needs_no_initialiser_and_keeps_its_value(session):
    count = tf.Variable(5, name="count")

    session.run(tf.assign_add(count, 2))

    assert session.run(count) == 7
    session.run(tf.global_variables_initializer())
    assert session.run(count.value() + 1) == 8


def test_each_session_has_variables_of_its_own(session):
    count = tf.Variable(5)
    session.run(count.assign(9))

    with tf.Session() as other:
        assert other.run(count) == 5


def test_a_variable_may_start_from_a_tensor_or_a_function(session):
    first = tf.Variable(tf.placeholder_with_default(np.float32(2), []))
    second = tf.Variable(lambda: np.ones(2, np.float32))

    assert session.run(first) == 2
    assert session.run(second.assign_sub([0.5, 1])).tolist() == [0.5, 0]


def test_count_up_to_ends_the_input(session):
    count = tf.Variable(0).count_up_to(2)

    assert (session.run(count), session.run(count)) == (0, 1)
    with pytest.raises(tf.errors.OutOfRangeError, match="Reached limit of 2"):
        session.run(count)


def test_global_step_is_made_once():
    step = tf.train.get_or_create_global_step()

    assert tf.train.get_or_create_global_step() is step
    with pytest.raises(ValueError, match="already exists"):
        tf.train.create_global_step()


# --- Python functions ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (StopIteration(), tf.errors.OutOfRangeError),
        (ValueError("bad"), tf.errors.InvalidArgumentError),
        (TypeError("bad"), tf.errors.InvalidArgumentError),
        (NotImplementedError("bad"), tf.errors.UnimplementedError),
        (MemoryError("bad"), tf.errors.ResourceExhaustedError),
        (FileNotFoundError("bad"), tf.errors.NotFoundError),
        (RuntimeError("bad"), tf.errors.UnknownError),
    ],
)
def test_an_error_of_a_python_function_has_tensorflows_name_and_itself_as_cause(session, error, kind):
    def fail():
        raise error

    with pytest.raises(kind, match=r"PyFunc .*fail") as caught:
        session.run(tf.py_func(fail, [], tf.int64))

    assert caught.value.__cause__ is error


def test_an_op_error_of_a_python_function_stays_as_it_is(session):
    def fail():
        raise tf.errors.DataLossError(None, None, "cut")

    with pytest.raises(tf.errors.DataLossError, match="cut"):
        session.run(tf.py_func(fail, [], tf.int64))


def test_a_python_function_has_to_give_the_dtypes_it_promised(session):
    with pytest.raises(tf.errors.InvalidArgumentError, match="gave float64, int64 is due"):
        session.run(tf.py_func(lambda: np.float64(1), [], tf.int64))
    with pytest.raises(tf.errors.InvalidArgumentError, match="gave 1 values, 2 are due"):
        session.run(tf.py_func(lambda: (1,), [], [tf.int64, tf.int64]))


def test_a_python_function_takes_and_gives_strings(session):
    joined = tf.py_func(lambda a, b: a + b, [b"x", "y"], tf.string)

    assert session.run(joined) == b"xy"


def test_py_function_gets_eager_tensors(session):
    assert session.run(tf.py_function(lambda x: x.numpy() * 2, [np.int64(4)], tf.int64)) == 8


# --- Random numbers ------------------------------------------------------------------------------


def test_random_numbers_are_others_in_each_run_and_fixed_by_a_seed(session):
    drawn = [tf.random_uniform([3], seed=5), tf.random_uniform([3], seed=5)]

    first, again = session.run(drawn), session.run(drawn)

    assert first[0].tolist() == first[1].tolist() != again[0].tolist()
    assert first[0].dtype == np.float32


def test_the_graphs_seed_fixes_what_has_none():
    values = []
    for _ in range(2):
        with tf.Graph().as_default(), tf.Session() as sess:
            tf.set_random_seed(3)
            values.append(sess.run([tf.random_normal([2]), tf.random_normal([2])]))

    assert values[0][0].tolist() == values[1][0].tolist() != values[0][1].tolist()


def test_random_integers_need_their_limit(session):
    assert set(session.run(tf.random_uniform([100], 0, 3, tf.int32, seed=1)).tolist()) == {0, 1, 2}
    with pytest.raises(ValueError, match="Must specify maxval"):
        tf.random_uniform([1], dtype=tf.int32)


def test_a_random_crop_lies_inside(session):
    whole = np.arange(30).reshape(5, 6)

    part = session.run(tf.random_crop(whole, [2, 3], seed=1))

    assert part.shape == (2, 3)
    assert (np.diff(part, axis=1) == 1).all()


def test_random_shuffle_keeps_the_parts(session):
    assert sorted(session.run(tf.random_shuffle([3, 1, 2])).tolist()) == [1, 2, 3]


# --- At once -------------------------------------------------------------------------------------


def test_values_alone_are_computed_at_once():
    assert tf.add(1, 2).numpy() == 3
    assert tf.constant([1, 2]).dtype == np.int32
    assert tf.constant(1.5).dtype == np.float32
    assert tf.strings.join(["a", "b"], "-").numpy() == b"a-b"


def test_an_eager_value_stays_one_in_arithmetic():
    total = (tf.constant([1.0, 2.0]) * 2 + 1)[1]

    assert total.numpy() == 5
    assert (total > 4).numpy()
    assert tf.constant([[1, 2]]).get_shape().as_list() == [1, 2]


def test_a_session_takes_values_as_they_are(session):
    assert session.run([tf.constant(3), b"text"]) == [3, b"text"]


def test_constant_fills_a_shape():
    assert tf.constant(7, shape=[2, 2]).numpy().tolist() == [[7, 7], [7, 7]]
    with pytest.raises(TypeError, match=r"Expected int32, but got float64 values such as 1\.5"):
        tf.constant(1.5, tf.int32)


def test_dtypes_equal_their_numpy_types_and_names():
    assert (tf.float32, tf.float32, tf.string) == (np.float32, "float32", bytes)
    assert tf.int64 != np.int32
    assert (tf.uint8.max, tf.float32.is_floating, tf.as_dtype("int64").name) == (255, True, "int64")


def test_a_python_function_waits_for_a_run_where_a_graph_is_made():
    def double(value):
        return value * 2

    assert isinstance(tf.numpy_function(double, [3], tf.int64), tf.Tensor)


def test_equality_outside_map_is_of_tensors():
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)

    assert x == x
    assert x != y
