//! Query strings: names and values in the order given.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, utf8_percent_encode};

use super::outcome::{Answer, IssueCode, Refusal};

/// What must be escaped in a value of a query. The rest is readable, and legal there.
const VALUE: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b':')
    .remove(b'/')
    .remove(b',')
    .remove(b'*')
    .remove(b'$');

/// The pairs of a query or of a form, decoded.
pub(crate) fn parse(query: &str) -> Answer<Vec<(String, String)>> {
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decode(name)?, decode(value)?))
        })
        .collect()
}

/// The first value of `name`, if it can be decoded. Cheap when it is not there.
pub(crate) fn first(query: &str, name: &str) -> Option<String> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(found, _)| *found == name)?;
    decode(value).ok()
}

/// `name=value`, escaped, appended to a query.
pub(crate) fn push(query: &mut String, name: &str, value: &str) {
    if !query.is_empty() {
        query.push('&');
    }
    query.extend(utf8_percent_encode(name, VALUE));
    query.push('=');
    query.extend(utf8_percent_encode(value, VALUE));
}

fn decode(text: &str) -> Answer<String> {
    let spaced;
    let text = if text.contains('+') {
        spaced = text.replace('+', " ");
        &spaced
    } else {
        text
    };
    percent_decode(text.as_bytes())
        .decode_utf8()
        .map(std::borrow::Cow::into_owned)
        .map_err(|_| {
            Refusal::bad_request(
                IssueCode::Invalid,
                format!("'{text}' in the query is not UTF-8 when decoded"),
            )
        })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pairs_are_decoded_in_order() {
        let pairs = parse("name=A%20b&name=c+d&x&=y&date=ge2020-01-01%2B01:00").unwrap();
        let expected = [
            ("name", "A b"),
            ("name", "c d"),
            ("x", ""),
            ("", "y"),
            ("date", "ge2020-01-01+01:00"),
        ];
        assert_eq!(
            pairs,
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
        assert!(parse("a=%ff").is_err());
    }

    proptest! {
        #[test]
        fn what_was_pushed_is_parsed(pairs in prop::collection::vec((".{1,8}", ".{0,12}"), 0..5)) {
            let mut query = String::new();
            for (name, value) in &pairs {
                push(&mut query, name, value);
            }
            prop_assert_eq!(parse(&query).unwrap(), pairs);
        }
    }
}
