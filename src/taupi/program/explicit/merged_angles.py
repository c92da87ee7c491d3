"""Products of sines and cosines merged into sums of angles: cos q1 cos q2 - sin q1 sin q2 becomes cos(q1 + q2).

There are two steps. First, for all formulas together, an angle may be replaced by its sum with another (cos^2(q2 + q3) has eight
terms otherwise). Then, formula by formula, powers become multiples of an angle, and pairs of products become single sines and
cosines of sums and differences. A step is taken only if it leaves fewer terms.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq, fmpq_mpoly

from taupi.program.explicit.monomials import Alphabet, Form, Forms, Letter, Monomial, Terms, added
from taupi.program.explicit.multiple_angles import multiples
from taupi.program.explicit.polynomial_ring import Ring

# Formulas with more terms keep their products: nobody reads them, and the search would take longer than the expansion.
_LONGEST = 2000
# At most this many formulas, none with more terms than the second number, decide which angles are added.
_SAMPLE, _SAMPLE_TERMS = 24, 150


def plain_forms(ring: Ring) -> dict[int, Form]:
    """Return every angle as a sum of one, itself."""
    return {a: ((a, 1),) for a in ring.angles}


def summed_angles(ring: Ring, polynomials: Sequence[fmpq_mpoly]) -> tuple[list[tuple[int, int, int]], dict[int, Form]]:
    """Return the replacements (j, i, sign) of q_j by q_j + sign q_i that shorten most, and what the angles then stand for."""
    forms = plain_forms(ring)
    inputs = [a for a in ring.angles if ring.atoms[ring.angles[a][0]].rank]
    fitting = [p for p in polynomials if 3 < len(p) <= _SAMPLE_TERMS]
    sample = fitting[:: max(1, len(fitting) // _SAMPLE)]
    steps: list[tuple[int, int, int]] = []
    tries = [(j, i, sign) for j in inputs for i in inputs if i != j for sign in (1, -1)]
    while sample and len(steps) < len(inputs):
        length, best = sum(map(len, sample)), None
        for step in tries:
            tried = [replaced(ring, p, step) for p in sample]
            if (shorter := sum(map(len, tried))) < length:
                length, best = shorter, (step, tried)
        if best is None:
            break
        (j, i, sign), sample = best
        steps.append((j, i, sign))
        forms[j] = added(forms[j], forms[i], sign)
        tries = [step for step in tries if j in step[:2]]  # others did not help before, and do not help now
    return steps, forms


def replaced(ring: Ring, p: fmpq_mpoly, step: tuple[int, int, int]) -> fmpq_mpoly:
    """Return p with q_j measured from -sign q_i: its generators of angle j now stand for q_j + sign q_i."""
    j, i, sign = step
    (sj, cj), (si, ci) = ring.angles[j], ring.angles[i]
    degrees = p.degrees()
    if not (degrees[sj] or degrees[cj]):
        return p
    g = list(ring.generators)
    cosine, sine = g[cj] * g[ci] + sign * g[sj] * g[si], g[sj] * g[ci] - sign * g[cj] * g[si]
    g[cj], g[sj] = cosine, sine
    return ring.reduced(p.compose(*g, ctx=ring.context))


def shortest(
    alphabet: Alphabet, p: fmpq_mpoly, steps: Sequence[tuple[int, int, int]] = (), forms: Forms | None = None
) -> Terms:
    """Return the shorter of p's product form and its form with sums of angles."""
    plain = alphabet.terms(p, plain_forms(alphabet.ring))
    if len(plain) > _LONGEST:
        return plain
    before, original = len(p), p
    for step in steps:
        p = replaced(alphabet.ring, p, step)
    summed = _folded_forms(alphabet, p, forms) if steps and forms is not None else plain
    if len(p) < before:
        return summed
    return min(_folded_forms(alphabet, original, plain_forms(alphabet.ring)), summed, plain, key=len)


def _folded_forms(alphabet: Alphabet, p: fmpq_mpoly, forms: Forms) -> Terms:
    """Return p with multiples of its angles, or with products merged: whichever has fewer terms."""
    terms = alphabet.terms(p, forms)
    folded = multiples(alphabet, terms)
    primitive = _primitive_merged(alphabet, p, forms)
    return primitive if folded == terms else min(merged(alphabet, folded), primitive, key=len)


def _primitive_merged(alphabet: Alphabet, p: fmpq_mpoly, forms: Forms) -> Terms:
    """Return p with products merged, its common factor set aside first: cos q1 (cos q1 cos q2 - sin q1 sin q2)."""
    content = p.term_content() if len(p) > 1 else 1
    if content == 1:
        return merged(alphabet, alphabet.terms(p, forms))
    ((shared, factor),) = alphabet.terms(content, forms).items()
    folded = merged(alphabet, alphabet.terms(divmod(p, content)[0], forms))
    return {alphabet.times(m, shared): c * factor for m, c in folded.items()}


