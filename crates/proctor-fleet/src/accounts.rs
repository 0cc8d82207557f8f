//! Who works in a devbox: the usual account, or one that is made for it.

use std::time::Duration;

use proctor_core::devbox::{DevboxBase, DevboxSetup, UserParameters};
use proctor_devbox::{BoxRecord, Devbox, ExecId, ExecSpec, How, Property, Stream, User};

use crate::{error::FleetError, output};

/// The account that every base has.
const USUAL: &str = "user";
/// Where it is at home.
const USUAL_HOME: &str = "/home/user";

/// Somebody who works in a devbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) user: User,
    pub(crate) home: String,
}

/// Makes sure of an account: `$1` is its name, `$2` its number. Writes where it is at home.
const ENSURE: &str = r#"set -eu
if line=$(grep "^$1:" /etc/passwd); then
    uid=$(printf '%s' "$line" | cut -d: -f3)
    home=$(printf '%s' "$line" | cut -d: -f6)
    if [ "$uid" != "$2" ]; then
        echo "the account $1 exists with the number $uid" >&2
        exit 1
    fi
else
    home=/home/$1
    printf '%s:x:%s:%s::%s:/bin/bash\n' "$1" "$2" "$2" "$home" >>/etc/passwd
    printf '%s:x:%s:\n' "$1" "$2" >>/etc/group
    if [ -d /etc/sudoers.d ]; then
        printf '%s ALL=(ALL) NOPASSWD: ALL\n' "$1" >"/etc/sudoers.d/$1"
        chmod 440 "/etc/sudoers.d/$1"
    fi
    mkdir -p "$home"
    chown "$2:$2" "$home"
fi
printf '%s' "$home"
"#;

/// The account that `setup` asks for, made if it is not there.
pub(crate) async fn ensure(
    devbox: &dyn Devbox,
    record: &BoxRecord,
    setup: &DevboxSetup,
) -> Result<Account, FleetError> {
    if !has_many_users(record) {
        // One user only, who is root inside: at home where the usual account would be.
        return Ok(Account {
            user: User::Root,
            home: USUAL_HOME.to_owned(),
        });
    }
    let built = match &setup.base {
        DevboxBase::Blueprint { image, .. } => Some(image.user.as_deref()),
        DevboxBase::Host | DevboxBase::Snapshot(_) => None,
    };
    match (&setup.launch.user, built) {
        (Some(wanted), _) => make(devbox, wanted).await,
        (None, Some(Some(name))) => find(devbox, name).await,
        // What a blueprint builds on may not have the usual account.
        (None, Some(None)) => make(devbox, &usual()).await,
        (None, None) => Ok(Account {
            user: User::Named(USUAL.to_owned()),
            home: USUAL_HOME.to_owned(),
        }),
    }
}

/// Whether the box can tell users apart.
pub(crate) fn has_many_users(record: &BoxRecord) -> bool {
    !record
        .enforcement
        .iter()
        .any(|line| line.property == Property::ManyUsers && matches!(line.how, How::Missing(_)))
}

fn usual() -> UserParameters {
    UserParameters {
        username: USUAL.to_owned(),
        uid: 1000,
    }
}

/// Writes where the account with the name or number `$1` is at home.
const FIND: &str = r#"line=$(grep "^$1:" /etc/passwd || grep "^[^:]*:[^:]*:$1:" /etc/passwd) || exit 1
printf '%s' "$line" | head -n 1 | cut -d: -f6"#;

/// The account that a blueprint names, by name or by number.
async fn find(devbox: &dyn Devbox, name: &str) -> Result<Account, FleetError> {
    // A group may follow; the account's own is meant.
    let name = name.split(':').next().unwrap_or(name);
    let argv = ["/bin/sh", "-c", FIND, "sh", name];
    let found = run(devbox, argv).await?;
    let user = match name.parse() {
        Ok(uid) => User::Ids { uid, gid: uid },
        Err(_) => User::Named(name.to_owned()),
    };
    match (found, &user) {
        (Ok(home), _) => Ok(Account {
            user,
            home: home.trim_end().to_owned(),
        }),
        (Err(_), User::Ids { .. }) => Ok(Account {
            user,
            home: "/".to_owned(),
        }),
        (Err(_), _) => Err(FleetError::invalid(
            "blueprint",
            format!("its user '{name}' has no account"),
        )),
    }
}

/// Runs a script as root: what it wrote, or what it said when it failed.
async fn run<'a>(
    devbox: &dyn Devbox,
    argv: impl IntoIterator<Item = &'a str>,
) -> Result<Result<String, String>, FleetError> {
    let id = ExecId::new("account").expect("letters only");
    let mut spec = ExecSpec::new(id, argv);
    spec.timeout = Some(Duration::from_secs(30));
    let execution = devbox.exec(spec).await?;
    let exit = execution.wait().await?;
    let told = |stream| output::tail(&*execution, stream, 5);
    if exit.success() {
        Ok(Ok(told(Stream::Stdout).await?.text))
    } else {
        Ok(Err(told(Stream::Stderr).await?.text))
    }
}

async fn make(devbox: &dyn Devbox, wanted: &UserParameters) -> Result<Account, FleetError> {
    let uid = wanted.uid.to_string();
    let argv = ["/bin/sh", "-c", ENSURE, "sh", &wanted.username, &uid];
    match run(devbox, argv).await? {
        Ok(home) => Ok(Account {
            user: User::Named(wanted.username.clone()),
            home,
        }),
        Err(said) => Err(FleetError::invalid(
            "launch_parameters.user_parameters",
            format!("the account could not be made: {}", said.trim()),
        )),
    }
}
