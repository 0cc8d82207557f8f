//! The program behind boxes. `proctor` carries it and starts it by itself; nobody else has a use for it.

fn main() {
    proctor_supervisor::run();
}
