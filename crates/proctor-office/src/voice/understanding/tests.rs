use super::*;

/// Asserts that a value is understood in all of these, and in none of those.
fn understands(kind: SlotKind, value: &str, said: &[&str], not_said: &[&str]) {
    assert!(said.len() >= 30, "{} ways to say it", said.len());
    let slot = kind.read(value).unwrap();
    let missed: Vec<&&str> = said.iter().filter(|text| !slot.is_said_in(text)).collect();
    assert!(
        missed.is_empty(),
        "{value} was not understood in {missed:#?}"
    );
    let mistaken: Vec<&&str> = not_said
        .iter()
        .filter(|text| slot.is_said_in(text))
        .collect();
    assert!(mistaken.is_empty(), "{value} was heard in {mistaken:#?}");
}

#[test]
fn a_claim_number_is_understood_however_it_is_said() {
    understands(
        SlotKind::Id,
        "C88012",
        &[
            "The claim number is C88012",
            "It's claim C88012",
            "C88012",
            "c88012.",
            "C eight eight zero one two",
            "C eight eight oh one two",
            "Charlie 88012",
            "Charlie eight eight zero one two",
            "C as in Charlie, 8 8 0 1 2",
            "C as in cat 88012",
            "C like Charlie, 88012",
            "C for Charlie eight eight zero one two",
            "C double eight zero one two",
            "C double eight, oh, twelve",
            "C eighty-eight zero twelve",
            "C 88 012",
            "C-88012",
            "C - 8 8 0 1 2",
            "claim number C 8 8 0 1 2 please",
            "I'm calling about claim C88012 for Ellen Marsh, born April 22, 1958.",
            "Sure. It is C 88012, and I'd like to know why it was denied.",
            "Could you look up C88012?",
            "number: C88012",
            "the claim no. C-88-012",
            "My claim (C88012) was denied",
            "Claim #C88012",
            "it's see... sorry, C, eight, eight, zero, one, two",
            "The claim number is the letter C followed by 88012",
            "letter C, then 8-8-0-1-2",
            "cee eight eight zero one two",
            "Capital C 88012",
            "C. 8. 8. 0. 1. 2.",
            "Yes: C88012; the date of service was March 3",
            "C eight-eight-zero-one-two",
            "Ｃ８８０１２",
            "C eight eight zero one two, 240 dollars",
        ],
        &[
            "C88013",
            "C880123",
            "AC88012",
            "88012",
            "C eight eight zero one",
            "C eight eight zero one two three",
            "claim D88012",
            "C88012X",
            "the claim is from 2012",
            "S C 88012",
        ],
    );
}

#[test]
fn a_member_id_is_understood_however_it_is_said() {
    understands(
        SlotKind::Id,
        "SM60311",
        &[
            "SM60311",
            "The member ID is SM60311.",
            "Member SM 60311, born April 22, 1958",
            "S M 6 0 3 1 1",
            "S M six zero three one one",
            "S M six oh three eleven",
            "Sierra Mike 60311",
            "Sierra Mike six zero three one one",
            "S as in Sam, M as in Mary, 60311",
            "S as in Sam M as in Mary six oh three one one",
            "S for sugar, M for Mike, 6-0-3-1-1",
            "SM-60311",
            "sm 603 11",
            "SM sixty 311",
            "SM six oh three double one",
            "ess em six zero three one one",
            "ID S.M.60311",
            "her id's SM60311",
            "It's SM60311, date of birth 04/22/1958",
            "Subscriber number SM60311",
            "The patient's insurance ID: SM60311",
            "letters S M, digits 6 0 3 1 1",
            "SM followed by 60311",
            "S, M, six, zero, three, one, one",
            "Yes, that would be SM 6 0 3 1 1",
            "NPI 1547209811, member SM60311",
            "member id sm60311",
            "for SM60311?",
            "[SM60311]",
            "SM sixty three eleven? no, SM 60311",
            "s m sixty three hundred eleven, sorry, S M 6 0 3 1 1",
        ],
        &[
            "SM60312",
            "SM603110",
            "M60311",
            "60311",
            "XSM60311",
            "S M six zero three one",
            "SN60311",
        ],
    );
}

