//! How many more attempts or tasks would settle a line.
//!
//! Conditional power: what was seen stays, what is still to come is drawn from an assumption, and the smallest number is sought with
//! which the line settles with a chance of 80 %. There are two assumptions: *nothing has really changed* (`if_equal`, for margins) and *the truth is as
//! seen* (`as_seen`). A truth half-way inside the margin needs about four times as many as one at no change.
//!
//! More attempts shrink the noise of the attempts, not the spread between tasks; more tasks shrink both. So for tasks like these
//! it can be that no number of attempts is enough, and the number of tasks is.

use serde::Serialize;

use crate::{
    About, Alpha, Pair, Refusal, TIE, Tasks,
    clustered::clustered_mean,
    distributions::{normal, student_t},
    effect::{PairedScores, Voids, paired_scores},
    rerun::within_task_variances,
    sums::{mean, sum},
};

/// Further tasks that are looked at.
const MOST_TASKS: usize = 100_000;

/// What is to be settled, and how surely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// The threshold of the change.
    pub at: f64,
    /// Which question is asked.
    pub about: About,
    /// The one-sided level of PASS.
    pub alpha: Alpha,
    /// The one-sided level of FAIL, if it is another: several lines share it.
    pub fail_alpha: Option<f64>,
    /// The chance with which it should settle.
    pub power: f64,
    /// The most further attempts per task that are looked at.
    pub most: u32,
}

impl Plan {
    /// The usual plan: 5 %, a chance of 80 %, at most a hundred attempts.
    pub const fn new(at: f64, about: About) -> Self {
        Self {
            at,
            about,
            alpha: Alpha::FIVE_PERCENT,
            fail_alpha: None,
            power: 0.8,
            most: 100,
        }
    }
}

/// How many more would settle a line, by what is assumed of the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HowManyMore {
    /// If the truth is as seen.
    pub as_seen: Further,
    /// If nothing has changed; for margins only.
    pub if_equal: Further,
}

/// How many more of what. None: not within what is looked at, or it cannot be said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Further {
    /// Further attempts at each task, on both sides.
    pub attempts_per_task: Option<u32>,
    /// Further tasks with as many attempts as now, if the question is about tasks.
    pub tasks: Option<usize>,
}

/// Says how many more attempts or tasks would settle a change.
pub fn how_many_more(tasks: &Tasks<Pair>, plan: &Plan) -> Result<HowManyMore, Refusal> {
    let both = paired_scores(tasks, Voids::LeftOut);
    if both.is_empty() {
        return Err(Refusal::NoCommonTasks);
    }
    let seen = Seen::of(&both, plan);
    Ok(HowManyMore {
        as_seen: seen.further(seen.difference),
        if_equal: match plan.at < 0.0 {
            true => seen.further(0.0),
            false => Further::default(),
        },
    })
}

/// How many further attempts per task settle a change on these very tasks, if they agree as well as those so far: where no task's attempts
/// differ there is no noise to extrapolate, and only the imaginary attempts keep the interval open. None if attempts differ, or if no number
/// within the plan settles it.
pub(crate) fn attempts_if_steady(tasks: &Tasks<Pair>, plan: &Plan) -> Option<u32> {
    let both = paired_scores(tasks, Voids::LeftOut);
    let seen = Seen::of(&both, plan);
    let attempts = seen.attempts.as_ref()?;
    if plan.about != About::Suite || both.is_empty() || attempts.with(0.0) > 0.0 {
        return None;
    }
    let tail = match seen.difference > plan.at {
        true => plan.alpha.value(),
        false => plan.fail_alpha.unwrap_or(plan.alpha.value()),
    };
    // The two imaginary attempts are all that varies: two degrees of freedom.
    let quantile = student_t::upper_quantile(tail, 2.0);
    let room = (seen.difference - plan.at).abs();
    (1..=plan.most).find(|more| {
        let share = attempts.share(f64::from(*more));
        quantile * std::f64::consts::SQRT_2 * share / (seen.tasks as f64) < room
    })
}

/// What is known so far.
struct Seen<'p> {
    plan: &'p Plan,
    tasks: usize,
    difference: f64,
    /// The variance of one task's difference, clusters included.
    of_difference: f64,
    /// What the attempts add to it; none if too few tasks are repeated.
    attempts: Option<AttemptVariance>,
    pass_quantile: f64,
    fail_quantile: f64,
}

/// The variance of one task's difference as attempts grow.
struct AttemptVariance {
    /// What no number of attempts takes away: tasks differ.
    between: f64,
    /// The variance of one attempt and the (harmonic) mean number of attempts, of each side.
    a: (f64, f64),
    b: (f64, f64),
}

impl AttemptVariance {
    /// With so many more attempts on each side.
    fn with(&self, more: f64) -> f64 {
        let side = |(variance, attempts): (f64, f64)| variance / (attempts + more);
        self.between + side(self.a) + side(self.b)
    }

