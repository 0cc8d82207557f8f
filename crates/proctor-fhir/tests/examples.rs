//! The official examples of R4 go through everything that the crate does with a resource.

use std::io::{BufRead, BufReader};

use proctor_fhir::validate::validate;
use serde_json::Value;

fn examples() -> impl Iterator<Item = Value> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../testdata/fhir-r4-examples.ndjson.zst"
    );
    let file = fs_err::File::open(path).unwrap();
    let lines = BufReader::new(zstd::Decoder::new(file).unwrap()).lines();
    lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap())
}

#[test]
fn validation() {
    let mut n = 0;
    let mut bad = 0;
    let t = std::time::Instant::now();
    let mut spent = std::time::Duration::ZERO;
    for example in examples() {
        n += 1;
        let s = std::time::Instant::now();
        let issues = validate(&example);
        spent += s.elapsed();
        if !issues.is_empty() {
            bad += 1;
            println!(
                "{}/{}: {} issues",
                example["resourceType"].as_str().unwrap(),
                example["id"].as_str().unwrap(),
                issues.len()
            );
            for i in issues.iter().take(4) {
                println!("    {:?} {} {}", i.code, i.expression, i.diagnostics);
            }
        }
    }
    println!("{n} {bad} {:?} {:?}", t.elapsed(), spent);
}
