use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn instructions(text: &str) -> Vec<Instruction> {
    let text = format!("FROM host\n{text}");
    let parsed = Dockerfile::parse(&text).unwrap();
    parsed
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
    assert_eq!(parsed.from, (3, "host".to_owned()));
    let lines: Vec<_> = parsed.instructions.iter().map(|one| one.line).collect();
    assert_eq!(lines, [5, 10]);
    assert_eq!(
        parsed.instructions[0].instruction,
        shell("one && two && three")
    );
    assert_eq!(parsed.instructions[1].instruction, shell("four"));
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
    assert_eq!(parsed.from.1, "${BASE}");
    assert!(matches!(&parsed.instructions[0].instruction, Instruction::Arg(two) if two.len() == 2));
}

#[test]
fn what_is_not_understood_is_refused_with_its_line() {
    for (text, line, part) in [
        ("", 1, "no FROM"),
        ("# only\n", 1, "no FROM"),
        ("RUN x", 1, "RUN before FROM"),
        ("FROM a\nFROM b", 2, "several stages"),
        ("FROM a\n\nCMD [\"x\"]", 3, "CMD is not supported"),
        ("FROM a\nEXPOSE 80", 2, "EXPOSE is not supported"),
        ("FROM --platform=x a", 1, "no flags"),
        ("FROM a b", 1, "AS"),
        ("FROM", 1, "without"),
        ("FROM a\nRUN", 2, "without anything"),
        ("FROM a\nRUN --mount=type=cache x", 2, "no flags"),
        ("FROM a\nRUN cat <<EOF\nx\nEOF", 2, "here-documents"),
        ("FROM a\nCOPY --from=b x y", 2, "--from"),
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
        keyword in "(FROM|RUN|COPY|ADD|ENV|WORKDIR|USER|ARG|CMD|[A-Za-z]{1,8})",
        rest in "[ -~\\\\\"']{0,60}",
    ) {
        let text = format!("FROM host\n\n{keyword} {rest}");
        match Dockerfile::parse(&text) {
            Ok(parsed) => prop_assert!(parsed.instructions.len() <= 1),
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
