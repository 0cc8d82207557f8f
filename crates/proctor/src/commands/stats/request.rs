//! What `proctor stats` is asked: `{"op", "input"}`.

use proctor_core::{
    problem::Problems,
    reader::{Notes, Object, Wording, left_out_or},
};
use proctor_statistics::{About, Alpha, Attempts, Never, NoiseOptions, Pair, Plan, Refusal, Tasks};

use super::tasks::{Node, Refused, is_reserved, note, read_tasks};

/// The tasks of two agents are under these names.
const SIDES: [&str; 2] = ["A", "B"];

/// A question with everything it needs.
pub(super) enum Request {
    Summary {
        tasks: Tasks<Attempts>,
        alpha: Alpha,
    },
    Compare {
        tasks: Tasks<Pair>,
        about: About,
        alpha: Alpha,
    },
    Gate {
        tasks: Tasks<Pair>,
        rules: Vec<Rule>,
        alpha: Alpha,
    },
    More {
        tasks: Tasks<Pair>,
        plan: Plan,
    },
    PassK {
        tasks: Tasks<Attempts>,
        k: u32,
        at: f64,
        alpha: Alpha,
    },
    Noise {
        tasks: Tasks<Attempts>,
        options: NoiseOptions,
    },
    Leaderboard {
        tasks: Tasks<Vec<Option<Attempts>>>,
        agents: Vec<String>,
        about: About,
        alpha: Alpha,
    },
    Holm {
        p_values: Vec<f64>,
    },
    Look {
        round: u32,
        rounds: u32,
    },
}

/// A line of a gate. The tasks are those of the request.
#[derive(Clone, Debug)]
pub(super) enum Rule {
    Change { at: f64, about: About },
    Level { at: f64, about: About },
    Never { never: Never, name: Option<String> },
}

#[derive(Clone, Copy)]
enum Op {
    Summary,
    Compare,
    Gate,
    More,
    PassK,
    Noise,
    Leaderboard,
    Holm,
    Look,
}

const OPS: [(&str, Op); 9] = [
    ("summary", Op::Summary),
    ("compare", Op::Compare),
    ("gate", Op::Gate),
    ("more", Op::More),
    ("pass_k", Op::PassK),
    ("noise", Op::Noise),
    ("leaderboard", Op::Leaderboard),
    ("holm", Op::Holm),
    ("look", Op::Look),
];

impl Request {
    /// Reads a request that stands at `path` of what was given. What is no request is a problem; what the contract refuses, a refusal.
    pub(super) fn read(
        path: &str,
        value: &serde_json::Value,
    ) -> Result<Result<Self, Refusal>, Problems> {
        let notes = Notes::worded(Wording::Document);
        let read = read_request(&Node::at(path, value, &notes));
        let refused = notes.extra().get().copied();
        let request = notes.finish(read)?;
        Ok(match refused {
            Some(refusal) => Err(refusal),
            None => Ok(request),
        })
    }
}

fn read_request(node: &Node<'_>) -> Option<Request> {
    let object = node.object()?;
    // What test vectors have besides; it changes nothing.
    for extra in ["name", "note", "expect", "refused"] {
        object.member(extra);
    }
    let op = object.required("op").and_then(|op| op.word(&OPS));
    let input = object.required("input");
    let input = input.and_then(|input| input.object());
    object.finish();
    let (op, input) = (op?, input?);
    let request = read_input(op, &input);
    input.finish();
    request
}

fn read_input(op: Op, input: &Object<'_, Refused>) -> Option<Request> {
    match op {
        Op::Summary => {
            let (tasks, alpha) = (run(input), alpha(input));
            Some(Request::Summary {
                tasks: tasks?,
                alpha: alpha?,
            })
        }
        Op::Compare => {
            let (tasks, about, alpha) = (pairs(input, SIDES), about(input), alpha(input));
            Some(Request::Compare {
                tasks: tasks?,
                about: about?,
                alpha: alpha?,
            })
        }
        Op::Gate => read_gate(input),
        Op::More => read_more(input),
        Op::PassK => read_pass_k(input),
        Op::Noise => read_noise(input),
        Op::Leaderboard => read_leaderboard(input),
        Op::Holm => {
            let list = input.required("p")?;
            let p_values: Vec<Option<f64>> = list.list()?.iter().map(share).collect();
            let p_values: Option<Vec<f64>> = p_values.into_iter().collect();
            p_values.map(|p_values| Request::Holm { p_values })
        }
        Op::Look => {
            let (round, rounds) = (round(input, "round"), round(input, "rounds"));
            Some(Request::Look {
                round: round?,
                rounds: rounds?,
            })
        }
    }
}

