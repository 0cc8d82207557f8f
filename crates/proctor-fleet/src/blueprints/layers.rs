//! Which layer a step ends with: a name made of everything that the layer depends on.

use std::collections::BTreeMap;

use proctor_core::{
    blueprint::ImageDisk,
    canonical::{Digest, Hasher},
    id::kinds::OrganizationId,
};
use proctor_devbox::LayerId;

use super::{
    dockerfile::CommandForm,
    steps::{CopyStep, Step, StepKind},
};

/// What the names of our layers begin with.
const PREFIX: &str = "step-";
/// Part of every key: layers of another way of building are not ours to reuse.
const WAY_OF_BUILDING: &[u8] = b"proctor blueprint layer 1";

/// Everything that a disk depends on, as one digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LayerKey(Digest);

impl LayerKey {
    /// The key of a disk before any step. Organizations share no layers: a step may have seen a secret.
    pub(crate) fn of_base(
        organization: OrganizationId,
        disk: &ImageDisk,
        fingerprint: Option<&str>,
    ) -> Self {
        let mut hasher = Hasher::default();
        hasher.part(WAY_OF_BUILDING);
        hasher.part(organization.bare().as_bytes());
        let (kind, name) = match disk {
            ImageDisk::Host => ("host", ""),
            ImageDisk::RootFs(name) => ("rootfs", name.as_str()),
            ImageDisk::Layer(name) => ("layer", name.as_str()),
        };
        hasher.part(kind.as_bytes());
        hasher.part(name.as_bytes());
        hasher.part(fingerprint.unwrap_or_default().as_bytes());
        Self(hasher.finish())
    }

    /// The key of the disk after a step. `content` is what the step brings in from outside, if anything.
    pub(crate) fn after(
        self,
        step: &Step,
        secrets: &BTreeMap<String, String>,
        content: Option<&str>,
    ) -> Self {
        let mut hasher = Hasher::default();
        hasher.part(self.0.raw());
        describe(&step.kind, &mut hasher);
        for (name, value) in &step.env {
            hasher.part(name.as_bytes());
            hasher.part(value.as_bytes());
        }
        hasher.part(b"secrets");
        // By name: what a secret is worth today changes nothing that was built with it.
        for (variable, secret) in secrets {
            hasher.part(variable.as_bytes());
            hasher.part(secret.as_bytes());
        }
        hasher.part(step.directory.as_bytes());
        hasher.part(step.user.as_deref().unwrap_or_default().as_bytes());
        hasher.part(content.unwrap_or_default().as_bytes());
        if !step.shell.is_empty() {
            hasher.part(b"shell of its own");
            for word in &step.shell {
                hasher.part(word.as_bytes());
            }
        }
        Self(hasher.finish())
    }

    /// The key as text, for what depends on the disk that it names.
    pub(crate) fn text(self) -> String {
        self.0.hex()
    }

    /// The layer's name.
    pub(crate) fn layer(self) -> LayerId {
        let name = format!("{PREFIX}{}", &self.0.hex()[..48]);
        LayerId::new(name).expect("hexadecimal digits make a name")
    }
}

/// Whether a layer is one of ours.
pub(crate) fn is_ours(layer: &LayerId) -> bool {
    layer.as_str().starts_with(PREFIX)
}

fn describe(kind: &StepKind, hasher: &mut Hasher) {
    match kind {
        StepKind::Run(CommandForm::Shell(text)) => {
            hasher.part(b"shell");
            hasher.part(text.as_bytes());
        }
        StepKind::Run(CommandForm::Exec(argv)) => {
            hasher.part(b"exec");
            for word in argv {
                hasher.part(word.as_bytes());
            }
        }
        StepKind::Run(CommandForm::Script(text)) => {
            hasher.part(b"script");
            hasher.part(text.as_bytes());
        }
        StepKind::Copy(copy) => {
            hasher.part(b"copy");
            describe_copy(copy, hasher);
        }
        // What the stage or image is, is content.
        StepKind::CopyFrom(_, copy) => {
            hasher.part(b"copy from");
            describe_copy(copy, hasher);
            for source in &copy.sources {
                hasher.part(source.as_bytes());
            }
        }
        StepKind::WriteDocuments(documents, copy) => {
            hasher.part(b"documents");
            describe_copy(copy, hasher);
            for (name, content) in documents {
                hasher.part(name.as_bytes());
                hasher.part(content.as_bytes());
            }
        }
        StepKind::MakeDirectory => hasher.part(b"directory"),
        StepKind::WriteFile { path, content } => {
            hasher.part(b"file");
            hasher.part(path.as_bytes());
            hasher.part(content.as_bytes());
        }
        StepKind::Code { mount, .. } => {
            hasher.part(b"code");
            hasher.part(mount.repository().as_bytes());
            hasher.part(mount.install.as_deref().unwrap_or_default().as_bytes());
        }
    }
}

fn describe_copy(copy: &CopyStep, hasher: &mut Hasher) {
    hasher.part(copy.target.as_bytes());
    hasher.part(format!("{:?} {:?} {}", copy.owner, copy.mode, copy.unpacks).as_bytes());
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn base(organization: u128) -> LayerKey {
        let organization = OrganizationId::from_uuid(Uuid::from_u128(organization));
        LayerKey::of_base(organization, &ImageDisk::Host, Some("packages"))
    }

    fn run(text: &str) -> Step {
        Step {
            title: text.to_owned(),
            kind: StepKind::Run(CommandForm::Shell(text.to_owned())),
            env: BTreeMap::new(),
            directory: "/".to_owned(),
            user: None,
            shell: Vec::new(),
        }
    }

    #[test]
    fn a_layer_has_the_same_name_only_if_everything_it_depends_on_is_the_same() {
        let none = BTreeMap::new();
        let key = |step: &Step| base(1).after(step, &none, None).layer();
        let same = key(&run("make"));
        assert_eq!(same, key(&run("make")));
        assert!(is_ours(&same));
        let mut others = vec![key(&run("make all"))];
        let mut step = run("make");
        step.env.insert("A".to_owned(), "1".to_owned());
        others.push(key(&step));
        let mut step = run("make");
        step.user = Some("user".to_owned());
        others.push(key(&step));
        let mut step = run("make");
        step.shell = vec!["/bin/bash".to_owned(), "-c".to_owned()];
        others.push(key(&step));
        let mut step = run("make");
        step.kind = StepKind::Run(CommandForm::Script("make".to_owned()));
        others.push(key(&step));
        let mut step = run("make");
        step.directory = "/x".to_owned();
        others.push(key(&step));
        let mut step = run("make");
        step.kind = StepKind::Run(CommandForm::Exec(vec!["make".to_owned()]));
        others.push(key(&step));
        others.push(base(2).after(&run("make"), &none, None).layer());
        others.push(base(1).after(&run("make"), &none, Some("x")).layer());
        let secret = [("A".to_owned(), "B".to_owned())].into();
        others.push(base(1).after(&run("make"), &secret, None).layer());
        let twice = base(1).after(&run("make"), &none, None);
        others.push(twice.after(&run("make"), &none, None).layer());
        others.push(same);
        let count = others.len();
        others.sort();
        others.dedup();
        assert_eq!(others.len(), count);
    }
}
