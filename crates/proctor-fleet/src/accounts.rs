//! Who works in a devbox: the usual account, or one that is made for it.

use std::time::Duration;

use proctor_core::devbox::{DevboxSetup, UserParameters};
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
    match &setup.launch.user {
        None => Ok(Account {
            user: User::Named(USUAL.to_owned()),
            home: USUAL_HOME.to_owned(),
        }),
        Some(wanted) => make(devbox, wanted).await,
    }
}

/// Whether the box can tell users apart.
pub(crate) fn has_many_users(record: &BoxRecord) -> bool {
    !record
        .enforcement
        .iter()
        .any(|line| line.property == Property::ManyUsers && matches!(line.how, How::Missing(_)))
}

async fn make(devbox: &dyn Devbox, wanted: &UserParameters) -> Result<Account, FleetError> {
    let id = ExecId::new("account").expect("letters only");
    let uid = wanted.uid.to_string();
    let argv = ["/bin/sh", "-c", ENSURE, "sh", &wanted.username, &uid];
    let mut spec = ExecSpec::new(id, argv);
    spec.timeout = Some(Duration::from_secs(30));
    let execution = devbox.exec(spec).await?;
    let exit = execution.wait().await?;
    if !exit.success() {
        let said = output::tail(&*execution, Stream::Stderr, 5).await?;
        return Err(FleetError::invalid(
            "launch_parameters.user_parameters",
            format!("the account could not be made: {}", said.text.trim()),
        ));
    }
    let home = output::tail(&*execution, Stream::Stdout, 1).await?.text;
    Ok(Account {
        user: User::Named(wanted.username.clone()),
        home,
    })
}
