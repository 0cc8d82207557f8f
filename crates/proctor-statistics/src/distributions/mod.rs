//! The normal distribution and Student's t, right to about 1e-13, with the same bits on every machine.
//!
//! They are written here on `libm` alone, because the functions at hand did not reach 1e-9 everywhere: `statrs` stops its continued
//! fraction after 140 steps (too few above some 20,000 degrees of freedom), takes the difference of two large logarithms of the gamma
//! function, and loses half of the digits of very small t.

pub(crate) mod normal;
pub(crate) mod student_t;

/// The place where a convex falling tail is `tail`, by Newton's method from `start`, which is left of it.
///
/// From the left, Newton's method on a convex falling function never overshoots, so there is nothing to guard.
fn upper_quantile(
    tail: f64,
    start: f64,
    upper_tail: impl Fn(f64) -> f64,
    density: impl Fn(f64) -> f64,
) -> f64 {
    let mut place = start;
    for _ in 0..200 {
        let step = (upper_tail(place) - tail) / density(place);
        place += step;
        if step.abs() <= 4.0 * f64::EPSILON * (1.0 + place.abs()) {
            break;
        }
    }
    place
}
