use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn instructions(text: &str) -> Vec<Instruction> {
    let text = format!("FROM host\n{text}");
    let parsed = Dockerfile::parse(&text).unwrap();
    let stage = parsed.stages.into_iter().next().unwrap();
    stage
        .instructions
        .into_iter()
        .map(|located| located.instruction)
        .collect()
}

fn told(text: &str) -> String {
    Dockerfile::parse(text).unwrap_err().to_string()
}

fn shell(text: &str) -> Instruction {
    Instruction::Run(CommandForm::Shell(text.to_owned()))
}

#[test]
fn comments_go_and_continued_lines_become_one() {
    let text = "# syntax=docker/dockerfile:1\r\n\r\nFROM host AS base\r\n# about it\r\nRUN one \\\r\n  # between\r\n\r\n    && two \\ \r\n    && three\r\nRUN four";
    let parsed = Dockerfile::parse(text).unwrap();
    let stage = &parsed.stages[0];
    assert_eq!((stage.line, stage.from.as_str()), (3, "host"));
    assert_eq!(stage.name.as_deref(), Some("base"));
    let lines: Vec<_> = stage.instructions.iter().map(|one| one.line).collect();
    assert_eq!(lines, [5, 10]);
    assert_eq!(
        stage.instructions[0].instruction,
        shell("one && two && three")
    );
    assert_eq!(stage.instructions[1].instruction, shell("four"));
}

#[test]
fn commands_have_a_shell_form_and_an_exec_form() {
    assert_eq!(
        instructions("run [\"a\", \"b c\"]\nRUN [ -f x ] && y\nRUN [1]"),
        [
            Instruction::Run(CommandForm::Exec(vec!["a".to_owned(), "b c".to_owned()])),
            shell("[ -f x ] && y"),
            shell("[1]"),
        ]
    );
}

#[test]
fn variables_are_set_in_either_way() {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        instructions("ENV A=1 B=\"two words\" C=x\\ y\nENV OLD  some text"),
        [
            Instruction::Env(vec![
                pair("A", "1"),
                pair("B", "\"two words\""),
                pair("C", "x\\ y"),
            ]),
            Instruction::Env(vec![pair("OLD", "some text")]),
        ]
    );
}

#[test]
fn copies_have_sources_a_target_and_two_flags() {
    let copied =
        instructions("COPY --chown=user:user --chmod=755 a \"b c\" /d/\nADD [\"x y\", \"/z\"]");
    let Instruction::Copy(copy) = &copied[0] else {
        panic!("{copied:?}");
    };
    assert_eq!(copy.sources, ["a", "\"b c\""]);
    assert_eq!((copy.target.as_str(), copy.chmod), ("/d/", Some(0o755)));
    assert_eq!(copy.chown.as_deref(), Some("user:user"));
    let Instruction::Add(add) = &copied[1] else {
        panic!("{copied:?}");
    };
    assert_eq!(
        (add.sources[0].as_str(), add.target.as_str()),
        ("x y", "/z")
    );
}

#[test]
fn arguments_may_stand_before_from() {
    let parsed = Dockerfile::parse("ARG BASE=host\nFROM ${BASE}\nARG X Y=1").unwrap();
    assert_eq!(parsed.before[0].1.name, "BASE");
    let stage = &parsed.stages[0];
    assert_eq!(stage.from, "${BASE}");
    assert!(matches!(&stage.instructions[0].instruction, Instruction::Arg(two) if two.len() == 2));
}