    /// What one attempt is worth of a task's mean.
    fn share(&self, more: f64) -> f64 {
        0.5 * (1.0 / (self.a.1 + more) + 1.0 / (self.b.1 + more))
    }
}

/// What is to come.
struct Outlook {
    /// Tasks in all.
    tasks: f64,
    /// The variance of one task's difference then.
    variance: f64,
    /// The share of the information that is there already.
    known: f64,
    /// What one attempt is worth of a task's mean.
    share: f64,
}

impl<'p> Seen<'p> {
    fn of(both: &[PairedScores<'_>], plan: &'p Plan) -> Self {
        let n = both.len() as f64;
        let differences: Vec<f64> = both.iter().map(PairedScores::difference).collect();
        let clusters: Vec<usize> = both.iter().map(|row| row.cluster).collect();
        let spread = clustered_mean(&differences, &clusters).spread;
        let of_difference = spread.map_or(0.0, |spread| spread.variance * n);
        let side = |scores: fn(&PairedScores<'_>) -> Vec<f64>| -> Option<(f64, f64)> {
            let all: Vec<Vec<f64>> = both.iter().map(scores).collect();
            let attempts = n / sum(all.iter().map(|scores| 1.0 / scores.len() as f64));
            let variances = within_task_variances(&all).ok()?;
            Some((mean(&variances), attempts))
        };
        let sides = side(|row| row.a.to_vec()).zip(side(|row| row.b.to_vec()));
        let attempts = sides.map(|(a, b)| AttemptVariance {
            between: match plan.about {
                About::Suite => 0.0,
                About::Tasks => (of_difference - a.0 / a.1 - b.0 / b.1).max(0.0),
            },
            a,
            b,
        });
        let fail_alpha = plan.fail_alpha.unwrap_or(plan.alpha.value());
        Self {
            plan,
            tasks: both.len(),
            difference: mean(&differences),
            of_difference,
            attempts,
            pass_quantile: normal::upper_quantile(plan.alpha.value()),
            fail_quantile: normal::upper_quantile(fail_alpha),
        }
    }

    /// How many more, if `truth` is the true difference. At the threshold nothing ever settles.
    fn further(&self, truth: f64) -> Further {
        if (truth - self.plan.at).abs() < TIE {
            return Further::default();
        }
        Further {
            attempts_per_task: self.further_attempts(truth),
            tasks: match self.plan.about {
                About::Tasks => self.further_tasks(truth),
                About::Suite => None,
            },
        }
    }

    fn further_attempts(&self, truth: f64) -> Option<u32> {
        let attempts = self.attempts.as_ref()?;
        let now = attempts.with(0.0);
        if now <= 0.0 {
            return None;
        }
        (1..=self.plan.most).find(|more| {
            let more = f64::from(*more);
            let variance = attempts.with(more);
            let outlook = Outlook {
                tasks: self.tasks as f64,
                variance,
                known: variance / now,
                share: attempts.share(more),
            };
            self.chance_to_settle(truth, &outlook) >= self.plan.power
        })
    }

    fn further_tasks(&self, truth: f64) -> Option<usize> {
        let mut further = 0;
        while further < MOST_TASKS {
            // Steps of a fiftieth: nobody plans 40,001 tasks.
            further += (further / 50).max(1);
            let all = (self.tasks + further) as f64;
            let outlook = Outlook {
                tasks: all,
                variance: self.of_difference,
                known: self.tasks as f64 / all,
                share: 0.0,
            };
            if self.chance_to_settle(truth, &outlook) >= self.plan.power {
                return Some(further);
            }
        }
        None
    }

    fn chance_to_settle(&self, truth: f64, outlook: &Outlook) -> f64 {
        let Self { plan, .. } = self;
        let Outlook {
            tasks: n,
            variance,
            known,
            share,
        } = *outlook;
        let (at, passes) = (plan.at, truth > plan.at);
        let guarded = plan.about == About::Tasks && at < 0.0 && passes;
        // What the variance of the estimate will be said to be, imaginary observations included.
        let claimed = if guarded {
            (n * variance + 2.0) / ((n + 1.0) * (n + 2.0))
        } else {
            let flips = match plan.about {
                About::Suite => 2.0 * share * share / (n * n),
                About::Tasks => 0.0,
            };
            variance / n + flips
        };
        let centre = known * self.difference + (1.0 - known) * truth;
        let deviation = (variance / n * (1.0 - known)).max(0.0).sqrt();
        let room = if passes {
            let shrink = if guarded { n / (n + 2.0) } else { 1.0 };
            centre * shrink - at - self.pass_quantile * claimed.sqrt()
        } else {
            at - self.fail_quantile * claimed.sqrt() - centre
        };
        if deviation < 1e-15 {
            return if room > 0.0 { 1.0 } else { 0.0 };
        }
        normal::cdf(room / deviation)
    }
}