#[test]
fn an_npi_is_understood_however_it_is_said() {
    understands(
        SlotKind::Id,
        "1547209811",
        &[
            "1547209811",
            "Our NPI is 1547209811.",
            "NPI 1547209811",
            "Lakeside Family Medicine, NPI 1547209811.",
            "1 5 4 7 2 0 9 8 1 1",
            "one five four seven two zero nine eight one one",
            "one five four seven two oh nine eight one one",
            "1547-209-811",
            "1547 209 811",
            "(154) 720-9811",
            "fifteen forty-seven twenty ninety-eight eleven",
            "15 47 20 98 11",
            "154 720 98 11",
            "one five four seven, two zero nine, eight one one",
            "one-five-four-seven-two-zero-nine-eight-one-one",
            "154.720.9811",
            "the NPI number: 1547209811, thanks",
            "it's 1547209811",
            "NPI# 1547209811",
            "sure, 15472 09811",
            "one five four seven two zero nine eight double one",
            "1-547-209-811",
            "the group NPI is one five four seven two zero nine eight one one.",
            "National provider identifier 1547209811",
            "provider number 1547209811 and the member is SM60311",
            "1547209811, tax ID 84-1234567",
            "My NPI: 1 5 4 7, 2 0 9 8, 1 1",
            "Okay so 1547 then 209 then 811",
            "fifteen four seven two oh nine eight eleven",
            "one five four seven two zero niner eight one one",
            "NPI of 1547209811",
        ],
        &[
            "154720981",
            "15472098112",
            "1547209812",
            "51547209811",
            "one five four seven two zero nine eight one one two",
            "9 1547209811",
        ],
    );
}

#[test]
fn a_date_is_understood_however_it_is_said() {
    understands(
        SlotKind::Date,
        "1958-04-22",
        &[
            "1958-04-22",
            "04/22/1958",
            "4/22/1958",
            "4/22/58",
            "04-22-1958",
            "4.22.1958",
            "22.04.1958",
            "04221958",
            "19580422",
            "born April 22, 1958",
            "April 22 1958",
            "April 22nd, 1958",
            "22 April 1958",
            "the 22nd of April 1958",
            "the 22nd of April, 1958",
            "Apr 22, 1958",
            "22-Apr-1958",
            "22APR1958",
            "April twenty-second, nineteen fifty-eight",
            "April twenty second nineteen fifty eight",
            "the twenty-second of April nineteen fifty-eight",
            "April twenty two, nineteen fifty eight",
            "April 22, nineteen fifty-eight",
            "four twenty-two fifty-eight",
            "four twenty two nineteen fifty eight",
            "oh four twenty two nineteen fifty eight",
            "04 22 1958",
            "zero four, two two, one nine five eight",
            "date of birth is 4/22/1958 and the claim is C88012",
            "DOB 04/22/58",
            "1958, April 22",
            "1958/4/22",
            "April 22 of 1958",
            "April the 22nd, nineteen hundred and fifty eight",
            "She was born on 22 April in the year 1958.",
        ],
        &[
            "1958-04-23",
            "1959-04-22",
            "April 22",
            "April 2, 1958",
            "22 May 1958",
            "04/22/1985",
            "114/22/1958",
            "19580423",
        ],
    );
    let other = SlotKind::Date.read("2004-01-03").unwrap();
    for text in [
        "January 3, 2004",
        "January third, two thousand four",
        "January third two thousand and four",
        "1/3/04",
        "oh one oh three twenty oh four",
        "Jan 3rd 2004",
        "the third of January, twenty oh four",
    ] {
        assert!(other.is_said_in(text), "{text}");
    }
    assert!(!other.is_said_in("3/1/2004"), "the first of March");
}

