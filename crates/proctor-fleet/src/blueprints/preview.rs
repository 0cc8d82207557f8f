//! A recipe as the Dockerfile that it amounts to, for people.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use proctor_core::{
    blueprint::Recipe,
    id::{Dialect, kinds::BlueprintId},
    shell::quoted,
};

use super::steps::has_setup;

/// The Dockerfile. Tokens and secrets are not in it.
pub(super) fn render(recipe: &Recipe, base: Option<BlueprintId>) -> String {
    let mut lines = Vec::new();
    match (&recipe.dockerfile, base) {
        (Some(text), _) => lines.push(text.trim_end().to_owned()),
        (None, Some(base)) => lines.push(format!("FROM {}", base.wire(Dialect::Runloop))),
        (None, None) => lines.push("FROM host".to_owned()),
    }
    if has_setup(recipe) && recipe.dockerfile.is_some() {
        lines.push("USER root".to_owned());
    }
    for (path, content) in &recipe.file_mounts {
        let encoded = STANDARD.encode(content);
        let path = quoted(path);
        lines.push(format!(
            "RUN mkdir -p \"$(dirname {path})\" && printf %s {encoded} | base64 -d > {path}"
        ));
    }
    for command in &recipe.system_setup_commands {
        lines.push(format!("RUN [\"/bin/sh\", \"-c\", {}]", json(command)));
    }
    for mount in &recipe.code_mounts {
        let target = quoted(&format!("/home/user/{}", mount.name));
        let branch = match &mount.reference {
            Some(reference) => format!("--branch {} ", quoted(reference)),
            None => String::new(),
        };
        let repository = mount.repository();
        lines.push(format!(
            "RUN git clone {branch}https://github.com/{repository}.git {target}"
        ));
        if let Some(install) = &mount.install {
            let script = format!("cd {target} && {install}");
            lines.push(format!("RUN [\"/bin/sh\", \"-c\", {}]", json(&script)));
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

/// A text in the quotes of the exec form, on one line.
fn json(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proctor_core::mount::CodeMount;
    use proptest::prelude::*;

    use super::{super::dockerfile::Dockerfile, *};

    #[test]
    fn everything_of_a_recipe_shows_but_no_token() {
        let recipe = Recipe {
            dockerfile: Some("FROM host\nRUN a\n".to_owned()),
            file_mounts: [("/etc/it's".to_owned(), "hello".to_owned())].into(),
            system_setup_commands: vec!["echo \"x\"\nnext".to_owned()],
            code_mounts: vec![CodeMount {
                owner: "acme".to_owned(),
                name: "rocket".to_owned(),
                token: Some("hush".to_owned()),
                reference: Some("v1".to_owned()),
                install: Some("make".to_owned()),
            }],
            ..Recipe::default()
        };
        assert_eq!(
            render(&recipe, None),
            "FROM host\nRUN a\nUSER root\n\
             RUN mkdir -p \"$(dirname '/etc/it'\\''s')\" && printf %s aGVsbG8= | base64 -d > '/etc/it'\\''s'\n\
             RUN [\"/bin/sh\", \"-c\", \"echo \\\"x\\\"\\nnext\"]\n\
             RUN git clone --branch 'v1' https://github.com/acme/rocket.git '/home/user/rocket'\n\
             RUN [\"/bin/sh\", \"-c\", \"cd '/home/user/rocket' && make\"]\n"
        );
    }

    proptest! {
        #[test]
        fn what_is_shown_is_a_dockerfile_again(
            commands in proptest::collection::vec("[ -~\n]{1,40}", 0..4),
        ) {
            let recipe = Recipe { system_setup_commands: commands.clone(), ..Recipe::default() };
            let shown = Dockerfile::parse(&render(&recipe, None)).unwrap();
            prop_assert_eq!(shown.stages[0].instructions.len(), commands.len());
        }
    }
}
