//! Numbers as people read them.

use crate::Alpha;

/// A share, without its sign: `72.4`.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

/// A difference in percentage points with its sign: `+3.1`, `−6.9`; nothing is `0.0`.
pub(super) fn points(difference: f64) -> String {
    let digits = unsigned_points(difference.abs());
    match (digits == "0.0", difference > 0.0) {
        (true, _) => digits,
        (false, true) => format!("+{digits}"),
        (false, false) => format!("−{digits}"),
    }
}

/// The size of a difference in percentage points.
pub(super) fn unsigned_points(size: f64) -> String {
    format!("{:.1}", 100.0 * size)
}

/// How sure an interval is: `95 %`.
pub(super) fn confidence(alpha: Alpha) -> String {
    let percent = 100.0 * (1.0 - alpha.value());
    // Levels of looks have many digits; those of people have none.
    let digits = if (percent - percent.round()).abs() < 1e-9 {
        0
    } else {
        3
    };
    format!("{percent:.digits$} %")
}

/// `p = 0.68`, `p = 0.005`, `p < 0.001`.
pub(super) fn p_value(p: f64) -> String {
    if p < 0.001 {
        "p < 0.001".to_owned()
    } else if p < 0.1 {
        format!("p = {p:.3}")
    } else {
        format!("p = {p:.2}")
    }
}

/// An amount of money: `$0.31`, `$12`, `less than $0.01`.
pub(super) fn dollars(amount: f64) -> String {
    if amount > 0.0 && amount < 0.01 {
        "less than $0.01".to_owned()
    } else if amount < 10.0 {
        format!("${amount:.2}")
    } else {
        format!("${amount:.0}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_say_their_sign_and_never_certainty() {
        assert_eq!(points(0.031), "+3.1");
        assert_eq!(points(-0.0694), "−6.9");
        assert_eq!(points(-0.0004), "0.0");
        assert_eq!(p_value(1e-300), "p < 0.001");
        assert_eq!(p_value(0.005), "p = 0.005");
        assert_eq!(p_value(0.684), "p = 0.68");
        assert_eq!(dollars(12.4), "$12");
        assert_eq!(dollars(0.314), "$0.31");
        assert_eq!(dollars(0.001), "less than $0.01");
        assert_eq!(confidence(Alpha::FIVE_PERCENT), "95 %");
        assert_eq!(confidence(Alpha::new(0.0063).unwrap()), "99.370 %");
    }
}
