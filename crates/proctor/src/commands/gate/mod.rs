//! `proctor gate`: a verdict, an exit code, and what build servers want to see of it.

pub(crate) mod arguments;
mod init;
mod logs;

use std::collections::BTreeMap;

use anyhow::Context as _;
use proctor_benchmarks::Api;
use proctor_core::{id::kinds::RunKind, policy::Policy, reader::Wording};
use serde_json::Value;

use self::arguments::{
    CommentWhen, Gate as Arguments, GateAction, GateRun, Inconclusive, JunitLevel,
};
use super::{
    compare::{read, refused, versioned},
    selection::selection,
    show::either,
};
use crate::{
    exit::{Exit, WrongUse},
    report::{
        answers::{Gate, Results, Verdict},
        badge,
        github::{Annotation, Comment, Workflow, annotations, inert, marker},
        junit,
        links::Links,
        markdown, marks,
        run::axes,
        tables,
        text::{block, told},
    },
    terminal,
};

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    match arguments.action {
        Some(GateAction::Init { file, force }) => init::run(&file, force),
        None => {
            let Some(run) = arguments.run else {
                return Err(WrongUse(
                    "name the run that is to be let through: proctor gate RUN".to_owned(),
                )
                .into());
            };
            decide(&run, arguments.options).await
        }
    }
}

async fn decide(run: &str, options: GateRun) -> anyhow::Result<Exit> {
    let workflow = options.github.then(Workflow::of_environment);
    let decided = ask(run, &options).await;
    let (answer, found) = match decided {
        Ok(decided) => decided,
        Err(error) => {
            // Whoever looks at the build sees why there is no verdict.
            write_refusal(run, &options, &error)?;
            if let Some(workflow) = &workflow {
                workflow.summarize(&markdown::refusal(&format!("{error:#}")))?;
                let code = Exit::of(&error).code().to_string();
                workflow.set_outputs(&[("verdict", "REFUSED".to_owned()), ("exit-code", code)])?;
            }
            return Err(error);
        }
    };
    let exit = exit(found.verdict, options.inconclusive);
    if options.json {
        terminal::print(format_args!("{}\n", versioned(answer)));
    } else {
        let said = match options.markdown {
            true => markdown::gate(&found, links(&options)),
            false => tables::gate(&found),
        };
        let said = marks::shown(said, options.ascii);
        match options.github && !options.markdown {
            true => terminal::print(inert(&said)),
            false => terminal::print(said),
        }
    }
    write_files(&options, &found).await?;
    if let Some(workflow) = &workflow {
        tell_github(workflow, &options, &found, exit).await?;
    }
    Ok(exit)
}

/// Writes why there is no verdict into the files that were asked for, so that none of an earlier gate is taken for this one's.
fn write_refusal(run: &str, options: &GateRun, error: &anyhow::Error) -> anyhow::Result<()> {
    let why = format!("{error:#}");
    if let Some(path) = &options.junit {
        let kind = match Exit::of(error) {
            Exit::WrongUse => "refused",
            _ => "platform",
        };
        let xml = junit::refusal(run, kind, &why)?;
        fs_err::write(path, xml).context("the JUnit report cannot be written")?;
    }
    if let Some(path) = &options.summary {
        let text = markdown::refusal(&why);
        fs_err::write(path, text).context("the summary cannot be written")?;
    }
    if let Some(path) = &options.badge {
        let svg = badge::badge("proctor", "no verdict", "#5f6368");
        fs_err::write(path, svg).context("the badge cannot be written")?;
    }
    Ok(())
}

/// Asks the server for a verdict.
async fn ask(run: &str, options: &GateRun) -> anyhow::Result<(Value, Gate)> {
    let policy = read_policy(&options.policy)?;
    let api = api(options)?;
    let mut body = selection(run)?;
    body["policy"] = policy;
    body["even_though"] = options.even_though.into();
    if let Some(baseline) = &options.baseline {
        body["baseline"] = selection(baseline)?;
    }
    let answer = api.post("/gates", &body).await.map_err(refused)?;
    let found = read(answer.clone())?;
    Ok((answer, found))
}

