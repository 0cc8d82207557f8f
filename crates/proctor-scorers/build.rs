//! Builds the program that searches code, `proctor-code-search`, which this crate carries compressed: its grammars are 45 MB of tables, and a
//! tenth of that when they are not in use.

use proctor_embedded::build::Program;

fn main() {
    let search = Program {
        name: "proctor-code-search",
        features: &["program"],
        sources: &["../proctor-code-search"],
        // The workspace compiles the crate without the program.
        linted: true,
    };
    search.build_deflated();
}
