//! Addresses of the same page with another filter, order or part: all state of a page is in its address.

use crate::html;

/// The parameters of a page's address.
#[derive(Clone, Debug, Default)]
pub struct Params(Vec<(String, String)>);

impl Params {
    /// Reads the query of an address.
    pub fn read(query: Option<&str>) -> Self {
        let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        let owned = pairs.map(|(name, value)| (name.into_owned(), value.into_owned()));
        Self(owned.filter(|(_, value)| !value.is_empty()).collect())
    }

    /// A parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// All values of a parameter, in their order.
    pub fn all(&self, name: &str) -> Vec<&str> {
        let pairs = self.0.iter().filter(|(known, _)| known == name);
        pairs.map(|(_, value)| value.as_str()).collect()
    }

    /// The parameters, in their order.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// A parameter that is a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    /// The address with one parameter changed; an empty value takes it away.
    #[must_use]
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut pairs: Vec<(String, String)> = self.0.clone();
        pairs.retain(|(known, _)| known != name);
        if !value.is_empty() {
            pairs.push((name.to_owned(), value.to_owned()));
        }
        Self(pairs)
    }

    /// The address with one parameter more, beside others of the same name.
    #[must_use]
    pub fn and(mut self, name: &str, value: &str) -> Self {
        self.0.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The address without a parameter.
    #[must_use]
    pub fn without(&self, name: &str) -> Self {
        self.with(name, "")
    }

    /// The query, with its question mark.
    pub fn link(&self) -> String {
        let pairs = self.0.iter();
        let pairs: Vec<String> = pairs
            .map(|(name, value)| format!("{}={}", html::encode(name), html::encode(value)))
            .collect();
        format!("?{}", pairs.join("&"))
    }

    /// The query with one parameter changed, with its question mark.
    pub fn link_with(&self, name: &str, value: &str) -> String {
        self.with(name, value).link()
    }

    /// Whether a parameter has this value.
    pub fn is(&self, name: &str, value: &str) -> bool {
        self.get(name).unwrap_or_default() == value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_survives_being_read_and_written() {
        let params = Params::read(Some("q=a%2Fb%20%23&sort=name&empty="));
        assert_eq!(params.get("q"), Some("a/b #"));
        assert_eq!(params.get("empty"), None);
        assert_eq!(params.link(), "?q=a%2Fb%20%23&sort=name");
        assert_eq!(params.link_with("sort", "time"), "?q=a%2Fb%20%23&sort=time");
        assert_eq!(params.without("q").link(), "?sort=name");
        assert_eq!(Params::read(None).link(), "?");
    }
}
