"""Names of symbols: what the entry of an input is called, and how a name splits into letter and subscript."""

from __future__ import annotations

import re

from taupi.program.explicit.polynomial_ring import Atom

GREEK = (
    *(
        "alpha",
        "beta",
        "gamma",
        "delta",
        "epsilon",
        "zeta",
        "eta",
        "theta",
        "iota",
        "kappa",
        "lambda",
        "mu",
        "nu",
        "xi",
    ),
    *("pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega", "Gamma", "Delta", "Theta", "Lambda", "Xi"),
    *("Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega"),
)


def symbol_name(atom: Atom) -> str:
    """Return the name of an input's entry or of a constant: q1, q2, ... for a vector, the name itself for a scalar.

    >>> symbol_name(Atom("symbol", "q", index=(2,))), symbol_name(Atom("symbol", "L1"))
    ('q2', 'L1')
    """
    return atom.name + "_".join(map(str, atom.index))


def parts_of(name: str) -> tuple[str, str]:
    """Return the letter of a symbol's name and its subscript.

    >>> parts_of("L1"), parts_of("lc2"), parts_of("theta1"), parts_of("gy"), parts_of("forearm.m"), parts_of("payload")
    (('L', '1'), ('l', 'c2'), ('theta', '1'), ('g', 'y'), ('m', 'forearm'), ('payload', ''))
    """
    owner, dot, kind = name.rpartition(".")
    if dot:
        letter, below = parts_of(kind)
        return letter, ",".join(x for x in (below, owner) if x)
    match = re.fullmatch(r"([A-Za-z]+)_?(\w*)", name)
    if match is None:
        return name, ""
    letters, rest = match[1], match[2]
    if letters in GREEK or len(letters) == 1:
        return letters, rest
    for greek in GREEK:
        if letters.startswith(greek) and len(greek) > 2:
            return greek, letters[len(greek) :] + rest
    return (letters[0], letters[1:] + rest) if len(letters) <= 3 else (letters, rest)


def velocity_of(name: str) -> tuple[str, str]:
    """Return the name of an input without its derivatives, and these: qrdd is the second derivative of q_r.

    >>> velocity_of("qdd"), velocity_of("qrd"), velocity_of("vd"), velocity_of("q"), velocity_of("speed")
    (('q', 'dd'), ('qr', 'd'), ('v', 'd'), ('q', ''), ('speed', ''))
    """
    match = re.fullmatch(r"(q|qr|theta|v|r|x)(d{1,2})", name)
    return (match[1], match[2]) if match else (name, "")
