//! Policies: what is listed is reached, and nothing else.

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use super::{Failed, Outcome, Outcome::Passed, Probe, Verdict, probe::ensure};
use crate::{
    backend::Devbox,
    error::Error,
    network::{EgressPolicy, InvalidHost, Network},
    record::{BoxState, Property},
    spec::{BoxSpec, ExecSpec, Volume},
};

/// A server on the host that greets whoever speaks HTTP to it, until it is dropped.
struct Greeter {
    address: SocketAddr,
    _stop: DropGuard,
}

async fn greeter(greeting: &'static str) -> Result<Greeter, Failed> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let stop = CancellationToken::new();
    let until = stop.clone();
    TaskTracker::new().spawn(until.run_until_cancelled_owned(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let length = greeting.len();
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{greeting}"
            );
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    }));
    Ok(Greeter {
        address,
        _stop: stop.drop_guard(),
    })
}

fn policy(hosts: &[String]) -> Result<EgressPolicy, Failed> {
    let hosts: Result<_, InvalidHost> = hosts.iter().map(|text| text.parse()).collect();
    Ok(EgressPolicy {
        hosts: hosts.map_err(|error| Failed(error.to_string()))?,
        ..EgressPolicy::default()
    })
}

async fn allowed(probe: &mut Probe, hosts: &[String]) -> Result<Arc<dyn Devbox>, Failed> {
    let mut spec = probe.spec()?;
    spec.network = Network::Allow(policy(hosts)?);
    probe.start(spec).await
}

/// What the proxy answers to a request; further lines are sent once it has answered the first.
async fn ask(
    probe: &Probe,
    devbox: &Arc<dyn Devbox>,
    request: &str,
    then: Option<&str>,
) -> Result<String, Failed> {
    let end = "\\r\\nHost: any\\r\\nConnection: close\\r\\n\\r\\n";
    let then = then.map_or(String::new(), |then| {
        format!("read -r line <&3; echo \"$line\"; read -r line <&3; printf '{then}{end}' >&3;")
    });
    let script = format!(
        "proxy=${{http_proxy#http://}}; exec 3<>/dev/tcp/${{proxy%:*}}/${{proxy##*:}} || exit 1; \
         printf '{request}{end}' >&3; {then} cat <&3"
    );
    let spec = ExecSpec::new(probe.exec_id()?, ["bash", "-c", &script]);
    Ok(probe.finish(&devbox.exec(spec).await?).await?.stdout)
}

/// Why a box cannot be asked.
async fn unable(probe: &Probe, devbox: &Arc<dyn Devbox>) -> Result<Option<Outcome>, Failed> {
    let bash = probe.sh(devbox, "command -v bash").await?;
    if !bash.exit.success() {
        return Ok(Some(Outcome::Skipped("the base has no bash".to_owned())));
    }
    probe.lacks(devbox, Property::Egress).await
}

pub(super) async fn what_a_policy_lists_is_reached(probe: &mut Probe) -> Verdict {
    let host = greeter("hello from outside\n").await?;
    let address = host.address;
    let mut devbox = allowed(probe, &[address.to_string()]).await?;
    if let Some(skipped) = unable(probe, &devbox).await? {
        return Ok(skipped);
    }
    for time in [
        "at first",
        "after a snapshot",
        "after a restart",
        "after a stop",
    ] {
        match time {
            "after a snapshot" => {
                let layer = probe.layer()?;
                devbox.snapshot(layer, BTreeMap::new()).await?;
            }
            "after a restart" => {
                let id = devbox.id().clone();
                drop(devbox);
                probe.restart().await?;
                devbox = probe.backend().open(&id).await?;
            }
            "after a stop" => {
                devbox.stop().await?;
                devbox.start().await?;
            }
            _ => {}
        }
        let plain = format!("GET http://{address}/ HTTP/1.1");
        let seen = ask(probe, &devbox, &plain, None).await?;
        ensure!(
            seen.starts_with("HTTP/1.1 200 ") && seen.ends_with("hello from outside\n"),
            "{time}: {seen:?}"
        );
        let connect = format!("CONNECT {address} HTTP/1.1");
        let seen = ask(probe, &devbox, &connect, Some("GET / HTTP/1.1")).await?;
        ensure!(
            seen.starts_with("HTTP/1.1 200 ") && seen.ends_with("hello from outside\n"),
            "{time}, by CONNECT: {seen:?}"
        );
    }
    Ok(Passed)
}