fn read_gate(input: &Object<'_, Refused>) -> Option<Request> {
    let alpha = alpha(input);
    let rules = input.required("rules").and_then(|rules| {
        let list = rules.list()?;
        if list.is_empty() {
            note(&rules, Refusal::NoRules);
        }
        let read: Vec<Option<Rule>> = list.iter().map(read_rule).collect();
        read.into_iter().collect::<Option<Vec<Rule>>>()
    });
    let asks = |is: fn(&Rule) -> bool| rules.iter().flatten().any(is);
    let about_a = asks(|rule| matches!(rule, Rule::Change { .. }));
    let about_b = about_a || asks(|rule| matches!(rule, Rule::Level { .. }));
    // What no line asks about is not looked at.
    let tasks = match (about_a, about_b) {
        (true, _) => pairs(input, SIDES),
        (false, true) => read_tasks(input, &SIDES[1..]).map(|tasks| {
            tasks.filter_map(|sides| {
                Some(Pair {
                    a: None,
                    b: sides[0].clone(),
                })
            })
        }),
        (false, false) => {
            input.optional("tasks");
            Some(Tasks::default())
        }
    };
    Some(Request::Gate {
        tasks: tasks?,
        rules: rules?,
        alpha: alpha?,
    })
}

fn read_rule(node: &Node<'_>) -> Option<Rule> {
    #[derive(Clone, Copy)]
    enum Kind {
        Change,
        Level,
        Never,
    }
    let object = node.object()?;
    let kinds = [
        ("change", Kind::Change),
        ("level", Kind::Level),
        ("never", Kind::Never),
    ];
    let kind = object.required("kind").and_then(|kind| kind.word(&kinds))?;
    let rule = match kind {
        Kind::Change => threshold(&object).map(|(at, about)| Rule::Change { at, about }),
        Kind::Level => threshold(&object).map(|(at, about)| Rule::Level { at, about }),
        Kind::Never => read_never(&object),
    };
    object.finish();
    rule
}

fn threshold(object: &Object<'_, Refused>) -> Option<(f64, About)> {
    let at = object.required("at").and_then(|at| at.number());
    let about = about(object);
    at.zip(about)
}

fn read_never(object: &Object<'_, Refused>) -> Option<Rule> {
    let checked = object.required("checked").and_then(|node| count(&node));
    let violations = object.required("violations").and_then(|node| count(&node));
    let unchecked = left_out_or(object.optional("unchecked"), count);
    let max_rate = left_out_or(object.optional("max_rate"), Node::number);
    let name = left_out_or(object.optional("name"), Node::text);
    Some(Rule::Never {
        never: Never {
            checked: checked?,
            violations: violations?,
            unchecked: unchecked?.unwrap_or(0),
            max_rate: max_rate?,
        },
        name: name?.map(str::to_owned),
    })
}

fn read_more(input: &Object<'_, Refused>) -> Option<Request> {
    let tasks = pairs(input, SIDES);
    // `c` is what the formulas call it.
    let at = input.optional("c").or_else(|| input.required("at"));
    let at = at.and_then(|at| at.number());
    let (about, alpha) = (about(input), alpha(input));
    let fail_alpha = left_out_or(input.optional("fail_alpha"), level);
    let power = power(input);
    let most = left_out_or(input.optional("most"), |node| node.whole(1..=10_000));
    let plan = Plan::new(at?, about?);
    Some(Request::More {
        tasks: tasks?,
        plan: Plan {
            alpha: alpha?,
            fail_alpha: fail_alpha?.map(Alpha::value),
            power: power?.unwrap_or(plan.power),
            most: most?.unwrap_or(plan.most),
            ..plan
        },
    })
}

fn read_pass_k(input: &Object<'_, Refused>) -> Option<Request> {
    let tasks = run(input);
    let k = input.required("k").and_then(|node| match whole(&node)? {
        k if k < 1 => {
            note(&node, Refusal::BadK);
            Some(1)
        }
        k => Some(u32::try_from(k).unwrap_or(u32::MAX)),
    });
    let (at, alpha) = (pass_mark(input), alpha(input));
    Some(Request::PassK {
        tasks: tasks?,
        k: k?,
        at: at?,
        alpha: alpha?,
    })
}

