//! The whole life of a scenario: started, ready, one command, scored by a command, completed. Beside it a container that is
//! started, in which the same two commands are run, and that is removed; and the same scenarios on an older server, if there is one to compare with.

use std::time::Duration;

use proctor_testkit::{
    figures::Report,
    server::{BenchServer, Caller},
};
use serde_json::json;

use crate::{
    boxes::{Devbox, REST},
    docker::{Container, Docker},
    load::{Load, keep_up},
};

const WORK: &str = "echo 42 > answer.txt";
const SCORER: &str = "test \"$(cat answer.txt)\" = 42";
/// How often each has its turn, and how long a turn is.
const TURNS: usize = 3;
const TURN: Duration = Duration::from_secs(3);

/// "Not slower than before" with what two runs of one program differ by.
const AS_FAST: f64 = 0.97;

pub(crate) async fn measure(
    report: &mut Report,
    server: &BenchServer,
    baseline: Option<&BenchServer>,
    docker: Option<&Docker>,
) {
    let current = Takers::new(server).await;
    let before = match baseline {
        Some(server) => Some(Takers::new(server).await),
        None => None,
    };
    for at_once in [1, 8, 32] {
        let (mut ours, mut old, mut theirs) = (Load::default(), Load::default(), Load::default());
        // In turns, so that a machine that is busy for a while is busy for all.
        for _ in 0..TURNS {
            ours.add(current.turn(at_once).await);
            if let Some(before) = &before {
                old.add(before.turn(at_once).await);
            }
            let Some(docker) = docker else { continue };
            tokio::time::sleep(REST).await;
            theirs.add(keep_up(at_once, TURN, async || contain(docker).await).await);
        }
        if before.is_some() {
            let (new, old) = (ours.per_second(), old.per_second());
            let what = format!("scenarios : those of the baseline, {at_once} at once");
            let detail = format!("{new:.1}/s : {old:.1}/s");
            match at_once {
                32 => report.at_least(&what, &detail, new / old, AS_FAST),
                _ => report.note(&what, format!("{:.2} × ({detail})", new / old)),
            }
        }
        report.note(
            &format!("scenarios, {at_once} at once"),
            format!("{:.0}/s, {}", ours.per_second(), ours.times),
        );
        if docker.is_none() {
            continue;
        }
        report.note(
            &format!("containers, {at_once} at once"),
            format!("{:.1}/s, {}", theirs.per_second(), theirs.times),
        );
        let (wall, rate) = (
            theirs.times.median() / ours.times.median(),
            ours.per_second() / theirs.per_second(),
        );
        match at_once {
            1 => {
                let detail = format!(
                    "{:.1} ms : {:.1} ms",
                    theirs.times.median(),
                    ours.times.median()
                );
                report.at_least(
                    "containers : scenarios, wall time of one",
                    &detail,
                    wall,
                    10.0,
                );
            }
            32 => {
                let detail = format!("{:.0}/s : {:.1}/s", ours.per_second(), theirs.per_second());
                report.at_least("scenarios : containers, 32 at once", &detail, rate, 20.0);
            }
            _ => report.note(
                &format!("scenarios : containers, {at_once} at once"),
                format!("{rate:.1} ×"),
            ),
        }
    }
    if let Some(docker) = docker {
        // The least that a container can do for it: nothing between the two commands, and nobody who looks.
        let script = format!("{WORK} && {SCORER}");
        let least = keep_up(1, TURN * 2, async || {
            Container::ran(docker, &script).await.remove().await;
        })
        .await;
        report.note(
            "both commands in one docker run, 1 at once",
            format!("{:.1}/s, {}", least.per_second(), least.times),
        );
    }
}

/// Those who take a scenario on one server.
struct Takers<'a> {
    server: &'a BenchServer,
    scenario: String,
}

impl<'a> Takers<'a> {
    async fn new(server: &'a BenchServer) -> Self {
        let body = json!({
            "name": "devboxes-bench",
            "input_context": {"problem_statement": "Write 42 into answer.txt."},
            "scoring_contract": {"scoring_function_parameters": [
                {"name": "answered", "weight": 1.0, "scorer": {"type": "command_scorer", "command": SCORER}},
            ]},
        });
        let scenario = server.caller().post("/v1/scenarios", body).await;
        let scenario = scenario["id"].as_str().unwrap().to_owned();
        Self { server, scenario }
    }

    /// So many at once for a turn.
    async fn turn(&self, at_once: usize) -> Load {
        tokio::time::sleep(REST).await;
        // As rarely as there are many, so that asking costs the same share of the machine.
        let pause = Duration::from_millis(at_once as u64);
        let one = async || take(self.server.caller(), &self.scenario, pause).await;
        let turn = keep_up(at_once, TURN, one).await;
        turn.until(self.server.leftovers().are_gone()).await
    }
}

/// The same in a container.
async fn contain(docker: &Docker) {
    let container = Container::waiting(docker).await;
    container.execute(WORK).await;
    container.execute(SCORER).await;
    container.remove().await;
}

async fn take(caller: &Caller, scenario: &str, pause: Duration) {
    let start = json!({"scenario_id": scenario});
    let run = caller.post("/v1/scenarios/start_run", start).await;
    let path = format!("/v1/scenarios/runs/{}", run["id"].as_str().unwrap());
    let devbox = Devbox::known(caller, run["devbox_id"].as_str().unwrap()).await;
    devbox.execute(WORK).await;
    let mut run = caller.post(&format!("{path}/score"), json!({})).await;
    while run["state"] == "scoring" {
        tokio::time::sleep(pause).await;
        run = caller.get(&path).await;
    }
    assert_eq!(run["scoring_contract_result"]["score"], 1.0, "{run}");
    let run = caller.post(&format!("{path}/complete"), json!({})).await;
    assert_eq!(run["state"], "completed", "{run}");
}
