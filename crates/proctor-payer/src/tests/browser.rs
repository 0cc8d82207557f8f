//! A browser without scripts, as far as the pages need one.

use http::{HeaderValue, Method, header};
use proctor_simulation::exchange::Request;
use serde_json::Value;

use super::support::*;

/// A browser: an address, cookies, and the page it shows.
pub(super) struct Browser {
    pub(super) bench: Bench,
    pub(super) cookie: Option<String>,
    /// The address below the playground, as relative links see it.
    pub(super) path: String,
    pub(super) status: u16,
    pub(super) page: String,
}

impl Browser {
    pub(super) fn new(config: Value) -> Self {
        Self {
            bench: Bench::of(blueprint(config)),
            cookie: None,
            path: String::new(),
            status: 0,
            page: String::new(),
        }
    }

    pub(super) fn send(&mut self, method: Method, target: &str, form: Option<&[(&str, &str)]>) {
        let mut request = Request::new(method, target, START);
        if let Some(fields) = form {
            let body = form_urlencoded::Serializer::new(String::new())
                .extend_pairs(fields)
                .finish();
            request = request.with_body(body);
            let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
            request.headers.insert(header::CONTENT_TYPE, kind);
        }
        if let Some(cookie) = &self.cookie {
            let value = HeaderValue::from_str(&format!("other=1; {cookie}")).unwrap();
            request.headers.insert(header::COOKIE, value);
        }
        let response = self.bench.send(request);
        if let Some(set) = response.headers.get(header::SET_COOKIE) {
            let pair = set.to_str().unwrap().split(';').next().unwrap().to_owned();
            self.cookie = Some(pair).filter(|pair| !pair.ends_with('='));
        }
        self.path = target.split('?').next().unwrap().to_owned();
        self.status = response.status.as_u16();
        self.page = String::from_utf8(response.body.to_vec()).unwrap();
        self.assert_accessible();
        if let Some(place) = response.headers.get(header::LOCATION) {
            assert_eq!(self.status, 303);
            let next = self.resolve(place.to_str().unwrap());
            self.send(Method::GET, &next, None);
        }
    }

    /// Every field that people fill in has a label, and every id stands once: what browser agents,
    /// screen readers and test tools go by.
    fn assert_accessible(&self) {
        let ids: Vec<&str> = self
            .page
            .split(" id=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap())
            .collect();
        for (index, id) in ids.iter().enumerate() {
            assert!(!ids[..index].contains(id), "the id {id} stands twice");
        }
        for start in ["<input ", "<textarea ", "<select "] {
            for rest in self.page.split(start).skip(1) {
                let tag = rest.split('>').next().unwrap();
                if tag.contains("type=\"hidden\"") || tag.contains("type=\"radio\"") {
                    continue;
                }
                let id = tag
                    .split("id=\"")
                    .nth(1)
                    .unwrap()
                    .split('"')
                    .next()
                    .unwrap();
                let label = format!("<label for=\"{id}\">");
                assert!(self.page.contains(&label), "{tag} has no label");
            }
        }
    }

    /// A relative address from the page that is shown.
    pub(super) fn resolve(&self, relative: &str) -> String {
        let mut parts: Vec<&str> = self.path.split('/').collect();
        parts.pop();
        let mut rest = relative;
        loop {
            if let Some(up) = rest.strip_prefix("../") {
                assert!(parts.pop().is_some(), "{relative} leaves the playground");
                rest = up;
            } else if let Some(here) = rest.strip_prefix("./") {
                rest = here;
            } else {
                break;
            }
        }
        parts.push(rest);
        parts.join("/")
    }

    pub(super) fn open(&mut self, target: &str) {
        self.send(Method::GET, target, None);
    }

    /// Follows the link with this text.
    pub(super) fn click(&mut self, text: &str) {
        let end = self
            .page
            .find(&format!(">{text}</a>"))
            .unwrap_or_else(|| panic!("no link {text}:\n{}", self.page));
        let start = self.page[..end].rfind("href=\"").unwrap() + 6;
        let href = self.page[start..]
            .split('"')
            .next()
            .unwrap()
            .replace("&amp;", "&");
        let target = self.resolve(&href);
        self.open(&target);
    }

    /// Sends the form whose button has this text, with these fields and its hidden ones.
    pub(super) fn press(&mut self, button: &str, fields: &[(&str, &str)]) {
        let end = self
            .page
            .find(&format!(">{button}</button>"))
            .unwrap_or_else(|| panic!("no button {button}:\n{}", self.page));
        let start = self.page[..end].rfind("<form").unwrap();
        let form = self.page[start..end].to_owned();
        let attribute = |text: &str, name: &str| {
            let from = text.find(&format!("{name}=\""))? + name.len() + 2;
            Some(text[from..].split('"').next()?.to_owned())
        };
        let mut all: Vec<(String, String)> = form
            .split("<input type=\"hidden\"")
            .skip(1)
            .map(|rest| {
                (
                    attribute(rest, "name").unwrap(),
                    attribute(rest, "value").unwrap(),
                )
            })
            .collect();
        all.extend(
            fields
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        let target = self.resolve(&attribute(&form, "action").unwrap());
        let pairs: Vec<(&str, &str)> = all
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        if attribute(&form, "method").unwrap() == "get" {
            let query = form_urlencoded::Serializer::new(String::new())
                .extend_pairs(&pairs)
                .finish();
            self.send(Method::GET, &format!("{target}?{query}"), None);
        } else {
            self.send(Method::POST, &target, Some(&pairs));
        }
    }

    pub(super) fn sign_in(&mut self) {
        self.open("portal");
        assert!(self.path.ends_with("portal/login"), "{}", self.path);
        let (user, password) = (self.bench.desk.username(), self.bench.desk.password());
        self.press("Sign in", &[("username", &user), ("password", &password)]);
        assert_eq!((self.status, self.path.as_str()), (200, "portal/requests"));
    }

    pub(super) fn shows(&self, text: &str) {
        assert!(
            self.page.contains(text),
            "{text:?} is not on the page:\n{}",
            self.page
        );
    }

    pub(super) fn row(&self) -> Value {
        self.bench.rows("prior_auth_requests").pop().unwrap()
    }
}