#[test]
fn here_documents_are_scripts_parts_of_commands_or_files() {
    let read = instructions(
        "RUN <<EOF\n# not a comment\necho a \\\n  b\nEOF\nRUN <<-'X'\n\t#!/usr/bin/env python3\n\tprint(1)\n\tX\n\
         RUN cat <<EOF > /a && echo done\nRUN no\nEOF\nCOPY --chmod=755 <<one <<\"two\" x /d/\n$A\none\n$A\ntwo\nENV A=1",
    );
    assert_eq!(read[0], shell("# not a comment\necho a \\\n  b\n"));
    assert_eq!(
        read[1],
        Instruction::Run(CommandForm::Script(
            "#!/usr/bin/env python3\nprint(1)\n".to_owned()
        ))
    );
    assert_eq!(read[2], shell("cat <<EOF > /a && echo done\nRUN no\nEOF\n"));
    let Instruction::Copy(copy) = &read[3] else {
        panic!("{read:?}");
    };
    assert_eq!(
        (copy.sources.as_slice(), copy.target.as_str()),
        (["x".to_owned()].as_slice(), "/d/")
    );
    let documents: Vec<_> = copy
        .documents
        .iter()
        .map(|one| (one.name.as_str(), one.content.as_str(), one.expands))
        .collect();
    assert_eq!(documents, [("one", "$A\n", true), ("two", "$A\n", false)]);
    assert!(matches!(read[4], Instruction::Env(_)));
}

#[test]
fn stages_have_numbers_and_names() {
    let text = "FROM --platform=linux/amd64 a AS Build\nRUN x\nFROM build\nCOPY --from=Build --link /x /y\nFROM b as c";
    let parsed = Dockerfile::parse(text).unwrap();
    assert_eq!(parsed.stages.len(), 3);
    assert_eq!(parsed.stages[0].platform.as_deref(), Some("linux/amd64"));
    assert_eq!(parsed.stage_named("BUILD", 3), Some(0));
    assert_eq!(parsed.stage_named("1", 3), Some(1));
    assert_eq!(parsed.stage_named("1", 1), None);
    assert_eq!(parsed.stage_named("c", 2), None);
}

#[test]
fn what_only_says_something_of_the_image_is_kept() {
    let read = instructions(
        "LABEL a.b=\"c d\" e=f\nLABEL \"x y\"=z\nCMD [\"a\"]\nENTRYPOINT [\"/e\", \"b\"]\nENTRYPOINT /e b\nEXPOSE 80/tcp\n\
         VOLUME [\"/d\"]\nHEALTHCHECK --interval=5s CMD curl -f x\nSTOPSIGNAL SIGINT\nMAINTAINER Me <me@x>\nSHELL [\"/bin/bash\", \"-c\"]",
    );
    assert_eq!(read.len(), 11);
    assert_eq!(
        read[1],
        Instruction::Label(vec![("x y".to_owned(), "z".to_owned())])
    );
    assert_eq!(
        read[4],
        Instruction::Entrypoint(CommandForm::Shell("/e b".to_owned()))
    );
    assert_eq!(read[5], Instruction::Note("expose", "80/tcp".to_owned()));
    assert_eq!(
        read[10],
        Instruction::Shell(vec!["/bin/bash".to_owned(), "-c".to_owned()])
    );
}

#[test]
fn what_is_not_understood_is_refused_with_its_line() {
    for (text, line, part) in [
        ("", 1, "no FROM"),
        ("# only\n", 1, "no FROM"),
        ("RUN x", 1, "RUN before FROM"),
        ("FROM a AS x\nFROM b AS X", 2, "another stage 'x'"),
        ("FROM a AS 1x", 1, "name of a stage"),
        ("FROM --pull a", 1, "--pull"),
        ("FROM a\n\nONBUILD RUN x", 3, "ONBUILD"),
        ("FROM a\nSHELL /bin/bash", 2, "JSON"),
        ("FROM a\nLABEL x", 2, "no value"),
        ("FROM a b", 1, "AS"),
        ("FROM", 1, "without"),
        ("FROM a\nRUN", 2, "without anything"),
        ("FROM a\nRUN --mount=type=cache x", 2, "no flags"),
        ("FROM a\nRUN cat <<EOF\nx\nEO", 2, "'EOF' is not closed"),
        ("FROM a\nCOPY --from=b <<E y\nE", 2, "no stage"),
        ("FROM a\nADD --from=b x y", 2, "--from"),
        ("FROM a\nCOPY --parents x y", 2, "--parents"),
        ("FROM a\nCOPY x", 2, "at least one source"),
        ("FROM a\nCOPY \"x y", 2, "quote"),
        ("FROM a\nADD https://a.b/c /d", 2, "build context"),
        ("FROM a\nCOPY --chmod=7777 x y", 2, "--chmod"),
        ("FROM a\nENV X", 2, "no value"),
        ("FROM a\nENV 1=2", 2, "no name"),
        ("FROM a\nARG a-b", 2, "no name"),
        ("# escape=`\nFROM a", 1, "escape"),
        ("FROM a\nRUN a\0b", 2, "NUL"),
        ("FROM a\nRUN x \\\n y\nNONSENSE here", 4, "NONSENSE"),
    ] {
        let told = told(text);
        assert!(
            told.starts_with(&format!("Dockerfile line {line}: ")),
            "{text:?}: {told}"
        );
        assert!(told.contains(part), "{text:?}: {told}");
    }
}

