//! `proctor doctor`.

use std::fmt::Write as _;

use anyhow::Context as _;
use clap::Args;
use proctor_devbox::{Factory, Finding, Report, Settings, Severity};
use proctor_engine::Extensions;
use serde_json::{Value, json};

use crate::{exit::Exit, terminal};

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) settings: crate::settings::Settings,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) async fn run(arguments: Doctor) -> anyhow::Result<Exit> {
    let data = arguments.settings.complete()?.data_directory();
    fs_err::create_dir_all(&data)?;
    // Beside the server's own, which may be running: the same file system, another directory.
    let place = tempfile::Builder::new()
        .prefix("doctor-")
        .tempdir_in(&data)
        .with_context(|| format!("nothing can be made in {}", data.display()))?;
    let settings = Settings {
        data: place.path().to_owned(),
        exact_disks: false,
        output_secret: None,
        server: Default::default(),
        totals: Default::default(),
    };
    let mut reports = Vec::new();
    for factory in Extensions::shipped().backends.factories() {
        reports.push((*factory, examine(factory, &settings).await));
    }
    let usable = reports.iter().any(|(_, report)| report.usable());
    if arguments.json {
        let backends: Vec<Value> = reports.iter().map(as_json).collect();
        println!("{}", json!({"usable": usable, "backends": backends}));
    } else {
        for (factory, report) in &reports {
            terminal::print(for_people(factory, report));
        }
    }
    Ok(if usable { Exit::Fine } else { Exit::No })
}

/// What one backend finds, or that it cannot even be opened.
async fn examine(factory: &Factory, settings: &Settings) -> Report {
    match (factory.open)(settings) {
        Ok(backend) => {
            let report = backend.doctor().await;
            backend.drain().await;
            report
        }
        Err(error) => Report {
            backend: factory.name.to_owned(),
            findings: vec![Finding {
                what: "opening the backend".to_owned(),
                severity: Severity::Blocking,
                found: format!("{:#}", anyhow::Error::from(error)),
                costs: Some("no devboxes".to_owned()),
            }],
        },
    }
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Fine => "fine",
        Severity::Weaker => "weaker",
        Severity::Blocking => "blocking",
    }
}

fn as_json((factory, report): &(Factory, Report)) -> Value {
    let findings: Vec<Value> = report
        .findings
        .iter()
        .map(|finding| {
            json!({
                "what": finding.what,
                "severity": word(finding.severity),
                "found": finding.found,
                "costs": finding.costs,
            })
        })
        .collect();
    json!({
        "backend": report.backend,
        "about": factory.about,
        "usable": report.usable(),
        "findings": findings,
    })
}

fn for_people(factory: &Factory, report: &Report) -> String {
    let verdict = if report.usable() {
        "devboxes work here"
    } else {
        "devboxes do not work here"
    };
    let mut text = format!("{}: {verdict} ({})\n", report.backend, factory.about);
    for finding in &report.findings {
        let Finding {
            what,
            severity,
            found,
            costs,
        } = finding;
        let _ = writeln!(text, "  {:<9} {what}: {found}", word(*severity));
        if let Some(costs) = costs {
            let _ = writeln!(text, "            {costs}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_with_what_it_costs() {
        let factory = &Extensions::shipped().backends.factories()[0].to_owned();
        let mut report = Report {
            backend: "local".to_owned(),
            findings: vec![Finding {
                what: "memory limit".to_owned(),
                severity: Severity::Weaker,
                found: "no writable cgroup".to_owned(),
                costs: Some("each process by itself is limited".to_owned()),
            }],
        };
        let text = for_people(factory, &report);
        assert!(text.starts_with("local: devboxes work here"), "{text}");
        assert!(
            text.contains("weaker    memory limit: no writable cgroup\n            each process")
        );
        report.findings[0].severity = Severity::Blocking;
        assert!(for_people(factory, &report).contains("do not work"));
        let value = as_json(&(*factory, report));
        assert_eq!(value["usable"], false);
        assert_eq!(value["findings"][0]["severity"], "blocking");
    }
}
