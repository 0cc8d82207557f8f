//! How simulators read their configuration: everything that is wrong with it is named at once, each with its place.
//!
//! Reading has two parts. The first is about shapes and is the same for all simulators. The second is the simulator's own: what its settings
//! mean. It looks at every setting that has its shape, whatever is wrong with the others ([`ConfigProblems::read`]).

use std::collections::{BTreeMap, BTreeSet};

use proctor_core::{
    environment::{Dataset, Simulator},
    phrase::Phrase,
    problem::{Problem, Problems, in_plain_words, join},
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::{Path, Segment};

/// How a data set is named where something is wrong with it.
pub fn place_of(dataset: &Dataset) -> String {
    format!("data set '{}'", dataset.name)
}

/// What was found wrong so far.
#[derive(Debug, Default)]
pub struct ConfigProblems {
    found: Vec<Problem>,
    /// Where the items of lists stand that are read without those which have not their shape: for each setting, the places of the others.
    places: BTreeMap<String, Vec<usize>>,
}

impl ConfigProblems {
    /// Reads a configuration and notes what has not its shape. What is returned is for the simulator's own checks: settings of the right shape, lists
    /// without the items that have not theirs, and defaults for the rest.
    pub fn read<T: DeserializeOwned + Default>(config: &Value) -> (T, Self) {
        let (read, found) = read_shape::<T>(config);
        let mut problems = Self {
            found,
            places: BTreeMap::new(),
        };
        if problems.found.is_empty() {
            return (read, problems);
        }
        let rest = problems.without_wrong_ones(config);
        let read = deserialize(&rest).unwrap_or_default();
        (read, problems)
    }

    /// The settings of a configuration that have their shape.
    fn without_wrong_ones(&mut self, config: &Value) -> Value {
        let Value::Object(settings) = config else {
            return Value::Object(serde_json::Map::new());
        };
        let mut settings = settings.clone();
        for problem in &self.found {
            let mut steps = problem.path.split('.').skip(1);
            let Some(setting) = steps.next() else {
                continue;
            };
            let item = steps.next().and_then(|step| step.parse::<usize>().ok());
            match (settings.get(setting), item) {
                (Some(Value::Array(list)), Some(item)) => {
                    let all = || (0..list.len()).collect();
                    let places = self.places.entry(setting.to_owned()).or_insert_with(all);
                    places.retain(|place| *place != item);
                }
                _ => {
                    settings.remove(setting);
                    self.places.remove(setting);
                }
            }
        }
        for (setting, places) in &self.places {
            if let Some(Value::Array(list)) = settings.get_mut(setting) {
                let kept = places.iter().filter_map(|place| list.get(*place).cloned());
                *list = kept.collect();
            }
        }
        Value::Object(settings)
    }

    /// Where the author wrote what stands at `place` of the settings that were read.
    fn as_written(&self, place: &str) -> String {
        let (setting, rest) = place.split_once('.').unwrap_or((place, ""));
        let (item, inside) = rest.split_once('.').unwrap_or((rest, ""));
        let written = self.places.get(setting).zip(item.parse::<usize>().ok());
        match written.and_then(|(places, item)| places.get(item)) {
            Some(written) => join(&join(setting, &written.to_string()), inside),
            None => place.to_owned(),
        }
    }

    /// Says what is wrong at a place of the configuration.
    pub fn add(&mut self, place: &str, message: impl Into<String>) {
        let place = join("config", &self.as_written(place));
        self.found.push(Problem::error(place, message));
    }

    /// Refuses all data sets, for a simulator that begins with nothing.
    pub fn refuse_datasets(&mut self, simulator: &Simulator) {
        for dataset in &simulator.datasets {
            self.found.push(Problem::error(
                place_of(dataset),
                format!("{} simulators take no data sets", simulator.kind.as_str()),
            ));
        }
    }

    /// Folds a phrase to listen for; one without words could never be said.
    pub fn phrase(&mut self, place: &str, text: &str) -> Phrase {
        let phrase = Phrase::fold(text);
        if phrase.is_empty() {
            self.add(place, "must have at least one word");
        }
        phrase
    }

    /// Everything that was found.
    pub fn into_vec(self) -> Vec<Problem> {
        self.found
    }

    /// The refusal that says everything, if there is anything to say.
    pub fn finish(self) -> Result<(), Problems> {
        Problems::none_of(self.found)
    }
}

/// More problems than anybody reads at once are not looked for.
const MOST_PROBLEMS: usize = 100;

/// Reads a value that an author wrote; what is wrong is named with its place in the value.
pub fn read_value<T: DeserializeOwned>(value: &Value) -> Result<T, Problem> {
    deserialize(value).map_err(|error| {
        let mut place = String::new();
        for segment in error.path().iter() {
            match segment {
                Segment::Map { key } | Segment::Enum { variant: key } => place = join(&place, key),
                Segment::Seq { index } => place = join(&place, &index.to_string()),
                Segment::Unknown => {}
            }
        }
        Problem::error(place, in_plain_words(&error.inner().to_string()))
    })
}

/// Reads a value by way of its text: there, what is wrong with a number is said with what it should be.
fn deserialize<T: DeserializeOwned>(
    value: &Value,
) -> Result<T, serde_path_to_error::Error<serde_json::Error>> {
    let text = value.to_string();
    serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(&text))
}