fn links(options: &GateRun) -> Links<'_> {
    Links::to(&options.server.server)
}

fn api(options: &GateRun) -> anyhow::Result<Api> {
    let access = &options.server;
    let api = Api::new(&access.server, access.key()?);
    api.map_err(|bad| WrongUse(bad.to_string()).into())
}

/// Reads a policy, and everything that is wrong with it.
fn read_policy(path: &std::path::Path) -> anyhow::Result<Value> {
    let name = path.display();
    let text = fs_err::read_to_string(path)
        .map_err(|error| WrongUse(format!("{error}; `proctor gate init` writes a policy")))?;
    let read: toml::Table =
        toml::from_str(&text).map_err(|error| WrongUse(format!("{name} is not TOML: {error}")))?;
    let document = serde_json::to_value(read).context("the policy cannot be sent")?;
    Policy::read(&document, Wording::Request).map_err(|problems| {
        let said: Vec<String> = problems.iter().map(|one| format!("  {one}")).collect();
        WrongUse(format!("{name} is not right:\n{}", said.join("\n")))
    })?;
    Ok(document)
}

fn exit(verdict: Verdict, inconclusive: Inconclusive) -> Exit {
    match (verdict, inconclusive) {
        (Verdict::Pass, _) | (Verdict::Inconclusive, Inconclusive::Pass) => Exit::Fine,
        (Verdict::Fail, _) | (Verdict::Inconclusive, Inconclusive::Fail) => Exit::No,
        (Verdict::Inconclusive, Inconclusive::Own) => Exit::Inconclusive,
    }
}

/// Writes what was asked for as files.
async fn write_files(options: &GateRun, found: &Gate) -> anyhow::Result<()> {
    if let Some(path) = &options.junit {
        let api = api(options)?;
        let mut runs: Vec<(String, Results)> = Vec::new();
        let mut on_axes: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for run in &found.b.runs {
            let id = either::<RunKind>(run).map_err(|bad| WrongUse(bad.to_string()))?;
            let path = format!("/benchmark-runs/{id}/results?criteria=true");
            let answer = api.get(&path).await.map_err(refused)?;
            runs.push((run.clone(), read(answer)?));
            let whole = api.get(&format!("/benchmark-runs/{id}")).await;
            for (axis, score) in axes(&whole.map_err(refused)?) {
                on_axes.entry(axis).or_default().push(score);
            }
        }
        let on_axes: Vec<(String, f64)> = on_axes
            .into_iter()
            .map(|(axis, scores)| (axis, scores.iter().sum::<f64>() / scores.len() as f64))
            .collect();
        let logs = logs::of_failures(&api, &runs).await;
        let of = junit::Of {
            benchmark: &found.b.benchmark,
            agent: found.b.agent.as_deref().unwrap_or("agent"),
            digest: &found.b.digest,
            runs: &runs,
            score: found.b.summary.score,
            verdict: Some(found.verdict.as_str()),
            axes: &on_axes,
            server: &options.server.server,
            gate: Some(&found.id),
            logs: &logs,
        };
        let level = match options.junit_level {
            JunitLevel::Task => junit::Level::Task,
            JunitLevel::Criterion => junit::Level::Criterion,
        };
        let xml = junit::write(&of, level)?;
        fs_err::write(path, xml).context("the JUnit report cannot be written")?;
    }
    if let Some(path) = &options.summary {
        let text = markdown::gate(found, links(options));
        fs_err::write(path, text).context("the summary cannot be written")?;
    }
    if let Some(path) = &options.badge {
        let colour = match found.verdict {
            Verdict::Pass => "#2e7d32",
            Verdict::Fail => "#c62828",
            Verdict::Inconclusive => "#8a6d00",
        };
        let svg = badge::badge(&found.b.benchmark, &badge_text(found), colour);
        fs_err::write(path, svg).context("the badge cannot be written")?;
    }
    Ok(())
}

