//! What GitHub Actions reads: environment files, workflow commands, comments on pull requests.

use std::{
    hash::{BuildHasher as _, Hasher as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use reqwest::{Client, Method, StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use super::text::line;

/// How many annotations GitHub shows of a step, the notice about the others included.
const MOST_ANNOTATIONS: usize = 10;
/// How many pages of comments are looked through.
const MOST_PAGES: u32 = 30;
const COMMENTS_A_PAGE: usize = 100;

/// What GitHub says of the workflow in environment variables.
pub(crate) struct Workflow {
    summary: Option<PathBuf>,
    output: Option<PathBuf>,
    api: String,
    repository: Option<String>,
    token: Option<SecretString>,
    event: Option<PathBuf>,
}

impl Workflow {
    /// The workflow that this process is part of.
    pub(crate) fn of_environment() -> Self {
        let read = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            summary: read("GITHUB_STEP_SUMMARY").map(PathBuf::from),
            output: read("GITHUB_OUTPUT").map(PathBuf::from),
            api: read("GITHUB_API_URL").unwrap_or_else(|| "https://api.github.com".to_owned()),
            repository: read("GITHUB_REPOSITORY"),
            token: read("GITHUB_TOKEN").map(SecretString::from),
            event: read("GITHUB_EVENT_PATH").map(PathBuf::from),
        }
    }

    /// Adds to the summary of the step.
    pub(crate) fn summarize(&self, markdown: &str) -> anyhow::Result<()> {
        match &self.summary {
            Some(path) => append(path, &format!("{markdown}\n")),
            None => Ok(()),
        }
    }

    /// Sets outputs of the step.
    pub(crate) fn set_outputs(&self, outputs: &[(&str, String)]) -> anyhow::Result<()> {
        let Some(path) = &self.output else {
            return Ok(());
        };
        let mut text = String::new();
        for (name, value) in outputs {
            // One line each: a line break would let a value set other outputs.
            text += &format!("{name}={}\n", line(value, 1000));
        }
        append(path, &text)
    }

    /// The pull request that the workflow is about, if it is about one.
    fn pull_request(&self) -> Option<u64> {
        let text = fs_err::read_to_string(self.event.as_ref()?).ok()?;
        let event: Value = serde_json::from_str(&text).ok()?;
        let number = event["pull_request"]["number"].as_u64();
        number.or_else(|| {
            event["issue"]["pull_request"].as_object()?;
            event["issue"]["number"].as_u64()
        })
    }

    /// Writes a comment on the pull request, over the one that has the same marker. A comment is made anew only if `is_news`. Says why there is none, if that
    /// is not as it should be.
    pub(crate) async fn comment(
        &self,
        body: &str,
        marker: &str,
        is_news: bool,
    ) -> Result<Option<Comment>, String> {
        let Some(number) = self.pull_request() else {
            return Ok(None);
        };
        let repository = self
            .repository
            .as_deref()
            .ok_or("GITHUB_REPOSITORY is not set")?;
        let token = self.token.as_ref().ok_or("GITHUB_TOKEN is not set")?;
        let github = GitHub {
            http: Client::builder()
                .user_agent("proctor")
                .build()
                .map_err(|error| error.to_string())?,
            base: format!("{}/repos/{repository}", self.api.trim_end_matches('/')),
            token,
        };
        let body = json!({ "body": body });
        if let Some(id) = github.find(number, marker).await? {
            let path = format!("/issues/comments/{id}");
            match github.send(Method::PATCH, &path, Some(&body)).await {
                Ok(_) => return Ok(Some(Comment::Updated)),
                // Somebody else's comment that looks like ours.
                Err((Some(StatusCode::FORBIDDEN | StatusCode::NOT_FOUND), _)) => {}
                Err((_, why)) => return Err(why),
            }
        } else if !is_news {
            return Ok(Some(Comment::NotNeeded));
        }
        let path = format!("/issues/{number}/comments");
        github
            .send(Method::POST, &path, Some(&body))
            .await
            .map_err(|(_, why)| why)?;
        Ok(Some(Comment::Created))
    }
}

/// What became of a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comment {
    /// There is one more.
    Created,
    /// The one of before says something else.
    Updated,
    /// There is none, and nothing to tell.
    NotNeeded,
}

struct GitHub<'a> {
    http: Client,
    base: String,
    token: &'a SecretString,
}

