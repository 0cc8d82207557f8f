//! The table of messages that are handled, and of what their segments must hold.
//!
//! It names what the standard requires and interfaces insist on, not everything that it allows: segments that are not named may stand
//! anywhere. Events are taken in every version, also in those before they were published, since senders mix them.

use crate::version::Version;

/// What a message of one kind must look like.
pub(crate) struct Structure {
    /// MSH-9.1.
    pub(crate) code: &'static str,
    /// MSH-9.2.
    pub(crate) events: &'static [&'static str],
    /// Segments that must be there; the first ones of each name in this order.
    pub(crate) required: &'static [&'static str],
    /// A segment that stands only behind another one.
    pub(crate) behind: &'static [Behind],
    /// Each segment of the first name is followed by one of the second before the next of the first.
    pub(crate) each: Option<(&'static str, &'static str)>,
}

/// The segment stands only behind one of the name `after`, in versions before `until`.
pub(crate) struct Behind {
    pub(crate) segment: &'static str,
    pub(crate) after: &'static str,
    pub(crate) until: Option<Version>,
}

const fn behind(segment: &'static str, after: &'static str) -> Behind {
    Behind {
        segment,
        after,
        until: None,
    }
}

pub(crate) const STRUCTURES: &[Structure] = &[
    Structure {
        code: "ADT",
        events: &[
            "A01", "A02", "A03", "A04", "A05", "A06", "A07", "A08", "A11", "A13", "A28", "A31",
        ],
        required: &["MSH", "EVN", "PID", "PV1"],
        behind: &[],
        each: None,
    },
    Structure {
        code: "ADT",
        events: &["A40"],
        required: &["MSH", "EVN", "PID", "MRG"],
        behind: &[behind("PV1", "PID")],
        each: Some(("PID", "MRG")),
    },
    Structure {
        code: "ORU",
        events: &["R01"],
        required: &["MSH", "OBR"],
        // Since 2.7.1 a patient may have observations outside of any order.
        behind: &[
            behind("PV1", "PID"),
            Behind {
                segment: "OBX",
                after: "OBR",
                until: Some(Version::V2_7),
            },
        ],
        each: None,
    },
    Structure {
        code: "ORM",
        events: &["O01"],
        required: &["MSH", "ORC"],
        behind: &[
            behind("PV1", "PID"),
            behind("OBR", "ORC"),
            behind("OBX", "ORC"),
        ],
        each: None,
    },
    Structure {
        code: "OML",
        events: &["O21"],
        required: &["MSH", "ORC"],
        behind: &[behind("OBR", "ORC"), behind("SPM", "OBR")],
        each: None,
    },
    Structure {
        code: "SIU",
        events: &["S12", "S13", "S14", "S15", "S26"],
        required: &["MSH", "SCH", "RGS"],
        behind: &[
            behind("AIS", "RGS"),
            behind("AIG", "RGS"),
            behind("AIL", "RGS"),
            behind("AIP", "RGS"),
        ],
        each: None,
    },
    Structure {
        code: "MDM",
        events: &["T02"],
        required: &["MSH", "EVN", "PID", "PV1", "TXA", "OBX"],
        behind: &[],
        each: None,
    },
];

/// What a segment must hold wherever it stands.
pub(crate) enum Rule {
    /// The field has a value.
    Required(usize),
    /// The field has a value since that version.
    RequiredSince(Version, usize),
    /// The field has a value in every version but that one.
    RequiredUnless(Version, usize),
    /// One of the fields has a value.
    OneOf(usize, usize),
    /// If the first field has a value, so has the second.
    RequiredWith(usize, usize),
    /// What stands in the field is a point in time.
    Time(usize),
    /// What stands in the field is a number.
    Number(usize),
    /// What stands in the field is in a table of the standard.
    Code(usize, &'static Table),
    /// OBX-5 is of the type that OBX-2 names.
    ObservationValue,
}

/// A table of the standard.
pub(crate) struct Table {
    pub(crate) number: &'static str,
    pub(crate) codes: &'static [&'static str],
}

/// The rules for a segment.
pub(crate) fn rules(segment: &str) -> &'static [Rule] {
    use Rule::*;
    match segment {
        // MSH-9, MSH-11 and MSH-12 have codes of their own: see `validate`.
        "MSH" => &[
            RequiredSince(Version::V2_4, 7),
            Time(7),
            Required(10),
            Code(15, &ACKNOWLEDGEMENT_CONDITIONS),
            Code(16, &ACKNOWLEDGEMENT_CONDITIONS),
        ],
        "EVN" => &[RequiredUnless(Version::V2_3, 2), Time(2)],
        "PID" => &[Required(3), Required(5)],
        "PV1" => &[Required(2)],
        "MRG" => &[Required(1)],
        "ORC" => &[Required(1), Code(1, &ORDER_CONTROL)],
        "OBR" => &[Required(4)],
        "OBX" => &[
            RequiredWith(5, 2),
            Required(3),
            RequiredSince(Version::V2_2, 11),
            Code(11, &RESULT_STATUS),
            ObservationValue,
        ],
        "SPM" => &[Required(4)],
        "SCH" => &[OneOf(1, 2)],
        "RGS" => &[Required(1), Number(1)],
        "AIS" => &[Required(1), Number(1), Required(3)],
        "AIG" => &[Required(1), Number(1), Required(4)],
        "AIL" | "AIP" => &[Required(1), Number(1)],
        "TXA" => &[Required(2), Required(12), Required(17)],
        _ => &[],
    }
}

const ACKNOWLEDGEMENT_CONDITIONS: Table = Table {
    number: "0155",
    codes: &["AL", "ER", "NE", "SU"],
};

const ORDER_CONTROL: Table = Table {
    number: "0119",
    codes: &[
        "AF", "CA", "CH", "CN", "CP", "CR", "DC", "DE", "DF", "DR", "FU", "HD", "HR", "LI", "MC",
        "NA", "NR", "NW", "OC", "OD", "OE", "OF", "OH", "OK", "OP", "OR", "PA", "PR", "PY", "RE",
        "RF", "RL", "RO", "RP", "RQ", "RR", "RU", "SC", "SN", "SR", "SS", "UA", "UC", "UD", "UF",
        "UH", "UM", "UN", "UR", "UX", "XO", "XR", "XX",
    ],
};

const RESULT_STATUS: Table = Table {
    number: "0085",
    codes: &[
        "A", "B", "C", "D", "F", "I", "N", "O", "P", "R", "S", "U", "V", "W", "X",
    ],
};