fn read_noise(input: &Object<'_, Refused>) -> Option<Request> {
    let tasks = run(input);
    let attempts = left_out_or(input.optional("attempts"), |node| {
        let attempts = node.number()?;
        if attempts > 0.0 {
            return Some(attempts);
        }
        node.refuse("must be a number above 0");
        None
    });
    let (at, alpha, power) = (pass_mark(input), alpha(input), power(input));
    let usual = NoiseOptions::default();
    Some(Request::Noise {
        tasks: tasks?,
        options: NoiseOptions {
            attempts: attempts?,
            alpha: alpha?,
            power: power?.unwrap_or(usual.power),
            at: at?,
        },
    })
}

fn read_leaderboard(input: &Object<'_, Refused>) -> Option<Request> {
    let agents = input.required("agents").and_then(|list| {
        let mut agents: Vec<&str> = Vec::new();
        for node in list.list()? {
            let agent = node.filled_text()?;
            if is_reserved(agent) || agents.contains(&agent) {
                node.refuse("must be another name than id, cluster and the other agents'");
            }
            agents.push(agent);
        }
        Some(agents)
    });
    let (about, alpha) = (about(input), alpha(input));
    let agents = agents?;
    let tasks = read_tasks(input, &agents);
    Some(Request::Leaderboard {
        tasks: tasks?,
        agents: agents.into_iter().map(str::to_owned).collect(),
        about: about?,
        alpha: alpha?,
    })
}

/// The tasks of two agents.
fn pairs(input: &Object<'_, Refused>, sides: [&str; 2]) -> Option<Tasks<Pair>> {
    let tasks = read_tasks(input, &sides)?;
    Some(tasks.filter_map(|sides| {
        Some(Pair {
            a: sides[0].clone(),
            b: sides[1].clone(),
        })
    }))
}

/// The tasks of one agent: `side`, or A.
fn run(input: &Object<'_, Refused>) -> Option<Tasks<Attempts>> {
    let side = left_out_or(input.optional("side"), |side| {
        let name = side.filled_text()?;
        if is_reserved(name) {
            side.refuse("must be the name of an agent's member of the tasks");
            return None;
        }
        Some(name)
    });
    let tasks = read_tasks(input, &[side?.unwrap_or(SIDES[0])])?;
    Some(tasks.filter_map(|sides| sides[0].clone()))
}

fn alpha(input: &Object<'_, Refused>) -> Option<Alpha> {
    left_out_or(input.optional("alpha"), level).map(Option::unwrap_or_default)
}

fn level(node: &Node<'_>) -> Option<Alpha> {
    let alpha = Alpha::new(node.number()?);
    if alpha.is_none() {
        node.refuse("must be a number above 0 and below 0.5");
    }
    alpha
}

fn about(input: &Object<'_, Refused>) -> Option<About> {
    let words = [("tasks", About::Tasks), ("suite", About::Suite)];
    left_out_or(input.optional("about"), |about| about.word(&words)).map(Option::unwrap_or_default)
}

/// The chance with which something should be seen.
fn power(input: &Object<'_, Refused>) -> Option<Option<f64>> {
    left_out_or(input.optional("power"), |node| {
        let power = node.number()?;
        if power > 0.0 && power < 1.0 {
            return Some(power);
        }
        node.refuse("must be a number above 0 and below 1");
        None
    })
}

/// The score from which on an attempt passes.
fn pass_mark(input: &Object<'_, Refused>) -> Option<f64> {
    left_out_or(input.optional("at"), share).map(|at| at.unwrap_or(1.0))
}

fn share(node: &Node<'_>) -> Option<f64> {
    let share = node.number()?;
    if (0.0..=1.0).contains(&share) {
        return Some(share);
    }
    node.refuse("must be a number from 0 to 1");
    None
}

fn whole(node: &Node<'_>) -> Option<i64> {
    let number = node.value().as_i64();
    if number.is_none() {
        node.refuse("must be a whole number");
    }
    number
}

/// A number of things; less than none is refused by the contract.
fn count(node: &Node<'_>) -> Option<u64> {
    let number = whole(node)?;
    Some(u64::try_from(number).unwrap_or_else(|_| {
        note(node, Refusal::BadCount);
        0
    }))
}

/// A round; one that cannot be is refused by the contract.
fn round(input: &Object<'_, Refused>, name: &'static str) -> Option<u32> {
    let node = input.required(name)?;
    Some(u32::try_from(whole(&node)?).unwrap_or(0))
}
