//! The program that runs the boxes of tests: the same code as in `proctor`, without anything else.

fn main() {
    proctor_devbox::local::maybe_run_inner(std::env::args_os());
}