fn badge_text(found: &Gate) -> String {
    match found.b.summary.score {
        Some(score) => format!("{} {:.1} %", found.verdict.as_str(), 100.0 * score),
        None => found.verdict.as_str().to_owned(),
    }
}

/// The summary of the step, its outputs, annotations, and a comment on the pull request.
async fn tell_github(
    workflow: &Workflow,
    options: &GateRun,
    found: &Gate,
    exit: Exit,
) -> anyhow::Result<()> {
    let agent = found.b.agent.as_deref().unwrap_or("agent");
    let marker = marker(&found.b.benchmark, agent);
    let comment = match options.comment {
        CommentWhen::Never => Ok(None),
        when => {
            let is_news = when == CommentWhen::Always || is_news(found);
            let body = markdown::comment(found, links(options), &marker);
            workflow.comment(&body, &marker, is_news).await
        }
    };
    let mut summary = markdown::gate(found, links(options));
    match comment {
        Ok(Some(Comment::Created)) => eprintln!("commented on the pull request"),
        Ok(Some(Comment::Updated)) => eprintln!("updated the comment on the pull request"),
        Ok(Some(Comment::NotNeeded) | None) => {}
        Err(why) => {
            let said = format!(
                "The pull request has no comment: {why}. It takes the permission `pull-requests: write`, which pull requests from forks do not have."
            );
            eprintln!("{said}");
            summary += &format!("\n{}\n", block(&said, 500));
        }
    }
    workflow.summarize(&summary)?;
    workflow.set_outputs(&[
        ("run-id", found.b.runs.join(",")),
        ("gate-id", found.id.clone()),
        ("url", links(options).gate(&found.id)),
        (
            "score",
            found
                .b
                .summary
                .score
                .map_or_else(String::new, |score| score.to_string()),
        ),
        ("verdict", found.verdict.as_str().to_owned()),
        ("exit-code", exit.code().to_string()),
    ])?;
    terminal::print(annotations(&to_annotate(options, found)));
    Ok(())
}

/// Whether a pull request wants to hear of it: a change, a failure, something void.
fn is_news(found: &Gate) -> bool {
    let flips = found.comparison.as_ref().map_or(0, |one| one.flips_total);
    found.verdict != Verdict::Pass || flips > 0 || found.b.summary.void > 0
}

/// The lines that did not pass and the tasks that got worse, where they are in the benchmark's file.
fn to_annotate(options: &GateRun, found: &Gate) -> Vec<Annotation> {
    let lines = found
        .lines
        .iter()
        .filter(|one| one.verdict == Verdict::Fail);
    let mut all: Vec<Annotation> = lines
        .map(|one| Annotation {
            title: format!("Proctor: {}", one.asks),
            message: one.sentence.clone(),
            place: None,
        })
        .collect();
    let file = options.benchmark_file.as_ref().and_then(|path| {
        let text = fs_err::read_to_string(path).ok()?;
        Some((path.display().to_string(), text))
    });
    let flips = found.comparison.iter().flat_map(|one| &one.flips);
    for flip in flips.filter(|flip| flip.difference < 0.0) {
        let criterion = flip.criteria.as_deref().unwrap_or_default().first();
        let label = criterion.map_or(flip.name.as_str(), |one| one.label.as_str());
        let place = file.as_ref().and_then(|(name, text)| {
            let line = text.lines().position(|line| line.contains(label))?;
            Some((name.clone(), line + 1))
        });
        let details = criterion.map_or("", |one| one.details.as_str());
        all.push(Annotation {
            title: format!("Proctor: {} is worse", flip.name),
            message: format!(
                "{:.2} before, {:.2} now. {}",
                flip.a,
                flip.b,
                told(label, details)
            ),
            place,
        });
    }
    all
}
