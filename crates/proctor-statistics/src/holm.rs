//! Several questions at once.
//!
//! Whoever asks twenty questions at 5 % gets one wrong "yes" on average. Holm's correction makes each p-value larger, the smallest most, so
//! that *any* wrong "yes" among all of them stays within the level, whatever the questions have to do with each other.

/// The p-values after Holm's correction, in the order they were given.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|one, other| p_values[*one].total_cmp(&p_values[*other]));
    let mut corrected = vec![0.0; p_values.len()];
    let mut largest = 0.0_f64;
    for (rank, place) in order.into_iter().enumerate() {
        let factor = (p_values.len() - rank) as f64;
        largest = largest.max((factor * p_values[place]).min(1.0));
        corrected[place] = largest;
    }
    corrected
}