#[test]
fn words_expand_as_a_shell_would() {
    let known: BTreeMap<_, _> = [("A", "one"), ("E", ""), ("B_2", "two")].into();
    let lookup = |name: &str| known.get(name).map(|value| (*value).to_owned());
    for (word, text) in [
        ("plain", "plain"),
        ("$A/${A}x$B_2", "one/onextwo"),
        ("'$A' \"$A\" \\$A", "$A one $A"),
        ("\"a\\\"b\\\\c\\$d\\e\"", "a\"b\\c$d\\e"),
        ("${NO}|$NO|", "||"),
        ("${NO:-d}${NO-d}${E:-d}${E-d}", "ddd"),
        ("${A:+x}${E:+x}${E+x}${NO+x}", "xx"),
        ("${NO:-${A}/$B_2}", "one/two"),
        ("$ $1 a$", "$ $1 a$"),
        ("${A:?gone}", "one"),
    ] {
        assert_eq!(expand(word, &lookup).as_deref(), Ok(text), "{word}");
    }
    for bad in [
        "${",
        "${A",
        "${}",
        "${A%x}",
        "'a",
        "\"a",
        "${NO:?is missing}",
        "${A:",
    ] {
        assert!(expand(bad, &lookup).is_err(), "{bad}");
    }
    let deep = "${N:-".repeat(10_000);
    assert!(expand(&deep, &lookup).unwrap_err().contains("nested"));
}

proptest! {
    #[test]
    fn any_text_is_a_dockerfile_or_a_refusal(text in "(?s).{0,300}") {
        let _ = Dockerfile::parse(&text);
        let _ = expand(&text, &|_| Some("x".to_owned()));
    }

    #[test]
    fn any_instruction_is_understood_or_refused_with_its_line(
        keyword in "(FROM|RUN|COPY|ADD|ENV|WORKDIR|USER|ARG|CMD|SHELL|LABEL|ENTRYPOINT|ONBUILD|[A-Za-z]{1,8})",
        rest in "[ -~\\\\\"']{0,60}",
    ) {
        let text = format!("FROM host\n\n{keyword} {rest}");
        match Dockerfile::parse(&text) {
            Ok(parsed) => {
                let count: usize = parsed.stages.iter().map(|stage| stage.instructions.len()).sum();
                prop_assert!(count <= 1);
            }
            Err(error) => prop_assert_eq!(error.line, 3),
        }
    }

    #[test]
    fn a_text_without_special_characters_expands_to_itself(text in "[a-zA-Z0-9 /._-]{0,40}") {
        prop_assert_eq!(expand(&text, &|_| None), Ok(text));
    }

    #[test]
    fn quoting_a_text_and_expanding_it_gives_it_back(text in "[^']{0,40}") {
        prop_assert_eq!(expand(&format!("'{text}'"), &|_| None), Ok(text));
    }
}