pub(super) async fn what_a_policy_does_not_list_is_refused(probe: &mut Probe) -> Verdict {
    let listed = greeter("listed").await?;
    let other = greeter("secret").await?;
    let hosts = [
        listed.address.to_string(),
        // A name is not an address: it does not lead to this machine, though it is listed.
        "localhost".to_owned(),
        "*.example.com".to_owned(),
    ];
    let devbox = allowed(probe, &hosts).await?;
    if let Some(skipped) = unable(probe, &devbox).await? {
        return Ok(skipped);
    }
    let port = other.address.port();
    for target in [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("[::1]:{port}"),
        format!("[::ffff:127.0.0.1]:{port}"),
        format!("0.0.0.0:{port}"),
        "169.254.169.254:80".to_owned(),
        "10.0.0.1:80".to_owned(),
        "example.com:80".to_owned(),
        "example.org:80".to_owned(),
    ] {
        for request in [
            format!("CONNECT {target} HTTP/1.1"),
            format!("GET http://{target}/ HTTP/1.1"),
        ] {
            let seen = ask(probe, &devbox, &request, None).await?;
            ensure!(
                seen.starts_with("HTTP/1.1 403 ") && seen.contains("this devbox may not reach "),
                "{request}: {seen:?}"
            );
        }
    }
    for request in [
        "GET / HTTP/1.1".to_owned(),
        format!("CONNECT 127.1:{port} HTTP/1.1"),
        format!("CONNECT 2130706433:{port} HTTP/1.1"),
        "CONNECT nowhere HTTP/1.1".to_owned(),
    ] {
        let seen = ask(probe, &devbox, &request, None).await?;
        ensure!(seen.starts_with("HTTP/1.1 400 "), "{request}: {seen:?}");
    }
    // There is no way but through the proxy.
    let script = format!(
        "(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>&1; (exec 3<>/dev/tcp/{}/{}) 2>&1; tail -n +2 /proc/net/route | wc -l",
        listed.address.ip(),
        listed.address.port()
    );
    let spec = ExecSpec::new(probe.exec_id()?, ["bash", "-c", &script]);
    let seen = probe.finish(&devbox.exec(spec).await?).await?;
    ensure!(
        seen.stdout.matches("refused").count() >= 2 && seen.stdout.ends_with("0\n"),
        "{seen:?}"
    );
    Ok(Passed)
}

pub(super) async fn a_policy_is_changed_while_the_box_runs(probe: &mut Probe) -> Verdict {
    let first = greeter("first").await?;
    let second = greeter("second").await?;
    let hosts = [first.address.to_string(), second.address.to_string()];
    let mut devbox = allowed(probe, &hosts).await?;
    if let Some(skipped) = unable(probe, &devbox).await? {
        return Ok(skipped);
    }
    match devbox.set_egress(policy(&hosts[..1])?).await {
        Err(Error::NotOffered(what)) => return Ok(Outcome::Skipped(what.to_owned())),
        other => other?,
    }
    for time in ["at once", "after a restart"] {
        if time == "after a restart" {
            let id = devbox.id().clone();
            drop(devbox);
            probe.restart().await?;
            devbox = probe.backend().open(&id).await?;
        }
        for (host, is_reached) in [(&first, true), (&second, false)] {
            let request = format!("GET http://{}/ HTTP/1.1", host.address);
            let seen = ask(probe, &devbox, &request, None).await?;
            ensure!(
                seen.starts_with("HTTP/1.1 200 ") == is_reached,
                "{time}: {seen:?}"
            );
        }
    }
    // What it was made without it never gets.
    let mut spec = probe.spec()?;
    spec.network = Network::None;
    let alone = probe.start(spec).await?;
    let refused = alone.set_egress(policy(&hosts)?).await;
    ensure!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    Ok(Passed)
}

pub(super) async fn a_box_in_the_network_of_another_is_found_there_and_goes_with_it(
    probe: &mut Probe,
) -> Verdict {
    let volume = |at: &str| Volume {
        name: "data".to_owned(),
        at: at.to_owned(),
    };
    let main = BoxSpec {
        volumes: vec![volume("/srv/data")],
        ..probe.spec()?
    };
    let main = match probe.start(main).await {
        Err(Failed(why)) if why.contains("share a network") => return Ok(Outcome::Skipped(why)),
        other => other?,
    };
    let beside = BoxSpec {
        joins: Some(main.id().clone()),
        volumes: vec![volume("/var/lib/data")],
        ..probe.spec()?
    };
    let beside = probe.start(beside).await?;
    let python = probe
        .sh(&beside, "command -v python3 && command -v bash")
        .await?;
    if !python.exit.success() {
        return Ok(Outcome::Skipped("the base has no python3".to_owned()));
    }
    let serve = "import http.server,os\nos.chdir('/var/lib/data')\nopen('made','w').write('by the other')\n\
                 http.server.HTTPServer(('127.0.0.1', 80), http.server.SimpleHTTPRequestHandler).serve_forever()";
    let spec = ExecSpec::new(probe.exec_id()?, ["python3", "-c", serve]);
    beside.exec(spec).await?;
    let ask = "for i in $(seq 100); do (exec 3<>/dev/tcp/127.0.0.1/80) 2>/dev/null && break; sleep 0.05; done\n\
               exec 3<>/dev/tcp/127.0.0.1/80 || exit 1; printf 'GET /made HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3; echo; cat /srv/data/made";
    let spec = ExecSpec::new(probe.exec_id()?, ["bash", "-c", ask]);
    let seen = probe.finish(&main.exec(spec).await?).await?;
    ensure!(seen.stdout.matches("by the other").count() == 2, "{seen:?}");
    // Nothing else is shared.
    let alone = probe
        .sh(
            &beside,
            "touch /beside; test ! -e /srv/data; pgrep -f nothing; echo $$",
        )
        .await?;
    ensure!(alone.exit.success(), "{alone:?}");
    let unseen = probe.sh(&main, "test ! -e /beside").await?;
    ensure!(unseen.exit.success(), "disks are apart");
    let (id, host) = (beside.id().clone(), main.id().clone());
    drop((beside, main));
    probe.restart().await?;
    let main = probe.backend().open(&host).await?;
    let owned = [main.id().clone()].into();
    probe.backend().sweep(&owned).await?;
    let beside = probe.backend().open(&id).await?;
    ensure!(
        beside.record().await?.state == BoxState::Running,
        "it is its owner's"
    );
    main.destroy().await?;
    let gone = probe.backend().open(&id).await;
    ensure!(
        matches!(gone, Err(Error::NoSuchBox(_))),
        "it goes with the box whose network it is in"
    );
    Ok(Passed)
}
