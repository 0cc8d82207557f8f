//! The program that searches code. `proctor` carries it and starts it by itself; nobody else has a use for it.

use std::{env, io, process::ExitCode};

use proctor_code_search::{limits, serve::serve};

fn main() -> ExitCode {
    // The processor time that it may take, in seconds.
    let Some(seconds) = env::args().nth(1).and_then(|word| word.parse().ok()) else {
        return ExitCode::from(2);
    };
    if limits::set(seconds).is_err() {
        return ExitCode::from(3);
    }
    match serve(io::stdin().lock(), io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
