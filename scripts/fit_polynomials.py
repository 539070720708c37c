"""Minimax polynomials of prelude/hc/math.h: weighted Lawson iteration in double, then float rounding one coefficient at a time.

Run with numpy and mpmath; prints each table and its worst weighted error in units of 2^-24.
"""
import numpy as np
import mpmath as mp

mp.mp.dps = 40


def fit(x, y, w, powers, fixed, rounder):
    """Coefficients c of sum c[p] x^p minimising max |w (sum - y)|; `fixed` are set first, the rest rounded in turn."""
    c = dict(fixed)
    free = [p for p in powers if p not in c]
    while True:
        rest = y - sum((v * x**p for p, v in c.items()), np.zeros_like(x))
        if not free:
            return c, np.max(np.abs(w * rest))
        basis = np.stack([x**p for p in free], 1).astype(np.longdouble)
        lam = np.ones_like(x)
        best = None
        for _ in range(400):
            s = np.sqrt(lam)
            scale = np.max(np.abs(basis), 0)
            a = (basis / scale * (w * s)[:, None]).astype(np.float64)
            sol = np.linalg.lstsq(a, (rest * w * s).astype(np.float64), rcond=None)[0] / scale
            err = np.abs(w * (basis @ sol - rest))
            worst = np.max(err)
            if best is None or worst < best[0]:
                best = (worst, sol)
            lam = lam * (err / worst + 1e-12)
            lam /= np.sum(lam)
        c[free[0]] = rounder(best[1][0])
        free = free[1:]


def show(name, fn, lo, hi, weight, powers, fixed=None, rounder=np.float32, points=600):
    k = np.arange(points)
    x = (lo + hi) / 2 + (hi - lo) / 2 * np.cos((k + 0.5) * np.pi / points)
    if rounder is np.float32:
        x = x.astype(np.float32).astype(np.float64)
        x = np.unique(x[x != 0])
    y = np.array([float(fn(mp.mpf(float(t)))) for t in x], dtype=np.longdouble)
    w = np.array([float(weight(mp.mpf(float(t)))) for t in x], dtype=np.longdouble)
    c, worst = fit(x.astype(np.longdouble), y, w, powers, fixed or {}, rounder)
    print(f"{name}: worst {float(worst) * 2**24:.4g} x 2^-24")
    for p in powers:
        print(f"  x^{p}: {float(c[p])!r}  {float(c[p]).hex()}")


h = float(mp.log(2) / 2) * 1.0001
# e^r = 1 + r + r^2 q(r); q's error weighs r^2 / e^r.
show("exp q, degree 3", lambda r: (mp.expm1(r) - r) / r**2, -h, h, lambda r: r**2 / mp.exp(r), range(4))
show("exp q, degree 4", lambda r: (mp.expm1(r) - r) / r**2, -h, h, lambda r: r**2 / mp.exp(r), range(5))
# expm1: relative to e^r - 1.
show("expm1 q, degree 4", lambda r: (mp.expm1(r) - r) / r**2, -h, h, lambda r: r**2 / mp.expm1(r), range(5))
# 2^r = 1 + r p(r) on [-1/2, 1/2].
show("exp2 p, degree 5", lambda r: (mp.mpf(2) ** r - 1) / r, -0.5001, 0.5001, lambda r: r / mp.mpf(2) ** r, range(6))
# log(1+f) = f + f^2 p(f), relative.
lo, hi = float(mp.sqrt(0.5)) - 1.0001, float(mp.sqrt(2)) - 0.9999
lo = float(mp.sqrt(0.5)) - 1 - 1e-5
hi = float(mp.sqrt(2)) - 1 + 1e-5
for degree in (7, 8):
    show(f"log p, degree {degree}", lambda f: (mp.log1p(f) - f) / f**2, lo, hi, lambda f: f**2 / mp.log1p(f), range(degree + 1))
for base in (2, 10):
    show(f"log{base} p, degree 9", lambda f: mp.log1p(f) / mp.log(base) / f, lo, hi, lambda f: f * mp.log(base) / mp.log1p(f), range(10))
q = float(mp.pi / 4) * 1.0005
# sin r = r + r^3 p(z), cos r = 1 - z/2 + z^2 p(z), z = r^2.
show("sin p, degree 2", lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, 1e-9, q * q, lambda z: z / (mp.sin(mp.sqrt(z)) / mp.sqrt(z)), range(3))
show("sin p, degree 3", lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, 1e-9, q * q, lambda z: z / (mp.sin(mp.sqrt(z)) / mp.sqrt(z)), range(4))
show("cos p, degree 2", lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, 1e-3, q * q, lambda z: z**2 / mp.cos(mp.sqrt(z)), range(3))
# atan t = t + t z p(z) on [0, 1].
show("atan p, degree 8", lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, 1e-6, 1.0, lambda z: z / (mp.atan(mp.sqrt(z)) / mp.sqrt(z)), range(9))
# erf x = x + x p(z) on [0, 0.93]; erf a = 1 - e^(a q(a)) on [0.9, 4].
show("erf p, degree 6", lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, 1e-6, 0.88, lambda z: mp.sqrt(z) / mp.erf(mp.sqrt(z)), range(7))
for degree in (6, 7, 8):
    show(f"erf q, degree {degree}", lambda a: mp.log(mp.erfc(a)) / a, 0.9, 4.0, lambda a: a * mp.erfc(a) / mp.erf(a), range(degree + 1))
# Double precision for pow: log2(1+f)/f and (2^r - 1)/r.
show("pow log2 p, degree 15", lambda f: mp.log1p(f) / mp.log(2) / f, lo, hi, lambda f: f * mp.log(2) / mp.log1p(f), range(16), rounder=float)
show("pow exp2 p, degree 8", lambda r: (mp.mpf(2) ** r - 1) / r, -0.5001, 0.5001, lambda r: r / mp.mpf(2) ** r, range(9), rounder=float)
