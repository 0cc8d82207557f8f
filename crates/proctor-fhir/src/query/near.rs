//! `Location.near`: places within a distance.

use super::criterion::NearCriterion;
use super::escape::split;
use crate::index::Position;

/// How the value is written.
pub(super) const FORM: &str = "latitude|longitude[|distance[|unit]] in degrees, with the unit km (the default), m or [mi_us],";

/// The distance meant where none is given.
const DEFAULT_KILOMETRES: f64 = 50.0;
const EARTH_RADIUS_KILOMETRES: f64 = 6_371.008_8;
const KILOMETRES_PER_MILE: f64 = 1.609_344;

pub(super) fn parse(text: &str) -> Option<NearCriterion> {
    let (position, distance, unit) = match split(text, '|')[..] {
        [latitude, longitude] => ((latitude, longitude), "", ""),
        [latitude, longitude, distance] => ((latitude, longitude), distance, ""),
        [latitude, longitude, distance, unit] => ((latitude, longitude), distance, unit),
        _ => return None,
    };
    let center = Position {
        latitude: degrees(position.0, 90.0)?,
        longitude: degrees(position.1, 180.0)?,
    };
    let per_unit = match unit {
        "" | "km" => 1.0,
        "m" => 0.001,
        "[mi_us]" | "[mi_i]" | "mi" => KILOMETRES_PER_MILE,
        _ => return None,
    };
    let kilometres = if distance.is_empty() {
        DEFAULT_KILOMETRES
    } else {
        distance
            .parse::<f64>()
            .ok()
            .filter(|distance| distance.is_finite() && *distance >= 0.0)?
            * per_unit
    };
    Some(NearCriterion { center, kilometres })
}

fn degrees(text: &str, most: f64) -> Option<f64> {
    text.parse::<f64>()
        .ok()
        .filter(|degrees| degrees.abs() <= most)
}

/// Whether a place lies in the circle, by the great-circle distance.
pub(super) fn matches(criterion: &NearCriterion, position: Position) -> bool {
    let (from, to) = (criterion.center, position);
    let half = |degrees: f64| (degrees.to_radians() / 2.0).sin().powi(2);
    let chord = half(to.latitude - from.latitude)
        + from.latitude.to_radians().cos()
            * to.latitude.to_radians().cos()
            * half(to.longitude - from.longitude);
    2.0 * EARTH_RADIUS_KILOMETRES * chord.sqrt().min(1.0).asin() <= criterion.kilometres
}
