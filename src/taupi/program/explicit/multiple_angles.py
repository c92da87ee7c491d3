"""Powers of an angle's sine and cosine as sines and cosines of its multiples: 4 cos^3 q - 3 cos q becomes cos 3q."""

from __future__ import annotations

from flint import fmpq

from taupi.program.explicit.monomials import Alphabet, Form, Monomial, Terms

Wave = dict[int, tuple[fmpq, fmpq]]  # by multiple k of the angle, the factors of cos kx and of sin kx
_Series = dict[int, tuple[fmpq, fmpq]]  # by power of exp(ix), real and imaginary part


def multiples(alphabet: Alphabet, terms: Terms) -> Terms:
    """Return terms with powers of one angle as multiples of it, wherever that leaves fewer terms; 2 sin x cos x is sin 2x."""
    result = dict(terms)
    for form in _angles(alphabet, terms):
        for rest, powers in _groups(alphabet, result, form).items():
            if max(a + b for a, b in powers) < 2:
                continue
            wave = _wave({ab: result[m] for ab, m in powers.items()})
            count = sum(bool(x) for pair in wave.values() for x in pair)
            if count < len(powers) or (count == 1 and _halves(powers, result)):
                for monomial in powers.values():
                    del result[monomial]
                _write(alphabet, result, rest, form, wave)
    return result


def _angles(alphabet: Alphabet, terms: Terms) -> list[Form]:
    """Return the sums of angles that occur in a product as a power, or as both sine and cosine."""
    seen: dict[Form, None] = {}
    for monomial in terms:
        degree: dict[Form, int] = {}
        for k, e in monomial:
            if alphabet.is_trig(k):
                form = alphabet.letters[k].form
                degree[form] = degree.get(form, 0) + e
        seen |= dict.fromkeys(form for form, d in degree.items() if d > 1)
    return list(seen)


def _groups(alphabet: Alphabet, terms: Terms, form: Form) -> dict[Monomial, dict[tuple[int, int], Monomial]]:
    """Return the products by their factors other than an angle's, then by the powers (a, b) of its sine and cosine."""
    groups: dict[Monomial, dict[tuple[int, int], Monomial]] = {}
    for monomial in terms:
        power = {"sin": 0, "cos": 0}
        rest = []
        for k, e in monomial:
            letter = alphabet.letters[k]
            if letter.atom is None and letter.form == form:
                power[letter.kind] += e
            else:
                rest.append((k, e))
        groups.setdefault(tuple(rest), {})[power["sin"], power["cos"]] = monomial
    return groups


def _halves(powers: dict[tuple[int, int], Monomial], terms: Terms) -> bool:
    """Return whether a product 2 k sin x cos x stands alone: sin 2x is shorter by its factor."""
    if list(powers) != [(1, 1)]:
        return False
    value = terms[powers[1, 1]]
    return bool(value.q == 1 and value.p % 2 == 0)


def _wave(powers: dict[tuple[int, int], fmpq]) -> Wave:
    """Return sum c sin^a x cos^b x as a series of cos kx and sin kx, by powers of exp(ix)."""
    total: _Series = {}
    half = fmpq(1, 2)
    sine: _Series = {1: (fmpq(0), -half), -1: (fmpq(0), half)}
    cosine: _Series = {1: (half, fmpq(0)), -1: (half, fmpq(0))}
    for (a, b), value in powers.items():
        product: _Series = {0: (value, fmpq(0))}
        for factor, exponent in ((sine, a), (cosine, b)):
            for _ in range(exponent):
                product = _times(product, factor)
        for k, (x, y) in product.items():
            re, im = total.get(k, (fmpq(0), fmpq(0)))
            total[k] = (re + x, im + y)
    wave = {k: (2 * x, -2 * y) for k, (x, y) in total.items() if k > 0}
    return wave | {0: (total[0][0], fmpq(0))} if 0 in total else wave


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
            total = terms.get(monomial, fmpq(0)) + sign * value
            if total:
                terms[monomial] = total
            else:
                terms.pop(monomial, None)
