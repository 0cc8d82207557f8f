//! Numbers and codes: said in one piece, in groups, digit by digit, letter by letter.

use super::{
    atoms::{Atom, Gap},
    numbers::{digit, teen, tens},
};

/// The most pieces that a code is said in.
const MOST_PIECES: usize = 120;

/// Whether the code, which is letters and digits in lower case, was said.
pub(super) fn is_said(code: &str, atoms: &[Atom]) -> bool {
    let starts = 0..atoms.len();
    starts
        .filter(|start| begins_there(code, atoms, *start))
        .any(|start| rest_is_said(code, atoms, start, MOST_PIECES))
}

/// Whether a word of a name was said or spelled. An initial, or another word that was spelled, may stand before it.
pub(super) fn is_word_said(word: &str, atoms: &[Atom]) -> bool {
    let starts = 0..atoms.len();
    starts
        .filter(|start| atoms[*start].gap != Gap::None)
        .any(|start| rest_is_said(word, atoms, start, MOST_PIECES))
}

/// Whether a code may begin at a place: not in the middle of a longer one.
fn begins_there(code: &str, atoms: &[Atom], start: usize) -> bool {
    let (Some(atom), Some(before)) = (atoms.get(start), start.checked_sub(1)) else {
        return start < atoms.len();
    };
    let before = &atoms[before];
    match atom.gap {
        Gap::None => false,
        Gap::Break => true,
        Gap::Loose | Gap::Point => match code.starts_with(|c: char| c.is_ascii_digit()) {
            true => !is_digit_like(before),
            false => !is_letter(before),
        },
    }
}

/// Whether a code that was said ends there.
fn ends_there(code: &str, atoms: &[Atom], end: usize) -> bool {
    let Some(next) = atoms.get(end) else {
        return true;
    };
    match next.gap {
        Gap::None => false,
        Gap::Break => true,
        Gap::Loose | Gap::Point => {
            !(code.ends_with(|c: char| c.is_ascii_digit()) && is_digit_like(next))
        }
    }
}

fn is_digit_like(atom: &Atom) -> bool {
    atom.is_digits() || (digit(&atom.text).is_some() && atom.text != "o" && atom.text != "oh")
}

/// Whether it is a letter that somebody spelled. The words "a" and "I" are not.
fn is_letter(atom: &Atom) -> bool {
    let is_single = atom.text.len() == 1 && !atom.is_digits();
    (is_single && !matches!(atom.text.as_str(), "a" | "i")) || spelled(&atom.text).is_some()
}

/// Whether the rest of a code is said from a place on.
fn rest_is_said(rest: &str, atoms: &[Atom], at: usize, pieces: usize) -> bool {
    if rest.is_empty() {
        return ends_there_with(atoms, at);
    }
    let (Some(atom), Some(pieces)) = (atoms.get(at), pieces.checked_sub(1)) else {
        return false;
    };
    let goes_on = |piece: &str, used: usize| {
        let left = rest.strip_prefix(piece).filter(|_| !piece.is_empty());
        left.is_some_and(|left| match left.is_empty() {
            true => ends_there(piece, atoms, at + used),
            false => rest_is_said(left, atoms, at + used, pieces),
        })
    };
    let next = atoms.get(at + 1).map(|atom| atom.text.as_str());
    let text = atom.text.as_str();
    if goes_on(text, 1) {
        return true;
    }
    if let Some(one) = digit(text) {
        let hundreds = match next {
            Some("hundred") => goes_on(&format!("{one}00"), 2),
            Some("thousand") => goes_on(&format!("{one}000"), 2),
            _ => false,
        };
        if hundreds || goes_on(&one.to_string(), 1) {
            return true;
        }
    }
    if let Some(two) = teen(text)
        && goes_on(&two.to_string(), 1)
    {
        return true;
    }
    if let Some(ten) = tens(text) {
        let unit = next.and_then(digit).filter(|unit| *unit > 0);
        let both = unit.is_some_and(|unit| goes_on(&(ten + unit).to_string(), 2));
        if both || goes_on(&ten.to_string(), 1) {
            return true;
        }
    }
    let times = match text {
        "double" => 2,
        "triple" | "treble" => 3,
        _ => 0,
    };
    if times > 0
        && let Some(one) = next.and_then(one_character)
        && goes_on(&one.repeat(times), 2)
    {
        return true;
    }
    if let Some(letter) = spelled(text)
        && goes_on(letter, 1)
    {
        return true;
    }
    // "C as in Charlie", "M for Mary", "S like Sam".
    if let Some(letter) = one_letter(text) {
        let words = |place: usize| atoms.get(at + place).map(|atom| atom.text.as_str());
        let used = match (words(1), words(2), words(3)) {
            (Some("as"), Some("in"), Some(_)) => 4,
            (Some("for" | "like"), Some(_), _) => 3,
            _ => 0,
        };
        if used > 0 && goes_on(letter, used) {
            return true;
        }
    }
    is_filler(text) && rest_is_said(rest, atoms, at + 1, pieces)
}

