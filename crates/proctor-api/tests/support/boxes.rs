//! Runs the boxes of tests, which have no `main` of their own.

fn main() {
    proctor_devbox::local::maybe_run_inner(std::env::args_os());
}