/// What of a configuration has its shape, and what is wrong with the rest, however deep it stands.
fn read_shape<T: DeserializeOwned + Default>(config: &Value) -> (T, Vec<Problem>) {
    if config.is_null() {
        return (T::default(), Vec::new());
    }
    match read_all(config) {
        Ok(read) => (read, Vec::new()),
        Err(problems) => (T::default(), problems),
    }
}

/// Reads a value that an author wrote, or names everything that has not its shape, with its place in the value.
pub fn read_every<T: DeserializeOwned>(value: &Value) -> Result<T, Problems> {
    read_all(value).or_else(|found| {
        let inside = found.into_iter().map(without_root).collect();
        Problems::none_of(inside)?;
        // Nothing is wrong with any part, and still it is not what it should be.
        read_value(value).map_err(Problems::from)
    })
}

/// A problem as seen from inside of what was read.
pub(crate) fn without_root(problem: Problem) -> Problem {
    let path = problem.path.strip_prefix(ROOT).unwrap_or(&problem.path);
    Problem {
        path: path.strip_prefix('.').unwrap_or(path).to_owned(),
        ..problem
    }
}

/// Where the places of what is read begin.
const ROOT: &str = "config";

fn read_all<T: DeserializeOwned>(value: &Value) -> Result<T, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut unread = Unread {
        settings: value.clone(),
        taken: BTreeMap::new(),
        gone: BTreeMap::new(),
    };
    loop {
        match deserialize::<T>(&unread.settings) {
            Ok(read) if problems.is_empty() => return Ok(read),
            Ok(_) => break,
            Err(error) => {
                let message = error.inner().to_string();
                let passed = unread.pass(error.path(), &message);
                if passed.is_own {
                    problems.push(Problem::error(passed.place, in_plain_words(&message)));
                }
                if !passed.goes_on || problems.len() == MOST_PROBLEMS {
                    break;
                }
            }
        }
    }
    Err(problems)
}

/// How a simulator reads its configuration, all of whose problems are ones of shape.
pub fn read_config<T: DeserializeOwned + Default>(config: &Value) -> Result<T, Problems> {
    let (read, problems) = read_shape(config);
    Problems::none_of(problems).map(|()| read)
}

/// What is still to be read of a configuration, once what is wrong in it is passed over. Places are as the author wrote them.
struct Unread {
    settings: Value,
    /// What was taken out of what stands at a place: the names of members.
    taken: BTreeMap<String, BTreeSet<String>>,
    /// How many of the first members of the list at a place are no longer in it.
    gone: BTreeMap<String, usize>,
}

