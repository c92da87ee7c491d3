"""The constant tensors of a regressor, and operations on tensors and spatial vectors, on NumPy arrays.

E and Q split an inertia and a skew matrix into their numbers; the generalised transpose permutes the levels of a tensor
(Gabiccini et al. 2009). The spatial operators are those of Kubozono, Yamakita & Furuta: motions are [w; v_O], forces [f; n_O].
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from taupi.checks import real_array
from taupi.dynamics.types import ArrayLike
from taupi.errors import Argument, TaupiError

_PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))  # xx, xy, xz, yy, yz, zz


def inertia_basis() -> np.ndarray:
    """Return E (3, 3, 6) with I = E J: ones where Ixx, Ixy, Ixz, Iyy, Iyz, Izz stand (Gabiccini et al. 2009, eq. 15, 16).

    >>> import numpy as np, taupi as tp
    >>> (tp.closed_form.inertia_basis() @ np.arange(1.0, 7.0)).tolist()
    [[1.0, 2.0, 3.0], [2.0, 4.0, 5.0], [3.0, 5.0, 6.0]]
    """
    basis = np.zeros((3, 3, 6))
    for e, (row, column) in enumerate(_PAIRS):
        basis[row, column, e] = basis[column, row, e] = 1.0
    return basis


def skew_basis() -> np.ndarray:
    """Return Q (3, 3, 3) with S(p) = Q p: slices S(e_x), S(e_y), S(e_z) (Gabiccini et al. 2009, eq. 48).

    >>> import numpy as np, taupi as tp
    >>> (tp.closed_form.skew_basis() @ np.array([1.0, 2.0, 3.0])).tolist()
    [[0.0, -3.0, 2.0], [3.0, 0.0, -1.0], [-2.0, 1.0, 0.0]]
    """
    basis = np.zeros((3, 3, 3))
    for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        basis[c, b, a], basis[b, c, a] = 1.0, -1.0
    return basis


def generalised_transpose(tensor: ArrayLike, levels: str | Sequence[int]) -> np.ndarray:
    """Return `A^T_{n1..nk}`, whose entry (i_1, ..., i_k) is `A[i_{n1}, ..., i_{nk}]` (Gabiccini et al. 2009, eq. 44).

    `tensor` is A, of k levels; `levels` is the permutation n1..nk of 1..k, as "132" or (1, 3, 2). Level j of A becomes level
    n_j of the result, as in Mathematica's Transpose; the sentence before the equation states the inverse, which does not work.

    >>> import numpy as np, taupi as tp
    >>> A = np.arange(24).reshape(2, 3, 4)
    >>> B = tp.closed_form.generalised_transpose(A, "231")
    >>> B.shape, bool(B[3, 1, 2] == A[1, 2, 3])
    ((4, 2, 3), True)
    """
    try:
        values = np.asarray(tensor)
    except ValueError:  # rows of different lengths
        raise TaupiError("{tensor} is {got!r}, expected an array.", got=tensor) from None
    try:
        order = [int(k) - 1 for k in levels]
    except (TypeError, ValueError):
        order = []
    if not values.ndim or sorted(order) != list(range(values.ndim)):
        numbers = "".join(str(k + 1) for k in range(values.ndim)) or "12, 123, ..."
        raise TaupiError(
            "{levels} is {got!r}, expected a permutation of {numbers}: the tensor has {ndim} levels.",
            got=levels,
            numbers=numbers,
            ndim=values.ndim,
        )
    return np.transpose(values, np.argsort(order))


# Spatial operators ------------------------------------------------------------------------------------------------------


def _sized(name: str, value: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    array = real_array(name, value)
    if array.shape[-len(shape) :] != shape:
        raise TaupiError(
            "{argument} has shape {got}, expected (..., {shape:,}).",
            argument=Argument(name),
            got=array.shape,
            shape=shape,
        )
    return array


def skew(a: ArrayLike) -> np.ndarray:
    """Return S(a) (..., 3, 3) of vectors `a` (..., 3), with S(a) b = a x b.

    >>> import taupi as tp
    >>> (tp.closed_form.skew([1.0, 2.0, 3.0]) @ [0.0, 0.0, 1.0]).tolist()
    [2.0, -1.0, 0.0]
    """
    matrices: np.ndarray = np.einsum("rca,...a->...rc", skew_basis(), _sized("a", a, (3,)))
    return matrices


def bow_tie(a: ArrayLike) -> np.ndarray:
    """Return (a)[▷◁] (..., 3, 6) of vectors `a` (..., 3) (Zollo et al. 2014, eq. * and **).

    S a = (a)[▷◁] (Sxx, Syy, Szz, Sxy, Sxz, Syz) for a symmetric S: what makes I w linear in the six numbers of I.

    >>> import taupi as tp
    >>> tp.closed_form.bow_tie([1.0, 2.0, 3.0]).tolist()
    [[1.0, 0.0, 0.0, 2.0, 3.0, 0.0], [0.0, 2.0, 0.0, 1.0, 0.0, 3.0], [0.0, 0.0, 3.0, 0.0, 1.0, 2.0]]
    """
    squares_first = [0, 3, 5, 1, 2, 4]
    columns: np.ndarray = np.einsum("rce,...c->...re", inertia_basis()[..., squares_first], _sized("a", a, (3,)))
    return columns


def _blocks(upper: Sequence[np.ndarray], lower: Sequence[np.ndarray]) -> np.ndarray:
    parts = np.broadcast_arrays(*upper, *lower)
    rows = [np.concatenate(parts[k : k + 2], axis=-1) for k in (0, 2)]
    return np.concatenate(rows, axis=-2)


def spatial_cross(b: ArrayLike) -> np.ndarray:
    """Return b x (..., 6, 6) of spatial vectors `b` (..., 6): [[S(b_l), 0], [S(b_f), S(b_l)]] (Kubozono et al., appendix).

    One operator serves motions and forces: a x b = -b x a, and (a x)' = -a x.

    >>> import numpy as np, taupi as tp
    >>> a, b = np.arange(6.0), np.ones(6)
    >>> bool(np.allclose(tp.closed_form.spatial_cross(a) @ b, -tp.closed_form.spatial_cross(b) @ a))
    True
    """
    vector = _sized("b", b, (6,))
    turning, moving = skew(vector[..., :3]), skew(vector[..., 3:])
    return _blocks((turning, np.zeros((3, 3))), (moving, turning))


def spatial_transpose(x: ArrayLike) -> np.ndarray:
    """Return x': [a; a_0]' = [a_0^T a^T] of a vector (6,), P X^T P of tensors (..., 6, 6) (Kubozono et al., appendix).

    `x` is a vector or a tensor. a' b is the scalar product of a motion with a force: `spatial_transpose(a) @ b`.

    >>> import taupi as tp
    >>> tp.closed_form.spatial_transpose([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).tolist()
    [4.0, 5.0, 6.0, 1.0, 2.0, 3.0]
    """
    array = _sized("x", x, (6, 6)) if np.ndim(x) > 1 else _sized("x", x, (6,))
    swap = [3, 4, 5, 0, 1, 2]
    return array[swap] if array.ndim == 1 else np.swapaxes(array, -1, -2)[..., swap, :][..., swap]


def spatial_displacement(R: ArrayLike, p: ArrayLike) -> np.ndarray:
    """Return X(R, p) = [[R, 0], [S(p) R, R]] (..., 6, 6) of rigid displacements: X' X = 1 (Kubozono et al., appendix).

    `R` (..., 3, 3) are rotations and `p` (..., 3) positions.

    >>> import numpy as np, taupi as tp
    >>> X = tp.closed_form.spatial_displacement(np.eye(3), [0.1, 0.2, 0.3])
    >>> bool(np.allclose(tp.closed_form.spatial_transpose(X) @ X, np.eye(6)))
    True
    """
    rotation = _sized("R", R, (3, 3))
    return _blocks((rotation, np.zeros((3, 3))), (skew(_sized("p", p, (3,))) @ rotation, rotation))


def spatial_inertia(body: ArrayLike) -> np.ndarray:
    """Return [[-S(h), m 1], [I_o, S(h)]] (..., 6, 6) of ten parameters (..., 10); I' = I (Kubozono et al., appendix).

    `body` is, in link axes, m, mx, my, mz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz, as in `robot.parameters`.

    >>> import taupi as tp
    >>> tp.closed_form.spatial_inertia([2.0] + [0.0] * 9)[0].tolist()
    [0.0, 0.0, 0.0, 2.0, 0.0, 0.0]
    """
    values = _sized("body", body, (10,))
    inertia: np.ndarray = np.einsum("jrc,...j->...rc", parameter_matrices(), values)
    return inertia


def spatial_force(inertia: ArrayLike, v: ArrayLike, vd: ArrayLike) -> np.ndarray:
    """Return f = d/dt (I v) = I vd + v x I v (..., 6), the force on a moving body (Kubozono et al., eq. 54, 55).

    `inertia` (..., 6, 6) is I, `v` and `vd` (..., 6) are the velocity and its rate, all in the axes of the base. Gravity is part
    of f.

    >>> import taupi as tp
    >>> I = tp.closed_form.spatial_inertia([2.0] + [0.0] * 9)
    >>> tp.closed_form.spatial_force(I, [0.0] * 6, [0, 0, 0, 1.0, 2.0, 3.0]).tolist()
    [2.0, 4.0, 6.0, 0.0, 0.0, 0.0]
    """
    matrix, twist, rate = _sized("inertia", inertia, (6, 6)), _sized("v", v, (6,)), _sized("vd", vd, (6,))
    turning = (spatial_cross(twist) @ matrix @ twist[..., None])[..., 0]
    force: np.ndarray = (matrix @ rate[..., None])[..., 0] + turning
    return force


def parameter_matrices() -> np.ndarray:
    """Return R_j (10, 6, 6), constant in link axes, with I = sum_j R_j a_j (Kubozono et al., eq. 18).

    The order is that of `robot.parameters`: m, mx, my, mz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz. Entries are 0, 1 and -1.

    >>> import taupi as tp
    >>> R = tp.closed_form.parameter_matrices()
    >>> R.shape, sorted(set(R.ravel().tolist()))
    ((10, 6, 6), [-1.0, 0.0, 1.0])
    """
    matrices = np.zeros((10, 6, 6))
    matrices[0, :3, 3:] = np.eye(3)
    first = np.moveaxis(skew_basis(), -1, 0)
    matrices[1:4, :3, :3], matrices[1:4, 3:, 3:] = -first, first
    matrices[4:, 3:, :3] = np.moveaxis(inertia_basis(), -1, 0)
    return matrices
