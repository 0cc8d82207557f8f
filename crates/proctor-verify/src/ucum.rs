//! Units of UCUM, as far as clinical data uses them: whether two are of the same kind, and how many of one are how many of the
//! other.
//!
//! A unit is read into the powers of its base units and a factor. Only units on a ratio scale and the three temperatures are
//! known; amounts of substance and masses are different kinds, because only a molar mass leads from one to the other.

use std::fmt;

/// The base units: metre, gram, second, mole, kelvin, international units and equivalents.
const BASES: usize = 7;
const METRE: [i8; BASES] = [1, 0, 0, 0, 0, 0, 0];
const GRAM: [i8; BASES] = [0, 1, 0, 0, 0, 0, 0];
const SECOND: [i8; BASES] = [0, 0, 1, 0, 0, 0, 0];
const MOLE: [i8; BASES] = [0, 0, 0, 1, 0, 0, 0];
const KELVIN: [i8; BASES] = [0, 0, 0, 0, 1, 0, 0];
const INTERNATIONAL: [i8; BASES] = [0, 0, 0, 0, 0, 1, 0];
const EQUIVALENT: [i8; BASES] = [0, 0, 0, 0, 0, 0, 1];
const NONE: [i8; BASES] = [0; BASES];
/// g·m⁻¹·s⁻²
const PRESSURE: [i8; BASES] = [-1, 1, -2, 0, 0, 0, 0];
/// g·m²·s⁻²
const ENERGY: [i8; BASES] = [2, 1, -2, 0, 0, 0, 0];
/// m³
const VOLUME: [i8; BASES] = [3, 0, 0, 0, 0, 0, 0];
/// mol·s⁻¹
const ACTIVITY: [i8; BASES] = [0, 0, -1, 1, 0, 0, 0];
/// s⁻¹
const FREQUENCY: [i8; BASES] = [0, 0, -1, 0, 0, 0, 0];

/// The longest unit, in bytes.
const LONGEST: usize = 60;

/// An atom: its code, whether prefixes may stand before it, its kind, and how many base units it is.
type Atom = (&'static str, bool, [i8; BASES], f64);

const ATOMS: [Atom; 55] = [
    ("m", true, METRE, 1.0),
    ("g", true, GRAM, 1.0),
    ("s", true, SECOND, 1.0),
    ("mol", true, MOLE, 1.0),
    ("K", true, KELVIN, 1.0),
    ("[iU]", true, INTERNATIONAL, 1.0),
    ("[IU]", true, INTERNATIONAL, 1.0),
    ("eq", true, EQUIVALENT, 1.0),
    ("L", true, VOLUME, 1e-3),
    ("l", true, VOLUME, 1e-3),
    ("min", false, SECOND, 60.0),
    ("h", false, SECOND, 3_600.0),
    ("d", false, SECOND, 86_400.0),
    ("wk", false, SECOND, 604_800.0),
    ("mo", false, SECOND, 2_629_800.0),
    ("a", false, SECOND, 31_557_600.0),
    ("t", true, GRAM, 1e6),
    ("[lb_av]", false, GRAM, 453.592_37),
    ("[oz_av]", false, GRAM, 28.349_523_125),
    ("[gr]", false, GRAM, 0.064_798_91),
    ("[stone_av]", false, GRAM, 6_350.293_18),
    ("[in_i]", false, METRE, 0.025_4),
    ("[in_us]", false, METRE, 0.025_400_050_800_101_6),
    ("[ft_i]", false, METRE, 0.304_8),
    ("[yd_i]", false, METRE, 0.914_4),
    ("[mi_i]", false, METRE, 1_609.344),
    ("[foz_us]", false, VOLUME, 2.957_352_956_25e-5),
    ("[cup_us]", false, VOLUME, 2.365_882_365e-4),
    ("[pt_us]", false, VOLUME, 4.731_764_73e-4),
    ("[qt_us]", false, VOLUME, 9.463_529_46e-4),
    ("[gal_us]", false, VOLUME, 3.785_411_784e-3),
    ("[tsp_us]", false, VOLUME, 4.928_921_593_75e-6),
    ("[tbs_us]", false, VOLUME, 1.478_676_478_125e-5),
    ("[drp]", false, VOLUME, 5e-8),
    ("%", false, NONE, 0.01),
    ("[ppm]", false, NONE, 1e-6),
    ("[ppth]", false, NONE, 1e-3),
    ("1", false, NONE, 1.0),
    ("[pH]", false, NONE, 1.0),
    ("10*", false, NONE, 10.0),
    ("10^", false, NONE, 10.0),
    ("Pa", true, PRESSURE, 1_000.0),
    ("bar", true, PRESSURE, 1e8),
    ("atm", false, PRESSURE, 101_325_000.0),
    ("m[Hg]", true, PRESSURE, 133_322_000.0),
    ("m[H2O]", true, PRESSURE, 9_806_650.0),
    ("[psi]", false, PRESSURE, 6_894_757.293_168),
    ("J", true, ENERGY, 1_000.0),
    ("cal", true, ENERGY, 4_184.0),
    ("Cal", false, ENERGY, 4_184_000.0),
    ("kat", true, ACTIVITY, 1.0),
    ("U", true, ACTIVITY, 1.0 / 60_000_000.0),
    ("Hz", true, FREQUENCY, 1.0),
    ("[arb'U]", true, INTERNATIONAL, 1.0),
    ("[CFU]", true, NONE, 1.0),
];

const PREFIXES: [(&str, f64); 16] = [
    ("da", 1e1),
    ("Y", 1e24),
    ("Z", 1e21),
    ("E", 1e18),
    ("P", 1e15),
    ("T", 1e12),
    ("G", 1e9),
    ("M", 1e6),
    ("k", 1e3),
    ("h", 1e2),
    ("d", 1e-1),
    ("c", 1e-2),
    ("m", 1e-3),
    ("u", 1e-6),
    ("n", 1e-9),
    ("p", 1e-12),
];

/// A unit that can be converted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Unit {
    written: String,
    powers: [i8; BASES],
    factor: f64,
    /// What is added before the factor: only for temperatures by themselves.
    offset: f64,
}

