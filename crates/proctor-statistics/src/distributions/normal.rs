//! The standard normal distribution.

use std::f64::consts::{PI, SQRT_2};

use super::upper_quantile as newton;

/// The chance of more than `z`.
pub(crate) fn upper_tail(z: f64) -> f64 {
    0.5 * libm::erfc(z / SQRT_2)
}

/// The chance of at most `z`.
pub(crate) fn cdf(z: f64) -> f64 {
    upper_tail(-z)
}

/// The density at `z`.
pub(crate) fn density(z: f64) -> f64 {
    libm::exp(-0.5 * z * z) / (2.0 * PI).sqrt()
}

/// The place that is exceeded with the chance `tail`, which is between 0 and 1.
pub(crate) fn upper_quantile(tail: f64) -> f64 {
    if tail > 0.5 {
        return -newton(1.0 - tail, 0.0, upper_tail, density);
    }
    newton(tail, 0.0, upper_tail, density)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (tail, place) in [
            (0.5, 0.0),
            (0.2, 0.8416212335729143),
            (0.05, 1.6448536269514729),
            (0.025, 1.959963984540054),
            (1e-10, 6.361340902404056),
            (0.95, -1.6448536269514729),
        ] {
            let found = upper_quantile(tail);
            assert!((found - place).abs() < 1e-13, "{tail}: {found}");
            assert!((upper_tail(found) - tail).abs() < 1e-15 + 1e-13 * tail);
        }
        assert!((cdf(1.0) - 0.8413447460685429).abs() < 1e-15);
    }
}
