"""Student's t distribution, without a statistics package."""

from __future__ import annotations

import math

_TINY, _PRECISION, _MOST_TERMS, _BISECTIONS = 1e-300, 1e-14, 500, 60


def two_sided_p(t: float, freedom: float) -> float:
    """Probability of a Student's t at least this far from 0 on either side.

    Args:
        t: the statistic; may be infinite.
        freedom: degrees of freedom, above 0, not necessarily whole.
    """
    if math.isinf(t):
        return 0.0
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


def t_quantile(confidence: float, freedom: float) -> float:
    """The distance from 0 within which a Student's t lies with a probability."""
    low, high = 0.0, 1.0
    while two_sided_p(high, freedom) > 1 - confidence:
        high *= 2
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if two_sided_p(middle, freedom) > 1 - confidence else (low, middle)
        )
    return (low + high) / 2


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function (Abramowitz and Stegun, 26.5.8)."""
    if x <= 0 or x >= 1:
        return min(max(x, 0.0), 1.0)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    # The fraction converges quickly on this side of the mean only.
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction, from the front (modified Lentz)."""
    c, d = 1.0, 1 / _apart(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _MOST_TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _apart(1 + term * d)
            c = _apart(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < _PRECISION:
            break
    return value


def _apart(value: float) -> float:
    """The value, or a tiny one instead of zero."""
    return value if abs(value) > _TINY else _TINY