/// What was passed over.
struct Passed {
    place: String,
    /// Whether it is wrong by itself, whatever was passed over before.
    is_own: bool,
    /// Whether there is more to read.
    goes_on: bool,
}

impl Unread {
    /// Takes the innermost value that a path leads to out of what is still to be read.
    fn pass(&mut self, path: &Path, message: &str) -> Passed {
        let mut place = ROOT.to_owned();
        let mut around = ROOT.to_owned();
        let mut last = None;
        let mut value = Some(&mut self.settings);
        // Where the value stands that holds the last step of the path: looked up again at the end, because it cannot be kept.
        let mut steps = Vec::new();
        for segment in path.iter() {
            let next = match (segment, value.take()) {
                (
                    Segment::Map { key } | Segment::Enum { variant: key },
                    Some(Value::Object(map)),
                ) => map
                    .get_mut(key)
                    .map(|inner| (Inward::Member(key.clone()), key.clone(), inner)),
                (Segment::Seq { index }, Some(Value::Array(list))) => {
                    let written = index + self.gone.get(&place).copied().unwrap_or_default();
                    list.get_mut(*index)
                        .map(|inner| (Inward::Item(*index), written.to_string(), inner))
                }
                _ => None,
            };
            let Some((step, name, inner)) = next else {
                break;
            };
            around.clone_from(&place);
            place = join(&place, &name);
            last = Some(name);
            steps.push(step);
            value = Some(inner);
        }
        // Without what was taken out of it, something may be missing that is not.
        let is_own = match self.taken.get(&place) {
            None => true,
            Some(taken) => missing_member(message).is_some_and(|name| !taken.contains(name)),
        };
        let goes_on = match (steps.pop(), last) {
            (Some(step), Some(name)) => {
                self.take(&steps, step, &around);
                self.taken.entry(around).or_default().insert(name);
                true
            }
            _ => false,
        };
        Passed {
            place,
            is_own,
            goes_on,
        }
    }

    /// Takes out what stands one step behind `steps`, at the place `around`.
    fn take(&mut self, steps: &[Inward], step: Inward, around: &str) {
        let mut holder = &mut self.settings;
        for step in steps {
            let inner = match step {
                Inward::Member(name) => holder.get_mut(name),
                Inward::Item(index) => holder.get_mut(index),
            };
            match inner {
                Some(inner) => holder = inner,
                None => return,
            }
        }
        match (holder, step) {
            (Value::Object(map), Inward::Member(name)) => {
                map.remove(&name);
            }
            (Value::Array(list), Inward::Item(index)) if index < list.len() => {
                // Those before it are right: reading stops at the first that is not.
                list.drain(..=index);
                *self.gone.entry(around.to_owned()).or_default() += index + 1;
            }
            _ => {}
        }
    }
}

/// One step into a document.
enum Inward {
    Member(String),
    Item(usize),
}