#[test]
fn a_name_is_understood_however_it_is_said() {
    understands(
        SlotKind::Name,
        "Ellen Marsh",
        &[
            "Ellen Marsh",
            "Marsh, Ellen",
            "The patient is Ellen Marsh.",
            "It's for Ellen Marsh, born 1958",
            "ELLEN MARSH",
            "ellen marsh",
            "Ellen R. Marsh",
            "Mrs. Ellen Marsh",
            "Ms Marsh, first name Ellen",
            "last name Marsh, first name Ellen",
            "First name Ellen, last name Marsh",
            "Ellen, that's E L L E N, Marsh",
            "Ellen M A R S H",
            "Ellen M-A-R-S-H",
            "E-L-L-E-N M-A-R-S-H",
            "Ellen Mike Alpha Romeo Sierra Hotel",
            "Ellen, M as in Mary, A as in apple, R as in Robert, S as in Sam, H as in Henry",
            "Éllen Marsh",
            "Ellen Marsh's claim",
            "patient name: Marsh / Ellen",
            "the member, Ellen Marsh, SM60311",
            "I am calling on behalf of Ellen Marsh",
            "her name is Ellen. Ellen Marsh.",
            "Ellen   Marsh",
            "Marsh Ellen",
            "Ellen J Marsh, female",
            "It concerns Ms. Ellen Marsh, please.",
            "for our patient Ellen Marsh?",
            "Name: ELLEN MARSH DOB: 04/22/1958",
            "Ellen (Marsh)",
            "Marsh, that is M, A, R, S, H; Ellen",
        ],
        &[
            "Ellen",
            "Marsh",
            "Ellen Marshall",
            "Helen Marsh",
            "Victor Anand",
        ],
    );
}

#[test]
fn an_amount_is_understood_however_it_is_said() {
    understands(
        SlotKind::Amount,
        "1240.50",
        &[
            "$1,240.50",
            "$1240.50",
            "1240.50",
            "1,240.50 dollars",
            "1240.50 USD",
            "USD 1,240.50",
            "1240.5",
            "The billed amount was $1,240.50.",
            "1240 dollars and 50 cents",
            "1,240 dollars 50 cents",
            "one thousand two hundred forty dollars and fifty cents",
            "one thousand two hundred and forty dollars and fifty cents",
            "one thousand two hundred forty dollars fifty",
            "twelve hundred forty dollars and fifty cents",
            "twelve hundred and forty dollars fifty cents",
            "twelve forty fifty",
            "twelve forty and fifty cents",
            "twelve-forty-fifty",
            "one thousand two hundred forty point five",
            "one thousand two hundred forty point five zero",
            "we billed 1240.50 for it",
            "a total of $1,240.50, please",
            "it's twelve hundred forty and fifty cents",
            "total charge 1240.50",
            "for $ 1240.50",
            "1240 dollars and fifty cents",
            "twelve hundred forty dollars, 50 cents",
            "1 240.50",
            "the claim C88012 over $1,240.50",
            "(1,240.50)",
            "charge: 1240,50",
        ],
        &[
            "$1,240.51",
            "$1,240",
            "$240.50",
            "$11,240.50",
            "1240.505",
            "twelve forty",
            "one thousand two hundred forty dollars",
        ],
    );
    let round = SlotKind::Amount.read("240").unwrap();
    for text in [
        "$240",
        "$240.00",
        "two hundred forty dollars",
        "two forty",
        "240 dollars even",
    ] {
        assert!(round.is_said_in(text), "{text}");
    }
    for text in ["$240.50", "$1,240", "2400", "two forty five"] {
        assert!(!round.is_said_in(text), "{text}");
    }
}

#[test]
fn hostile_text_is_no_danger() {
    let slot = SlotKind::Id.read("C88012").unwrap();
    assert!(!slot.is_said_in(&"dash ".repeat(2_000)));
    assert!(!slot.is_said_in(&"c dash ".repeat(1_000)));
    assert!(!slot.is_said_in(&"double ".repeat(1_000)));
    assert!(!slot.is_said_in(""));
    let date = SlotKind::Date.read("1958-04-22").unwrap();
    assert!(!date.is_said_in(&"four twenty two ".repeat(300)));
}

#[test]
fn records_that_hold_nonsense_are_refused() {
    assert!(SlotKind::Date.read("April").is_err());
    assert!(SlotKind::Date.read("1958-13-01").is_err());
    assert!(SlotKind::Amount.read("much").is_err());
    assert!(SlotKind::Amount.read("1.234").is_err());
    assert!(SlotKind::Id.read("-").is_err());
    assert!(SlotKind::Name.read(" ").is_err());
}
