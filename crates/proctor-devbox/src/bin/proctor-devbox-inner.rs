//! The program that runs boxes for tests and benchmarks, which have no `main` of their own to begin with it.

fn main() {
    proctor_devbox::local::maybe_run_inner(std::env::args_os());
}
