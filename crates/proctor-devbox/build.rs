//! Builds the program behind boxes, `proctor-supervisor`, which this crate carries: whoever uses the crate needs no second file beside their own
//! program.

use proctor_embedded::build::Program;

fn main() {
    let supervisor = Program {
        name: "proctor-supervisor",
        features: &[],
        sources: &["../proctor-supervisor", "../proctor-devbox-types"],
        linted: false,
    };
    supervisor.build();
}
