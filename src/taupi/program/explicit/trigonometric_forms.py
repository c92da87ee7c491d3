"""Polynomials as terms over letters, in their shortest trigonometric form: sums and multiples of angles, common factors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from flint import fmpq, fmpq_mpoly

from taupi.program.explicit.polynomial_ring import Atom, Ring

Monomial = tuple[tuple[int, int], ...]
Terms = dict[Monomial, fmpq]
Form = tuple[tuple[int, int], ...]  # a sum of angles: (angle, multiple), by angle
Forms = Mapping[int, Form]  # what each angle of the ring stands for


@dataclass(frozen=True)
class Letter:
    """What one letter stands for: an atom of the ring, or a trigonometric function of a sum of angles."""

    atom: Atom | None = None
    kind: str = ""  # "sin" or "cos" of the form
    form: Form = ()


class Alphabet:
    """The letters of a set of formulas, each once."""

    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self.letters: list[Letter] = []
        self.place: dict[Letter, int] = {}
        self._order: list[tuple[Any, ...]] = []
        self._generator: dict[int, int] = {}
        self._trig: dict[tuple[str, Form], tuple[int, int]] = {}
        self.angle = {k: ring.atoms[s] for k, (s, _) in ring.angles.items()}
        # What each generator that is a sine or cosine stands for.
        self._wave = {s: ("sin", k) for k, (s, _) in ring.angles.items()} | {
            c: ("cos", k) for k, (_, c) in ring.angles.items()
        }

    def letter(self, letter: Letter) -> int:
        """Return the number of a letter, which is added if it is new."""
        if letter not in self.place:
            self.place[letter] = len(self.letters)
            self.letters.append(letter)
            self._order.append(_order(letter))
        return self.place[letter]

    def rename(self, k: int, letter: Letter) -> None:
        """Give a letter another meaning; monomials that hold it keep their order."""
        self.letters[k] = letter
        self.place[letter] = k
        self._order[k] = _order(letter)

    def trig(self, kind: str, form: Form) -> tuple[int, int]:
        """Return (sign, letter) of the sine or cosine of a sum of angles, with its first multiple made positive."""
        known = self._trig.get((kind, form))
        if known is None:
            sign, positive = 1, form
            if form[0][1] < 0:
                sign, positive = -1 if kind == "sin" else 1, tuple((a, -m) for a, m in form)
            known = self._trig[kind, form] = sign, self.letter(Letter(kind=kind, form=positive))
        return known

    def generator(self, k: int) -> int | None:
        """Return the generator of the ring that a letter is, or None for a sum of angles and a name."""
        return self._generator.get(k)

    def order(self, k: int) -> tuple[Any, ...]:
        """Return what orders the letters of a product: constants, then names and functions, inputs, and angles."""
        return self._order[k]

    def monomial(self, exponents: Mapping[int, int]) -> Monomial:
        """Return a monomial of letters and exponents, in writing order."""
        return tuple([(k, exponents[k]) for k in sorted(exponents, key=self._order.__getitem__) if exponents[k]])

    def times(self, a: Monomial, b: Monomial) -> Monomial:
        """Return the product of two monomials."""
        if not a or not b:
            return a or b
        letters = dict(a)
        for k, e in b:
            letters[k] = letters.get(k, 0) + e
        return self.monomial(letters)

    def terms(self, p: fmpq_mpoly, forms: Forms) -> Terms:
        """Return a polynomial of the ring as terms, with each angle standing for its sum in `forms`."""
        degrees = p.degrees()
        present = [k for k, degree in enumerate(degrees) if degree > 0]
        signed: dict[int, tuple[int, int]] = {}  # generator -> (sign, letter)
        for k in present:
            if k in self._wave:
                kind, angle = self._wave[k]
                signed[k] = self.trig(kind, forms[angle])
            else:
                signed[k] = (1, self.letter(Letter(self.ring.atoms[k])))
                self._generator[signed[k][1]] = k
        # The writing order is the same for all monomials, and each power of a letter is one object in all of them.
        written = sorted(present, key=lambda k: self._order[signed[k][1]])
        powers = [(k, [(signed[k][1], e) for e in range(degrees[k] + 1)]) for k in written]
        odd = [k for k in present if signed[k][0] < 0]  # an odd power of these changes the sign
        result: Terms = {}
        for exponents, coefficient in zip(p.monoms(), p.coeffs(), strict=True):
            monomial = tuple([power[e] for k, power in powers if (e := exponents[k])])
            result[monomial] = -coefficient if odd and sum(exponents[k] for k in odd) % 2 else coefficient
        return result

    def is_trig(self, k: int) -> bool:
        """Return whether a letter is a sine or cosine."""
        return self.letters[k].atom is None

    def gathers(self, k: int) -> bool:
        """Return whether terms are grouped by a letter: by sines, cosines and names."""
        atom = self.letters[k].atom
        return atom is None or atom.kind == "name"


def _order(letter: Letter) -> tuple[object, ...]:
    if letter.atom is None:
        return (3, letter.form, letter.kind)
    atom = letter.atom
    if atom.rank:
        return (2, atom.rank, atom.index)
    return (0, atom.name, "") if atom.kind == "symbol" else (1, atom.op, atom.key)


def added(a: Form, b: Form, sign: int) -> Form:
    """Return the sum of angles a + sign b.

    >>> added(((1, 1),), ((1, 1), (2, 1)), -1)
    ((2, -1),)
    """
    total = dict(a)
    for angle, multiple in b:
        total[angle] = total.get(angle, 0) + sign * multiple
    return tuple((angle, m) for angle, m in sorted(total.items()) if m)


Wave = dict[int, tuple[fmpq, fmpq]]  # by multiple k of the angle, the factors of cos kx and of sin kx
_Series = dict[int, tuple[fmpq, fmpq]]  # by power of exp(ix), real and imaginary part


def multiples(alphabet: Alphabet, terms: Terms) -> Terms:
    """Return terms with powers of one angle as multiples of it, wherever that leaves fewer terms; 2 sin x cos x is sin 2x."""
    result = dict(terms)
    for form in _angles(alphabet, terms):
        for rest, powers in _groups(alphabet, result, form).items():
            halves = len(powers) == 1 and _halves(powers, result)
            if _keep_count(powers) and not halves:
                continue
            wave = _wave({ab: result[m] for ab, m in powers.items()})
            if halves or sum(bool(x) for pair in wave.values() for x in pair) < len(powers):
                for monomial in powers.values():
                    del result[monomial]
                _write(alphabet, result, rest, form, wave)
    return result


def _angles(alphabet: Alphabet, terms: Terms) -> list[Form]:
    """Return the sums of angles that occur in a product as a power, or as both sine and cosine."""
    letters = alphabet.letters
    seen: dict[Form, None] = {}
    for monomial in terms:
        before: Form = ()
        for k, e in monomial:  # the sine and cosine of an angle are neighbours
            letter = letters[k]
            if letter.kind:
                if e > 1 or letter.form == before:
                    seen[letter.form] = None
                before = letter.form
    return list(seen)


def _groups(alphabet: Alphabet, terms: Terms, form: Form) -> dict[Monomial, dict[tuple[int, int], Monomial]]:
    """Return the products by their factors other than an angle's, then by the powers (a, b) of its sine and cosine."""
    (_, sine), (_, cosine) = alphabet.trig("sin", form), alphabet.trig("cos", form)
    groups: dict[Monomial, dict[tuple[int, int], Monomial]] = {}
    for monomial in terms:
        powers = dict(monomial)
        a, b = powers.pop(sine, 0), powers.pop(cosine, 0)
        rest = tuple(powers.items()) if a or b else monomial
        group = groups.get(rest)
        if group is None:
            groups[rest] = {(a, b): monomial}
        else:
            group[a, b] = monomial
    return groups