impl Unit {
    /// Reads a unit: `kg`, `mg/dL`, `10*9/L`, `m[Hg]`, `[lb_av]`, `Cel`. What stands in braces says what is counted.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("'{text}' is no unit of UCUM that is known here{why}");
        if text.len() > LONGEST {
            return Err(wrong(": it is too long"));
        }
        let mut unit = Self {
            written: text.to_owned(),
            powers: NONE,
            factor: 1.0,
            offset: 0.0,
        };
        match text {
            "Cel" => {
                (unit.powers, unit.offset) = (KELVIN, 273.15);
                return Ok(unit);
            }
            "[degF]" => {
                (unit.powers, unit.factor, unit.offset) = (KELVIN, 5.0 / 9.0, 459.67);
                return Ok(unit);
            }
            _ => {}
        }
        let mut is_divided = false;
        let mut has_any = false;
        for (place, (separator, component)) in components(text).into_iter().enumerate() {
            // Only the first may be left out: `/min`.
            if component.is_empty() && place > 0 {
                return Err(wrong(""));
            }
            if separator == '/' {
                is_divided = true;
            } else if separator == '.' {
                is_divided = false;
            }
            let bare = without_annotation(component);
            if bare.is_empty() {
                // `{beats}/min`, `/min`, `mg/{total}`.
                has_any |= !component.is_empty();
                continue;
            }
            has_any = true;
            let (atom, exponent) = split_exponent(bare);
            let (powers, factor) = read_atom(atom).ok_or_else(|| wrong(""))?;
            let sign = if is_divided { -1 } else { 1 };
            let exponent = sign * exponent;
            for (own, power) in unit.powers.iter_mut().zip(powers) {
                *own = own.saturating_add(power.saturating_mul(exponent));
            }
            unit.factor *= factor.powi(i32::from(exponent));
        }
        match has_any && unit.factor.is_finite() && unit.factor > 0.0 {
            true => Ok(unit),
            false => Err(wrong("")),
        }
    }

    /// How many of `other` are `value` of this unit; none if they are of different kinds.
    pub(crate) fn convert(&self, value: f64, other: &Self) -> Option<f64> {
        if self.written == other.written {
            return Some(value);
        }
        if self.powers != other.powers {
            return None;
        }
        let base = (value + self.offset) * self.factor;
        Some(base / other.factor - other.offset)
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

/// The components of a unit, each with what stands before it. Dots and strokes in brackets and braces belong to the component.
fn components(text: &str) -> Vec<(char, &str)> {
    let mut all = Vec::new();
    let (mut separator, mut start, mut depth) = ('.', 0, 0_i32);
    for (place, letter) in text.char_indices() {
        match letter {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            '.' | '/' if depth == 0 => {
                all.push((separator, &text[start..place]));
                (separator, start) = (letter, place + 1);
            }
            _ => {}
        }
    }
    all.push((separator, &text[start..]));
    all
}

fn without_annotation(component: &str) -> &str {
    component.split('{').next().unwrap_or_default()
}

/// The number behind an atom: `m2`, `s-1`, `10*9`.
fn split_exponent(component: &str) -> (&str, i8) {
    if component.ends_with(']') || component.bytes().all(|byte| byte.is_ascii_digit()) {
        return (component, 1);
    }
    let digits = component
        .bytes()
        .rev()
        .take_while(u8::is_ascii_digit)
        .count();
    let mut start = component.len() - digits;
    if digits > 0 && component[..start].ends_with(['-', '+']) {
        start -= 1;
    }
    match component[start..].parse() {
        Ok(exponent) if digits > 0 && start > 0 => (&component[..start], exponent),
        _ => (component, 1),
    }
}

fn read_atom(atom: &str) -> Option<([i8; BASES], f64)> {
    let known = |name: &str| ATOMS.iter().find(|(code, ..)| *code == name);
    if let Some((_, _, powers, factor)) = known(atom) {
        return Some((*powers, *factor));
    }
    let micro = atom.replacen(['µ', 'μ'], "u", 1);
    PREFIXES.iter().find_map(|(prefix, scale)| {
        let rest = micro.strip_prefix(prefix)?;
        let (_, is_metric, powers, factor) = known(rest)?;
        is_metric.then_some((*powers, scale * factor))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convert(value: f64, from: &str, to: &str) -> Option<f64> {
        Unit::parse(from)
            .unwrap()
            .convert(value, &Unit::parse(to).unwrap())
    }

    #[test]
    fn units_of_one_kind_convert() {
        for (value, from, to, expected) in [
            (154.323_583_529, "[lb_av]", "kg", 70.0),
            (1.0, "g/dL", "g/L", 10.0),
            (5.5, "mmol/L", "umol/mL", 5.5),
            (98.6, "[degF]", "Cel", 37.0),
            (37.0, "Cel", "K", 310.15),
            (1.0, "10*9/L", "10*3/uL", 1.0),
            (120.0, "mm[Hg]", "kPa", 15.998_64),
            (60.0, "/min", "Hz", 1.0),
            (72.0, "{beats}/min", "/min", 72.0),
            (1.0, "U/L", "kat/L", 1.0 / 60_000_000.0),
            (2.0, "[in_i]", "cm", 5.08),
            (25.0, "kg/m2", "g/cm2", 2.5),
            (50.0, "%", "1", 0.5),
            (1.0, "h", "min", 60.0),
        ] {
            let converted = convert(value, from, to).unwrap();
            assert!(
                (converted - expected).abs() < 1e-6,
                "{value} {from} is {converted} {to}"
            );
        }
    }

    #[test]
    fn units_of_different_kinds_do_not() {
        assert_eq!(convert(1.0, "mg/dL", "mmol/L"), None);
        assert_eq!(convert(1.0, "kg", "m"), None);
        assert_eq!(convert(1.0, "[IU]", "g"), None);
    }

    #[test]
    fn what_is_no_unit_is_refused() {
        for bad in ["", "furlong", "mmin", "kg//m", "k", "[nope]", "é"] {
            assert!(Unit::parse(bad).is_err(), "{bad}");
        }
    }
}