/// The member that is missing, if that is what a message says.
fn missing_member(message: &str) -> Option<&str> {
    message.strip_prefix("missing field `")?.split('`').next()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Config {
        beds: u8,
        rooms: Vec<Room>,
        ward: Option<String>,
        desk: Option<Desk>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Desk {
        phone: u32,
        clerk: String,
        shifts: Vec<Vec<u8>>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Room {
        number: u8,
    }

    #[test]
    fn everything_that_is_wrong_with_a_configuration_is_named_at_once() {
        let wrong = json!({
            "beds": "two",
            "color": "green",
            "rooms": [{"number": 1}, {"number": "two"}, {"number": 3}, {"number": -4}, {}],
            "ward": 7,
        });
        let problems = read_config::<Config>(&wrong).unwrap_err();
        let places: Vec<&str> = problems.iter().map(|one| one.path.as_str()).collect();
        let expected = [
            "config.beds",
            "config.color",
            "config.rooms.1.number",
            "config.rooms.3.number",
            "config.rooms.4",
            "config.ward",
        ];
        assert_eq!(places, expected, "{problems}");
    }

    #[test]
    fn what_is_wrong_inside_of_a_setting_does_not_hide_what_else_is_wrong_there() {
        let desk =
            json!({"phone": -1, "color": "green", "shifts": [[1, 2], [3, "x", 5, 600], "y", []]});
        let wrong = json!({"desk": desk, "ward": 7});
        let problems = read_config::<Config>(&wrong).unwrap_err();
        let places: Vec<&str> = problems.iter().map(|one| one.path.as_str()).collect();
        let expected = [
            "config.desk.color",
            "config.desk.phone",
            "config.desk.shifts.1.1",
            "config.desk.shifts.1.3",
            "config.desk.shifts.2",
            "config.ward",
        ];
        assert_eq!(places, expected, "{problems}");
        let plain =
            "config.desk.shifts.1.1: must be a whole number from 0 to 255, not the text \"x\"";
        assert!(problems.to_string().contains(plain), "{problems}");
    }

    #[test]
    fn what_is_missing_beside_something_wrong_is_named_too() {
        let lacking = json!({"desk": {"phone": 1, "shifts": "none"}});
        let problems = read_config::<Config>(&lacking).unwrap_err();
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let expected = [
            "config.desk.shifts: must be a list, not the text \"none\"",
            "config.desk: 'clerk' is required",
        ];
        assert_eq!(said, expected);
    }

    #[test]
    fn settings_of_the_right_shape_are_looked_at_whatever_is_wrong_with_others() {
        let wrong = json!({
            "beds": 1.5,
            "rooms": [{"number": 1}, {"number": "two"}, {"number": 3}, 4, {"number": 5}],
            "ward": "",
        });
        let (config, mut problems) = ConfigProblems::read::<Config>(&wrong);
        assert_eq!(config.beds, 0, "not what was written");
        for (index, room) in config.rooms.iter().enumerate() {
            problems.add(&format!("rooms.{index}.number"), room.number.to_string());
        }
        problems.add("rooms", "are many");
        problems.add("ward", "must not be empty");
        let said: Vec<String> = problems
            .into_vec()
            .iter()
            .map(ToString::to_string)
            .collect();
        let expected = [
            "config.beds: must be a whole number from 0 to 255, not the number 1.5",
            "config.rooms.1.number: must be a whole number from 0 to 255, not the text \"two\"",
            "config.rooms.3: must be an object, not the number 4",
            "config.rooms.0.number: 1",
            "config.rooms.2.number: 3",
            "config.rooms.4.number: 5",
            "config.rooms: are many",
            "config.ward: must not be empty",
        ];
        assert_eq!(said, expected);
    }

    #[test]
    fn a_setting_that_is_wrong_inside_is_left_out_of_the_second_look() {
        let wrong = json!({"desk": {"phone": 1, "clerk": "Ada", "shifts": [["x"]]}, "beds": 3});
        let (config, problems) = ConfigProblems::read::<Config>(&wrong);
        assert_eq!((config.beds, config.desk), (3, None));
        assert_eq!(problems.into_vec().len(), 1);
        let (config, problems) = ConfigProblems::read::<Config>(&json!("beds"));
        assert_eq!(config, Config::default());
        assert!(problems.finish().is_err());
    }

    #[test]
    fn a_configuration_that_is_no_object_is_one_problem() {
        let problems = read_config::<Config>(&json!("beds")).unwrap_err();
        let places: Vec<&str> = problems.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(places, ["config"]);
        assert_eq!(
            read_config::<Config>(&json!({"beds": 2})).unwrap(),
            Config {
                beds: 2,
                ..Config::default()
            }
        );
        assert_eq!(
            read_config::<Config>(&Value::Null).unwrap(),
            Config::default()
        );
    }
}
