//! What all pages have around their content: the bar, the account, the theme, the scripts.

use crate::{assets, html};

/// The parts of the site, in the order of the bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Nothing in the bar.
    None,
    /// `/ui/`.
    Overview,
    /// `/ui/runs` and what is below a run.
    Runs,
    /// `/ui/benchmarks` and what is below one.
    Benchmarks,
    /// `/ui/compare` and comparisons that were kept.
    Compare,
    /// `/ui/leaderboards` and the boards of benchmarks.
    Leaderboards,
    /// `/ui/jobs`.
    Jobs,
    /// `/ui/devboxes`.
    Devboxes,
    /// `/ui/docs`.
    Docs,
    /// `/ui/settings`, which the account menu leads to.
    Settings,
}

/// An entry of the bar.
pub struct NavEntry {
    /// The part it leads to.
    pub section: Section,
    /// Where that is.
    pub href: &'static str,
    /// What it is called.
    pub label: &'static str,
    /// The letter that leads there after `g`.
    pub key: &'static str,
}

/// The bar.
pub const NAV: &[NavEntry] = &[
    NavEntry {
        section: Section::Benchmarks,
        href: "/ui/benchmarks",
        label: "Benchmarks",
        key: "b",
    },
    NavEntry {
        section: Section::Runs,
        href: "/ui/runs",
        label: "Runs",
        key: "r",
    },
    NavEntry {
        section: Section::Compare,
        href: "/ui/compare",
        label: "Compare",
        key: "c",
    },
    NavEntry {
        section: Section::Jobs,
        href: "/ui/jobs",
        label: "Jobs",
        key: "j",
    },
    NavEntry {
        section: Section::Leaderboards,
        href: "/ui/leaderboards",
        label: "Leaderboards",
        key: "l",
    },
    NavEntry {
        section: Section::Devboxes,
        href: "/ui/devboxes",
        label: "Devboxes",
        key: "d",
    },
    NavEntry {
        section: Section::Docs,
        href: "/ui/docs",
        label: "Docs",
        key: "h",
    },
];

/// Light, dark, or as the system says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// As the system says.
    #[default]
    System,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

impl Theme {
    /// The cookie that remembers the choice.
    pub const COOKIE: &str = "proctor-theme";

    /// The theme with this word; any other is the system's.
    pub fn from_word(word: &str) -> Self {
        match word {
            "light" => Self::Light,
            "dark" => Self::Dark,
            _ => Self::System,
        }
    }

    /// The word, for the attribute that the style sheet looks at.
    pub const fn word(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

/// Who is signed in, for the account menu.
#[derive(Clone, Debug)]
pub struct Account {
    /// The organization's name.
    pub organization: String,
    /// What the key is: `organization key` or `Solver key`.
    pub kind: &'static str,
    /// What every form that changes something must send back.
    pub form_token: String,
}

impl Account {
    /// The first letter of the organization's name.
    pub fn initial(&self) -> html::Html {
        let first = self
            .organization
            .chars()
            .find(|letter| letter.is_alphanumeric());
        html::text(first.unwrap_or('P').to_string())
    }
}

/// What is around the content of a page.
#[derive(Clone, Debug)]
pub struct Shell {
    /// What the page is called, for the browser's tab and the heading of simple pages.
    pub title: String,
    /// Which entry of the bar is marked.
    pub section: Section,
    /// Who is signed in, if anybody is.
    pub account: Option<Account>,
    /// The theme that the reader chose.
    pub theme: Theme,
    /// What `/ui/live` is asked to follow, such as `run:br_…`.
    pub live: Option<String>,
}

impl Shell {
    /// Nothing around a page.
    pub(crate) fn bare() -> Self {
        Self {
            title: String::new(),
            section: Section::None,
            account: None,
            theme: Theme::System,
            live: None,
        }
    }

    /// The address of an asset.
    pub fn asset(&self, name: &str) -> String {
        assets::url(name)
    }

    /// The bar.
    pub fn nav(&self) -> &'static [NavEntry] {
        NAV
    }

    /// The same page, which follows something live.
    #[must_use]
    pub fn following(mut self, of: impl Into<String>) -> Self {
        self.live = Some(of.into());
        self
    }

    /// The field that every form that changes something has.
    pub fn form_token(&self) -> html::Html {
        let token = self.account.as_ref().map(|account| &account.form_token);
        let token = token.map(String::as_str).unwrap_or_default();
        html::Html::trusted(format!(
            "<input type=hidden name=token value=\"{}\">",
            html::text(token)
        ))
    }
}
