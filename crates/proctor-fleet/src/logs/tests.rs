use super::*;

fn entry(execution: &str, shell: Option<&str>, what: What) -> LogEntry {
    LogEntry {
        at: 1,
        source: Source::Exec,
        execution: Some(execution.to_owned()),
        shell: shell.map(str::to_owned),
        what,
    }
}

fn started(execution: &str) -> LogEntry {
    let command = "true".to_owned();
    entry(execution, None, What::Started { command })
}

#[test]
fn a_log_is_found_again_and_half_an_entry_is_passed_over() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let log = Log::open(path.clone()).unwrap();
    log.add(&[started("a"), started("b")]);
    drop(log);
    let mut text = fs_err::read_to_string(&path).unwrap();
    text.push_str("{\"at\":1,\"sou");
    fs_err::write(&path, text).unwrap();
    let log = Log::open(path.clone()).unwrap();
    log.add(&[started("c")]);
    let (entries, end) = read(&path, 0).unwrap();
    assert_eq!(entries, [started("a"), started("b"), started("c")]);
    assert_eq!(end, fs_err::metadata(log.path()).unwrap().len());
    assert_eq!(read(&path, end).unwrap(), (vec![], end));
}

#[test]
fn a_log_tells_how_far_executions_were_followed_and_which_still_wait() {
    let line = |error, end| What::Line {
        error,
        text: "x".to_owned(),
        end,
    };
    let queued = |command: &str| What::Queued {
        command: command.to_owned(),
        stdin: false,
    };
    let entries = [
        entry("a", Some("main"), queued("cd /")),
        entry("b", Some("main"), queued("pwd")),
        entry(
            "a",
            Some("main"),
            What::Started {
                command: "cd /".to_owned(),
            },
        ),
        entry("a", Some("main"), line(false, 5)),
        entry("a", Some("main"), line(true, 7)),
        entry("a", Some("main"), What::Ended { status: 3 }),
    ];
    let traces = Traces::of(&entries);
    let a = &traces.begun["a"];
    assert_eq!((a.stdout, a.stderr, a.ended), (5, 7, Some(3)));
    assert_eq!(a.shell.as_deref(), Some("main"));
    let waiting: Vec<_> = traces
        .queued
        .iter()
        .map(|waiting| waiting.command.as_str())
        .collect();
    assert_eq!(waiting, ["pwd"]);
    assert!(!entries[0].is_shown());
}

#[test]
fn entries_are_filtered_by_execution_and_shell() {
    let filter = LogFilter {
        execution: Some("a".to_owned()),
        shell: None,
    };
    assert!(filter.admits(&started("a")));
    assert!(!filter.admits(&started("b")));
    let filter = LogFilter {
        execution: None,
        shell: Some("main".to_owned()),
    };
    assert!(!filter.admits(&started("a")));
    assert!(LogFilter::default().admits(&started("a")));
}
