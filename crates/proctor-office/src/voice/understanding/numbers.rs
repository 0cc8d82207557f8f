//! Words for numbers.

const DIGITS: [&str; 10] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
];
const TEENS: [&str; 10] = [
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 8] = [
    "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
];

/// The digit that a word says.
pub(super) fn digit(word: &str) -> Option<u32> {
    match word {
        "oh" | "o" | "nought" | "nil" => Some(0),
        "niner" => Some(9),
        "fower" => Some(4),
        "fife" => Some(5),
        word => place(&DIGITS, word),
    }
}

/// The number from 10 to 19 that a word says.
pub(super) fn teen(word: &str) -> Option<u32> {
    place(&TEENS, word).map(|place| place + 10)
}

/// The ten that a word says.
pub(super) fn tens(word: &str) -> Option<u32> {
    match word {
        "fourty" => Some(40),
        word => place(&TENS, word).map(|place| (place + 2) * 10),
    }
}

fn place(words: &[&str], word: &str) -> Option<u32> {
    let place = words.iter().position(|one| *one == word)?;
    u32::try_from(place).ok()
}

/// How a number below 100 is said.
pub(super) fn below_hundred(number: u32) -> Vec<&'static str> {
    let index = |number: u32| number as usize;
    match number {
        0..10 => vec![DIGITS[index(number)]],
        10..20 => vec![TEENS[index(number - 10)]],
        _ => {
            let ten = TENS[index((number / 10).clamp(2, 9) - 2)];
            match number % 10 {
                0 => vec![ten],
                unit => vec![ten, DIGITS[index(unit)]],
            }
        }
    }
}

/// How a number is said digit by digit.
pub(super) fn digit_by_digit(digits: &str) -> Vec<&'static str> {
    let digits = digits.chars().filter_map(|one| one.to_digit(10));
    digits.map(|digit| DIGITS[digit as usize]).collect()
}

/// The ways in which a whole number is said in words.
pub(super) fn in_words(number: u64) -> Vec<Vec<&'static str>> {
    let mut forms = vec![long_form(number)];
    // "Two forty", "twelve hundred", "twelve thirty-four".
    if (100..10_000).contains(&number) {
        let (high, low) = (number / 100, number % 100);
        let high = below_hundred(u32::try_from(high).unwrap_or_default());
        let low_words = below_hundred(u32::try_from(low).unwrap_or_default());
        let mut hundreds = high.clone();
        hundreds.push("hundred");
        if low > 0 {
            hundreds.extend(&low_words);
            let mut short = high;
            if low < 10 {
                short.push("oh");
            }
            short.extend(&low_words);
            forms.push(short);
        }
        forms.push(hundreds);
        if number / 100 == 1 {
            let mut a_hundred = vec!["a", "hundred"];
            if low > 0 {
                a_hundred.extend(&low_words);
            }
            forms.push(a_hundred);
        }
    }
    forms
}

fn long_form(number: u64) -> Vec<&'static str> {
    let mut words = Vec::new();
    let mut rest = number;
    for (size, name) in [(1_000_000, "million"), (1_000, "thousand")] {
        if rest >= size {
            words.extend(below_thousand(rest / size));
            words.push(name);
            rest %= size;
        }
    }
    if rest > 0 || words.is_empty() {
        words.extend(below_thousand(rest));
    }
    words
}

fn below_thousand(number: u64) -> Vec<&'static str> {
    let small = |number: u64| below_hundred(u32::try_from(number).unwrap_or_default());
    let mut words = Vec::new();
    if number >= 100 {
        words.extend(small((number / 100).min(9)));
        words.push("hundred");
    }
    if !number.is_multiple_of(100) || number == 0 {
        words.extend(small(number % 100));
    }
    words
}
