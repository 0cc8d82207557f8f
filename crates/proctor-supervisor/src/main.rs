//! The program behind boxes. `proctor` carries it and starts it by itself; nobody else has a use for it.

use proctor_supervisor::{inside, sys};

fn main() {
    let code = i32::from(inside::run().is_err());
    sys::exit_now(code);
}