def _keep_count(powers: dict[tuple[int, int], Monomial]) -> bool:
    """Return whether products of powers sin^a cos^b are certainly as many as multiples.

    An even a gives cosines, an odd one sines, and a + b the parity of their multiples, so that products which differ in either
    share none.
    """
    return len(powers) == 1 or len({(a % 2, (a + b) % 2) for a, b in powers}) == len(powers)


def _halves(powers: dict[tuple[int, int], Monomial], terms: Terms) -> bool:
    """Return whether the only product is 2 k sin x cos x: sin 2x is shorter by its factor."""
    if (1, 1) not in powers:
        return False
    value = terms[powers[1, 1]]
    return bool(value.q == 1 and value.p % 2 == 0)


def _wave(powers: dict[tuple[int, int], fmpq]) -> Wave:
    """Return sum c sin^a x cos^b x as a series of cos kx and sin kx, the constant last."""
    total: Wave = {}
    for (a, b), value in powers.items():
        for k, (cosine, sine) in _product_wave(a, b).items():
            x, y = total.get(k, (fmpq(0), fmpq(0)))
            total[k] = (x + value * cosine, y + value * sine)
    if 0 in total:
        total[0] = total.pop(0)
    return total


@lru_cache(maxsize=256)
def _product_wave(a: int, b: int) -> Wave:
    """Return sin^a x cos^b x as a series of cos kx and sin kx, by powers of exp(ix)."""
    half = fmpq(1, 2)
    sine: _Series = {1: (fmpq(0), -half), -1: (fmpq(0), half)}
    cosine: _Series = {1: (half, fmpq(0)), -1: (half, fmpq(0))}
    product: _Series = {0: (fmpq(1), fmpq(0))}
    for factor, exponent in ((sine, a), (cosine, b)):
        for _ in range(exponent):
            product = _times(product, factor)
    return {k: (2 * x, -2 * y) if k else (x, fmpq(0)) for k, (x, y) in product.items() if k >= 0}