fn ends_there_with(atoms: &[Atom], at: usize) -> bool {
    atoms.get(at).is_none_or(|next| next.gap != Gap::None)
}

/// What people say between the pieces of a number.
fn is_filler(text: &str) -> bool {
    matches!(
        text,
        "dash"
            | "hyphen"
            | "minus"
            | "space"
            | "slash"
            | "dot"
            | "point"
            | "and"
            | "then"
            | "uh"
            | "um"
            | "er"
            | "letter"
            | "letters"
            | "number"
            | "numbers"
            | "digit"
            | "digits"
            | "followed"
            | "by"
            | "capital"
            | "uppercase"
            | "again"
    )
}

fn one_character(text: &str) -> Option<String> {
    let digit = digit(text).map(|digit| digit.to_string());
    let letter = || one_letter(text).map(str::to_owned);
    let own = || (text.chars().count() == 1).then(|| text.to_owned());
    digit.or_else(letter).or_else(own)
}

/// The letter that is meant by a single letter or by a word for it.
fn one_letter(text: &str) -> Option<&str> {
    let is_single = text.len() == 1 && text.bytes().all(|byte| byte.is_ascii_lowercase());
    match is_single {
        true => Some(text),
        false => spelled(text),
    }
}

/// The letter that a word stands for.
fn spelled(word: &str) -> Option<&'static str> {
    let letter = match word {
        "alpha" | "alfa" | "able" => "a",
        "bravo" | "baker" | "boy" | "bee" => "b",
        "charlie" | "cee" => "c",
        "delta" | "david" | "dog" | "dee" => "d",
        "echo" | "edward" => "e",
        "foxtrot" | "frank" | "eff" => "f",
        "golf" | "george" | "gee" => "g",
        "hotel" | "henry" | "aitch" => "h",
        "india" | "ida" => "i",
        "juliet" | "juliett" | "jay" => "j",
        "kilo" | "king" | "kay" => "k",
        "lima" | "lincoln" | "ell" | "el" => "l",
        "mike" | "mary" | "em" => "m",
        "november" | "nancy" | "en" => "n",
        "oscar" | "ocean" => "o",
        "papa" | "peter" | "paul" | "pee" => "p",
        "quebec" | "queen" | "cue" => "q",
        "romeo" | "robert" | "roger" => "r",
        "sierra" | "sam" | "sugar" | "ess" => "s",
        "tango" | "tom" | "thomas" | "tee" => "t",
        "uniform" | "union" => "u",
        "victor" | "vee" => "v",
        "whiskey" | "whisky" | "william" => "w",
        "xray" | "ex" => "x",
        "yankee" | "young" => "y",
        "zulu" | "zebra" | "zee" | "zed" => "z",
        _ => return None,
    };
    Some(letter)
}
