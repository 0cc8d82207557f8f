//! Puts the scripts of custom scorers into what is frozen, so that registering another one changes no run.

use proctor_core::{
    definition::{Benchmark, Check, Task},
    scorer::ScorerDefinition,
};
use proctor_store::{Store, StoreError};

/// The definition with the scripts that its custom scorers have now. Those that nobody registered are left without, and
/// will come to no result.
pub(super) async fn put_in(
    store: &Store,
    mut definition: Benchmark,
) -> Result<Benchmark, StoreError> {
    for task in &mut definition.tasks {
        let kinds: Vec<String> = scorers(task)
            .filter_map(|scorer| custom_type(scorer))
            .collect();
        if kinds.is_empty() {
            continue;
        }
        let Some(owner) = store.owner_of_task(task.id).await? else {
            continue;
        };
        let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
        let scripts = store.scorer_scripts(owner, &kinds).await?;
        for scorer in scorers(task) {
            if let Some(script) = custom_type(scorer).and_then(|kind| scripts.get(&kind)) {
                scorer.set_custom_script(script);
            }
        }
    }
    Ok(definition)
}

fn scorers(task: &mut Task) -> impl Iterator<Item = &mut ScorerDefinition> {
    task.criteria
        .iter_mut()
        .filter_map(|criterion| match &mut criterion.check {
            Check::Scorer(scorer) => Some(scorer),
            Check::Assertion(_) => None,
        })
}

/// The type that a custom scorer names.
fn custom_type(scorer: &ScorerDefinition) -> Option<String> {
    Some(scorer.custom()?.custom_scorer_type)
}