def _times(p: _Series, q: _Series) -> _Series:
    result: _Series = {}
    for j, (a, b) in p.items():
        for k, (c, d) in q.items():
            x, y = result.get(j + k, (fmpq(0), fmpq(0)))
            result[j + k] = (x + a * c - b * d, y + a * d + b * c)
    return result


def _write(alphabet: Alphabet, terms: Terms, rest: Monomial, form: Form, wave: Wave) -> None:
    for k, pair in wave.items():
        for kind, value in zip(("cos", "sin"), pair, strict=True):
            if not value:
                continue
            monomial, sign = rest, 1
            if k:
                sign, letter = alphabet.trig(kind, tuple((a, k * m) for a, m in form))
                monomial = alphabet.times(rest, ((letter, 1),))
            _add(terms, monomial, sign * value)


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
        angles = [_angles_in(ring, p) for p in sample]
        for step in tries:
            tried = _all_replaced(ring, sample, angles, step, length)
            if tried is not None and (shorter := sum(map(len, tried))) < length:
                length, best = shorter, (step, tried)
        if best is None:
            break
        (j, i, sign), sample = best
        steps.append((j, i, sign))
        forms[j] = added(forms[j], forms[i], sign)
        tries = [step for step in tries if j in step[:2]]  # others did not help before, and do not help now
    return steps, forms


def _angles_in(ring: Ring, p: fmpq_mpoly) -> set[int]:
    degrees = p.degrees()
    return {angle for angle, pair in ring.angles.items() if any(degrees[k] > 0 for k in pair)}


def _all_replaced(
    ring: Ring,
    sample: Sequence[fmpq_mpoly],
    angles: Sequence[set[int]],
    step: tuple[int, int, int],
    length: int,
) -> list[fmpq_mpoly] | None:
    """Return the sample with an angle replaced; None as soon as it is certain that this leaves no fewer than `length` terms.

    A polynomial without angle i gets no shorter: with q_i = 0, which joins terms and splits none, it is what it was.
    """
    both = [set(step[:2]) <= own for own in angles]
    least = [1 if changes else len(p) for p, changes in zip(sample, both, strict=True)]
    result, bound = list(sample), sum(least)
    for k in sorted(range(len(sample)), key=lambda k: (not both[k], -len(sample[k]))):
        if bound >= length:
            return None
        result[k] = replaced(ring, sample[k], step)
        bound += len(result[k]) - least[k]
    return result


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
    itself = plain_forms(alphabet.ring)
    if len(p) > _LONGEST:
        return alphabet.terms(p, itself)
    changed = p
    for step in steps:
        changed = replaced(alphabet.ring, changed, step)
    summed = None if changed is p or forms is None else _folded_forms(alphabet, changed, forms)
    if summed is not None and len(changed) < len(p):
        return summed
    plain = alphabet.terms(p, itself)
    folded = _folded_forms(alphabet, p, itself, plain)
    return min(folded, plain if summed is None else summed, plain, key=len)


def _folded_forms(alphabet: Alphabet, p: fmpq_mpoly, forms: Forms, terms: Terms | None = None) -> Terms:
    """Return p, whose `terms` may be known, with multiples of its angles or with products merged: whichever has fewer terms."""
    terms = alphabet.terms(p, forms) if terms is None else terms
    folded = multiples(alphabet, terms)
    primitive = _primitive_merged(alphabet, p, forms, terms)
    return primitive if folded == terms else min(merged(alphabet, folded), primitive, key=len)


def _primitive_merged(alphabet: Alphabet, p: fmpq_mpoly, forms: Forms, terms: Terms) -> Terms:
    """Return p, of known terms, with products merged and its common factor outside: cos q1 (cos q1 cos q2 - sin q1 sin q2)."""
    content = p.term_content() if len(p) > 1 else 1
    if content == 1:
        return merged(alphabet, terms)
    ((shared, factor),) = alphabet.terms(content, forms).items()
    folded = merged(alphabet, alphabet.terms(divmod(p, content)[0], forms))
    return {alphabet.times(m, shared): c * factor for m, c in folded.items()}


def merged(alphabet: Alphabet, terms: Terms) -> Terms:
    """Return terms with products of two angles' sines and cosines merged wherever that leaves fewer terms."""
    terms = _squares(alphabet, terms)
    shared = _shared(terms)  # sin q1 (cos q1 cos q2 - sin q1 sin q2): a square hides that the bracket is cos (q1 + q2)
    if shared:
        terms = {_without(m, shared): c for m, c in terms.items()}
    while True:
        folds = _folds(alphabet, terms)
        if not folds:
            return {alphabet.times(m, shared): c for m, c in terms.items()} if shared else terms
        terms = _folded(alphabet, terms, folds)


