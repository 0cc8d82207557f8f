//! What the command line says, word for word; `TRYCMD=overwrite cargo test -p proctor --test it cli`
//! rewrites the expectations.

#[test]
fn the_command_line_says_what_it_always_said() {
    let empty = tempfile::tempdir().expect("a temporary directory");
    trycmd::TestCases::new()
        .env("HOME", empty.path().to_string_lossy())
        .env("XDG_DATA_HOME", "")
        .case("tests/cli/*.toml");
}
