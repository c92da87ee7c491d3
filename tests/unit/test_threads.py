"""One thread of BLAS: while it is asked for, by anyone, and no longer."""

import threading

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info

from taupi.threads import one_blas_thread, small_algebra


@pytest.fixture(autouse=True)
def several():
    """Two threads of BLAS, whatever the machine and the test run have."""
    with one_blas_thread():
        pass  # the libraries are loaded
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        yield


def counts():
    return {d["num_threads"] for d in threadpool_info() if d["user_api"] == "blas"}


def test_the_limit_holds_inside_and_is_lifted_afterwards():
    assert counts() == {2}
    with one_blas_thread():
        assert counts() == {1}
        with one_blas_thread():
            assert counts() == {1}
        assert counts() == {1}
    assert counts() == {2}


def test_it_is_lifted_after_an_error():
    @small_algebra
    def fails():
        assert counts() == {1}
        raise ValueError

    with pytest.raises(ValueError):
        fails()
    assert counts() == {2}


@pytest.mark.parametrize("first_leaves_first", [True, False])
def test_threads_may_leave_in_any_order(first_leaves_first):
    """Whoever leaves last, the count is then what it was before the first came, not what the second found."""
    inside, leave = threading.Event(), threading.Event()

    def second():
        with one_blas_thread():
            inside.set()
            leave.wait()

    other = threading.Thread(target=second)
    with one_blas_thread():
        other.start()
        inside.wait()
        assert counts() == {1}
        if not first_leaves_first:
            leave.set()
            other.join()
            assert counts() == {1}
    leave.set()
    other.join()
    assert counts() == {2}
    with one_blas_thread():
        assert counts() == {1}


def test_results_are_returned_and_names_kept():
    @small_algebra
    def product(a, *, b):
        """Multiply."""
        return a @ b

    assert product(np.eye(2), b=np.ones(2)).tolist() == [1, 1]
    assert product.__name__ == "product" and product.__doc__ == "Multiply."
