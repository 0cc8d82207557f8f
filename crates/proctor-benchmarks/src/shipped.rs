//! The benchmarks that are part of the program.

use proctor_engine::Extensions;

use crate::{
    folder::Folder,
    read::ReadFile,
    report::{Report, Source},
};

/// A benchmark that is part of the program.
pub struct Shipped {
    /// The name of its file.
    pub name: &'static str,
    /// The text of its file.
    pub text: &'static str,
}

/// Names and embeds files of `benchmarks/clinical`.
macro_rules! clinical {
    ($($name:literal),+ $(,)?) => {
        &[$(Shipped {
            name: concat!("benchmarks/clinical/", $name),
            text: include_str!(concat!("../../../benchmarks/clinical/", $name)),
        }),+]
    };
}

/// All of them.
pub const SHIPPED: &[Shipped] = clinical![
    "fax-referral.yaml",
    "critical-lab.yaml",
    "prior-auth-mri.yaml",
    "eligibility-check.yaml",
    "payer-call.yaml",
    "late-result.yaml",
    "denied-claim.yaml",
];

impl Shipped {
    /// Reads it.
    pub fn read(&self) -> Result<ReadFile, Report> {
        let source = Source {
            name: self.name.to_owned(),
            text: self.text.to_owned(),
        };
        ReadFile::read(source, &Folder::Nowhere, &Extensions::shipped())
    }
}