def _shared(terms: Terms) -> Monomial:
    """Return what all terms have in common."""
    if len(terms) < 2:
        return ()
    shared, *others = terms
    for monomial in others:
        exponents = dict(monomial)
        shared = tuple((k, min(e, exponents[k])) for k, e in shared if k in exponents)
        if not shared:
            break
    return shared


def _without(monomial: Monomial, shared: Monomial) -> Monomial:
    """Return a monomial divided by a part of it."""
    less = dict(shared)
    return tuple((k, left) for k, e in monomial if (left := e - less.get(k, 0)))


def _squares(alphabet: Alphabet, terms: Terms) -> Terms:
    """Return terms with k - k cos^2 x written as k sin^2 x, and 2k cos^2 x - k as k cos 2x."""
    result = dict(terms)
    squares = {(k, 2) for k, letter in enumerate(alphabet.letters) if letter.kind}
    for monomial in terms:
        if squares.isdisjoint(monomial):
            continue
        for letter, exponent in monomial:
            if (letter, exponent) not in squares or monomial not in result:
                continue
            wave = alphabet.letters[letter]
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


# Two angles in a product, what it has besides them, and whether both are sines or both cosines.
AnglePair = tuple[Form, Form, Monomial, bool]


def _pairs(alphabet: Alphabet, monomial: Monomial) -> list[AnglePair]:
    """Return each two angles of which a monomial has one sine or cosine, to the first power."""
    letters = alphabet.letters
    degree: dict[Form, int] = {}
    trig = []
    for place, (k, e) in enumerate(monomial):
        letter = letters[k]
        if letter.kind:
            degree[letter.form] = degree.get(letter.form, 0) + e
            trig.append((place, letter))
    simple = [(place, letter) for place, letter in trig if degree[letter.form] == 1]
    return [
        (a.form, b.form, monomial[:i] + monomial[i + 1 : j] + monomial[j + 1 :], a.kind == b.kind)
        for k, (i, a) in enumerate(simple)
        for j, b in simple[k + 1 :]
    ]


def _alike(alphabet: Alphabet, terms: Terms) -> list[Monomial]:
    """Return the monomials of which another one differs in nothing but sines and cosines: only these can be merged."""
    one: dict[Form, int] = {}  # a letter for each angle
    stand_in = {
        k: one.setdefault(alphabet.letters[k].form, k) if alphabet.is_trig(k) else k
        for k in {k for monomial in terms for k, _ in monomial}
    }
    skeletons = [tuple([(stand_in[k], e) for k, e in monomial]) for monomial in terms]
    count = Counter(skeletons)
    return [monomial for monomial, skeleton in zip(terms, skeletons, strict=True) if count[skeleton] > 1]


# Two products to be merged, and what they differ in.
Fold = tuple[Monomial, Monomial, AnglePair]


def _folds(alphabet: Alphabet, terms: Terms) -> list[Fold]:
    """Return the folds of the two angles that save most terms: pairs of products with equal or opposite coefficients.

    Of angles that save as many, those that are met first in the terms.
    """
    first: dict[AnglePair, Monomial] = {}
    groups: dict[tuple[Form, Form], list[Fold]] = {}
    for monomial in _alike(alphabet, terms):
        for pair in _pairs(alphabet, monomial):
            other = first.setdefault(pair, monomial)
            if other is not monomial and terms[other] in (terms[monomial], -terms[monomial]):
                groups.setdefault(pair[:2], []).append((other, monomial, pair))  # two are all there can be
    most = max(map(len, groups.values()), default=0)
    best = {angles: folds for angles, folds in groups.items() if len(folds) == most}
    if not best:
        return []
    met = (pair[:2] for monomial in terms for pair in _pairs(alphabet, monomial))
    angles = next(each for each in met if each in best)
    place = {monomial: k for k, monomial in enumerate(terms)}
    return sorted(best[angles], key=lambda fold: place[fold[0]])


def _folded(alphabet: Alphabet, terms: Terms, folds: list[Fold]) -> Terms:
    """Return terms with A cos a cos b + B sin a sin b (B = -A or A) as A cos(a +- b), and the like for sines."""
    result = dict(terms)
    for one, other, (a, b, rest, same) in folds:
        value = {_kinds(alphabet, m, a, b): result.pop(m) for m in (one, other)}
        if same:
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
    total = terms[monomial] + value if monomial in terms else value
    if total:
        terms[monomial] = total
    else:
        terms.pop(monomial, None)
