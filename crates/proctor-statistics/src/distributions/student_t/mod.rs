//! Student's t distribution with any positive number of degrees of freedom.

use std::f64::consts::PI;

use super::{normal, upper_quantile as newton};

/// Above this, two terms of the expansion around the normal distribution are exact, and the continued fraction is long.
const NEARLY_NORMAL: f64 = 1e5;
/// Above this, the series for the ratio of gamma functions is exact.
const SERIES: f64 = 40.0;

/// The chance of at most `t`.
pub(crate) fn cdf(t: f64, df: f64) -> f64 {
    if t <= 0.0 {
        upper_tail(-t, df)
    } else {
        1.0 - upper_tail(t, df)
    }
}

/// The chance of more than `t`, which is not negative.
pub(crate) fn upper_tail(t: f64, df: f64) -> f64 {
    if df > NEARLY_NORMAL {
        return near_normal_tail(t, df);
    }
    let square = t * t;
    if square.is_infinite() {
        return 0.0;
    }
    let a = df / 2.0;
    // x + y = 1, and neither is a difference: a tiny t keeps its digits.
    let (x, y) = (df / (df + square), square / (df + square));
    let front =
        libm::exp(-a * libm::log1p(square / df)) * y.sqrt() * half_step_of_gamma(a) / PI.sqrt();
    // The incomplete beta function, from the side where its continued fraction converges fast.
    if x < (a + 1.0) / (a + 2.5) {
        0.5 * front * beta_fraction(a, 0.5, x) / a
    } else {
        0.5 - front * beta_fraction(0.5, a, y)
    }
}

/// The density at `t`.
fn density(t: f64, df: f64) -> f64 {
    if df > NEARLY_NORMAL {
        return normal::density(t);
    }
    let power = libm::exp(-0.5 * (df + 1.0) * libm::log1p(t * t / df));
    half_step_of_gamma(df / 2.0) * power / (PI * df).sqrt()
}

/// The place that is exceeded with the chance `tail`, which is more than 0 and at most one half.
pub(crate) fn upper_quantile(tail: f64, df: f64) -> f64 {
    // Its tails are heavier than those of the normal distribution, so it lies right of that one's quantile.
    let start = normal::upper_quantile(tail);
    newton(tail, start, |t| upper_tail(t, df), |t| density(t, df))
}

/// Γ(a + ½) / Γ(a).
fn half_step_of_gamma(a: f64) -> f64 {
    if a < SERIES {
        return libm::tgamma(a + 0.5) / libm::tgamma(a);
    }
    let r = 1.0 / a;
    let terms = [
        1.0,
        -1.0 / 8.0,
        1.0 / 128.0,
        5.0 / 1024.0,
        -21.0 / 32768.0,
        -399.0 / 262_144.0,
        869.0 / 4_194_304.0,
        39325.0 / 33_554_432.0,
    ];
    a.sqrt() * terms.iter().rev().fold(0.0, |sum, term| sum * r + term)
}

/// The continued fraction of the incomplete beta function, from its front (Lentz).
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let not_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    // It takes about the root of the larger parameter; the bound is never reached.
    for m in 1..100_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / not_zero(1.0 + even * d);
        c = not_zero(1.0 + even / c);
        fraction *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / not_zero(1.0 + odd * d);
        c = not_zero(1.0 + odd / c);
        fraction *= d * c;
        if (d * c - 1.0).abs() <= f64::EPSILON {
            break;
        }
    }
    fraction
}

/// The tail by Fisher's expansion in 1/df.
fn near_normal_tail(t: f64, df: f64) -> f64 {
    let s = t * t;
    let first = t * (s + 1.0) / (4.0 * df);
    let second = t * (((3.0 * s - 7.0) * s - 5.0) * s - 3.0) / (96.0 * df * df);
    let density = normal::density(t);
    if density == 0.0 {
        return 0.0;
    }
    (normal::upper_tail(t) + density * (first + second)).clamp(0.0, 0.5)
}

#[cfg(test)]
mod tests;