def merged(alphabet: Alphabet, terms: Terms) -> Terms:
    """Return terms with products of two angles' sines and cosines merged wherever that leaves fewer terms."""
    terms = _squares(alphabet, terms)
    while True:
        folds = _folds(alphabet, terms)
        if not folds:
            return terms
        terms = _folded(alphabet, terms, folds)


def _squares(alphabet: Alphabet, terms: Terms) -> Terms:
    """Return terms with k - k cos^2 x written as k sin^2 x, and 2k cos^2 x - k as k cos 2x."""
    result = dict(terms)
    for monomial in terms:
        for letter, exponent in monomial:
            wave = alphabet.letters[letter]
            if exponent != 2 or wave.kind not in ("sin", "cos") or monomial not in result:
                continue
            rest = tuple(item for item in monomial if item[0] != letter)
            a, b = result[monomial], result.get(rest)
            if b is None:
                continue
            other = {"sin": "cos", "cos": "sin"}[wave.kind]
            if a == -b:
                new = alphabet.times(rest, ((alphabet.letter(Letter(kind=other, form=wave.form)), 2),))
                value = b
            elif a == -2 * b:
                double = tuple((k, 2 * m) for k, m in wave.form)
                new = alphabet.times(rest, ((alphabet.letter(Letter(kind="cos", form=double)), 1),))
                value = -b if wave.kind == "cos" else b
            else:
                continue
            del result[monomial], result[rest]
            _add(result, new, value)
    return result


def _simple_angles(alphabet: Alphabet, monomial: Monomial) -> list[tuple[int, Form, str]]:
    """Return the angles of which a monomial has one sine or cosine, to the first power."""
    linear = [(k, alphabet.letters[k].form, alphabet.letters[k].kind) for k, e in monomial if e == 1]
    trig = [item for item in linear if item[2]]
    once = [form for _, form, _ in trig]
    squares = {alphabet.letters[k].form for k, e in monomial if e != 1}
    return [item for item in trig if once.count(item[1]) == 1 and item[1] not in squares]


# Two products to be merged, what they share besides the angles a and b, these angles, and the kind of pair.
Fold = tuple[Monomial, Monomial, Monomial, Form, Form, str]


def _folds(alphabet: Alphabet, terms: Terms) -> list[Fold]:
    """Return the folds of the two angles that save most terms: pairs of products with equal or opposite coefficients."""
    groups: dict[tuple[Form, Form], dict[tuple[Monomial, bool], list[Monomial]]] = {}
    for monomial in terms:
        angles = sorted(_simple_angles(alphabet, monomial), key=lambda item: item[1])
        for k, (la, a, ka) in enumerate(angles):
            for lb, b, kb in angles[k + 1 :]:
                rest = tuple(item for item in monomial if item[0] not in (la, lb))
                groups.setdefault((a, b), {}).setdefault((rest, ka == kb), []).append(monomial)
    best: list[Fold] = []
    for (a, b), members in groups.items():
        folds: list[Fold] = [
            (pair[0], pair[1], rest, a, b, "same" if same else "mixed")
            for (rest, same), pair in members.items()
            if len(pair) == 2 and terms[pair[0]] in (terms[pair[1]], -terms[pair[1]])
        ]
        if len(folds) > len(best):
            best = folds
    return best


def _folded(alphabet: Alphabet, terms: Terms, folds: list[Fold]) -> Terms:
    """Return terms with A cos a cos b + B sin a sin b (B = -A or A) as A cos(a +- b), and the like for sines."""
    result = dict(terms)
    for one, other, rest, a, b, pair in folds:
        value = {_kinds(alphabet, m, a, b): result.pop(m) for m in (one, other)}
        if pair == "same":
            first, second, kind = value["cos", "cos"], value["sin", "sin"], "cos"
            sign = 1 if first == -second else -1
        else:
            first, second, kind = value["sin", "cos"], value["cos", "sin"], "sin"
            sign = 1 if first == second else -1
        turn, letter = alphabet.trig(kind, added(a, b, sign))
        letters = dict(rest)
        letters[letter] = letters.get(letter, 0) + 1
        _add(result, alphabet.monomial(letters), first * turn)
    return result


def _kinds(alphabet: Alphabet, monomial: Monomial, a: Form, b: Form) -> tuple[str, str]:
    kind = {alphabet.letters[k].form: alphabet.letters[k].kind for k, _ in monomial if alphabet.is_trig(k)}
    return kind[a], kind[b]


def _add(terms: Terms, monomial: Monomial, value: fmpq) -> None:
    total = terms.get(monomial, fmpq(0)) + value
    if total:
        terms[monomial] = total
    else:
        terms.pop(monomial, None)