impl GitHub<'_> {
    /// The id of the comment that ends with a marker.
    async fn find(&self, number: u64, marker: &str) -> Result<Option<u64>, String> {
        for page in 1..=MOST_PAGES {
            let path = format!("/issues/{number}/comments?per_page={COMMENTS_A_PAGE}&page={page}");
            let found = self.send(Method::GET, &path, None).await;
            let found = found.map_err(|(_, why)| why)?;
            let comments = found.as_array().cloned().unwrap_or_default();
            let ours = comments.iter().find(|comment| {
                let body = comment["body"].as_str().unwrap_or_default();
                body.trim_end().ends_with(marker)
            });
            if let Some(id) = ours.and_then(|comment| comment["id"].as_u64()) {
                return Ok(Some(id));
            }
            if comments.len() < COMMENTS_A_PAGE {
                break;
            }
        }
        Ok(None)
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, (Option<StatusCode>, String)> {
        let mut request = self
            .http
            .request(method.clone(), format!("{}{path}", self.base))
            .bearer_auth(self.token.expose_secret())
            .header("accept", "application/vnd.github+json")
            .header("x-github-api-version", "2022-11-28");
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = request.send().await;
        let answer = answer.map_err(|error| (None, format!("GitHub does not answer: {error}")))?;
        let status = answer.status();
        let text = answer.text().await.unwrap_or_default();
        if status.is_success() {
            return Ok(serde_json::from_str(&text).unwrap_or_default());
        }
        let said: Value = serde_json::from_str(&text).unwrap_or_default();
        let said = said["message"].as_str().unwrap_or_default();
        Err((
            Some(status),
            format!("{method} of a comment: {status} {}", line(said, 200)),
        ))
    }
}

/// The marker by which a comment is found again.
pub(crate) fn marker(benchmark: &str, agent: &str) -> String {
    // Nothing in a name may end the HTML comment.
    let plain = |text: &str| -> String {
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        words.join("-").chars().take(100).collect()
    };
    let slug = benchmark.split('@').next().unwrap_or_default();
    format!("<!-- proctor:{}:{} -->", plain(slug), plain(agent))
}

/// Something to annotate.
pub(crate) struct Annotation {
    pub(crate) title: String,
    pub(crate) message: String,
    /// A file of the repository with a line of it.
    pub(crate) place: Option<(String, usize)>,
}

/// Workflow commands for annotations: as many as GitHub shows, and one notice about the others.
pub(crate) fn annotations(found: &[Annotation]) -> String {
    let shown = match found.len() > MOST_ANNOTATIONS {
        true => MOST_ANNOTATIONS - 1,
        false => found.len().min(MOST_ANNOTATIONS - 1),
    };
    let mut text = String::new();
    for one in &found[..shown] {
        let mut properties = String::new();
        if let Some((file, line)) = &one.place {
            properties = format!("file={},line={line},", property(file));
        }
        text += &format!(
            "::error {properties}title={}::{}\n",
            property(&line(&one.title, 200)),
            data(&super::text::lines(&one.message, 1000))
        );
    }
    let more = found.len() - shown;
    if more > 0 {
        text += &format!("::notice title=Proctor::and {more} more\n");
    }
    text
}

/// The text of a log in which no line of an agent is a workflow command.
pub(crate) fn inert(text: &str) -> String {
    let random = std::hash::RandomState::new().build_hasher().finish();
    let token = format!("proctor-{random:016x}");
    format!(
        "::stop-commands::{token}\n{}\n::{token}::\n",
        text.trim_end()
    )
}

fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

fn append(path: &Path, text: &str) -> anyhow::Result<()> {
    use std::io::Write as _;
    let mut file = fs_err::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .context("a file of the workflow cannot be opened")?;
    file.write_all(text.as_bytes())
        .context("a file of the workflow cannot be written")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotation(message: &str) -> Annotation {
        Annotation {
            title: "a:b,c".to_owned(),
            message: message.to_owned(),
            place: Some(("bench,marks/x.yaml".to_owned(), 7)),
        }
    }

    #[test]
    fn an_annotation_cannot_begin_another_command() {
        let text = annotations(&[annotation("100%\n::error::gotcha")]);
        assert_eq!(
            text,
            "::error file=bench%2Cmarks/x.yaml,line=7,title=a%3Ab%2Cc::100%25%0A::error::gotcha\n"
        );
    }

    #[test]
    fn more_than_ten_annotations_end_with_a_notice() {
        let many: Vec<Annotation> = (0..24).map(|_| annotation("x")).collect();
        let text = annotations(&many);
        assert_eq!(text.lines().count(), MOST_ANNOTATIONS);
        assert!(
            text.ends_with("::notice title=Proctor::and 15 more\n"),
            "{text}"
        );
        let ten: Vec<Annotation> = (0..10).map(|_| annotation("x")).collect();
        assert_eq!(annotations(&ten).lines().count(), MOST_ANNOTATIONS);
    }

    #[test]
    fn a_marker_is_one_html_comment_whatever_the_names() {
        let marker = marker("critical-lab@3", "night shift --> <b>");
        assert_eq!(marker, "<!-- proctor:critical-lab:night-shift-b -->");
    }

    #[test]
    fn a_log_is_wrapped_so_that_commands_in_it_are_text() {
        let text = inert("::error::gotcha\n");
        let lines: Vec<&str> = text.lines().collect();
        let token = lines[0].strip_prefix("::stop-commands::").unwrap();
        assert_eq!(lines[2], format!("::{token}::"));
    }
}
