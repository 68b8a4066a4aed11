"""One document's QP by an interior-point method, in place of LOQO, which the papers of 2003 and 2004 use.

    max g b - 1/2 b Q b    s.t.  b >= 0,  sum b + s = C,  s >= 0

Newton steps on the conditions Q b - g - z + u = 0, b z = mu, s u = mu for falling mu. A step factors a matrix of all
selected classes, whether they will have weight or not, and so costs their number cubed: what active sets save.
"""

from __future__ import annotations

import numpy as np
from numba import njit

MOST_STEPS = 60
CENTRE = 0.1  # each step aims at so much of mu
KEEP = 0.99  # and goes so far towards the nearest wall


@njit(cache=True, nogil=True)
def solve_interior(Q, F, beta, C):
    """Solve the QP over the selected classes to the end; changes beta. F is the gradient at `beta` as it comes in."""
    m = len(F)
    g = F + Q @ beta
    b, s = np.full(m, C / (m + 1)), C / (m + 1)
    mu = (1.0 + np.abs(g).max()) * C / (m + 1)
    z, u = mu / b, mu / s
    scale = 1.0 + np.abs(g).max()
    for _ in range(MOST_STEPS):
        residual = Q @ b - g - z + u
        mu = ((b * z).sum() + s * u) / (m + 1)
        if mu <= 1e-12 * scale * C and np.abs(residual).max() <= 1e-9 * scale:
            break
        aim = CENTRE * mu
        # (Q + z / b + 11' u / s) db = -residual + (aim / b - z) - (aim / s - u)
        M = Q + u / s
        for k in range(m):
            M[k, k] += z[k] / b[k]
        db = np.linalg.solve(M, -residual + (aim / b - z) - (aim / s - u))
        ds = -db.sum()
        dz = aim / b - z - z / b * db
        du = aim / s - u - u / s * ds
        far = min(_room(s, ds), _room(u, du))
        for k in range(m):
            far = min(far, _room(b[k], db[k]), _room(z[k], dz[k]))
        b += far * db
        s += far * ds
        z += far * dz
        u += far * du
    total = 0.0
    for k in range(m):  # of b and z one is nothing
        beta[k] = b[k] if b[k] * scale > z[k] * C else 0.0
        total += beta[k]
    if s * scale <= u * C and total > 0:  # nothing is left over: exactly
        for k in range(m):
            beta[k] *= C / total


@njit(cache=True, nogil=True, inline="always")
def _room(value, change):
    """Give how far a positive value may go along a change, at most one whole step."""
    return min(1.0, -KEEP * value / change) if change < 0 else 1.0
