//! A session channel: what its client asks for, until a program or SFTP begins.

use std::collections::BTreeMap;

use proctor_core::causes::with_causes;
use proctor_devbox::Terminal;
use proctor_fleet::{Entrance, SessionRequest};
use russh::{
    Channel, ChannelMsg,
    server::{Handle, Msg},
};

use crate::program;

/// The subsystem that is offered.
pub(crate) const SFTP: &str = "sftp";

/// Variables that a client may set for one program, and how long their names and values may be together.
const MOST_VARIABLES: usize = 64;
const LONGEST_VARIABLES: usize = 64 << 10;

/// Serves a channel until it is over.
pub(crate) async fn serve(mut channel: Channel<Msg>, handle: Handle, entrance: &Entrance) {
    let mut request = SessionRequest::default();
    while let Some(message) = channel.wait().await {
        match message {
            ChannelMsg::RequestPty {
                term,
                col_width,
                row_height,
                ..
            } => {
                set(&mut request.environment, "TERM", &term);
                request.terminal = Some(window(col_width, row_height));
            }
            ChannelMsg::WindowChange {
                col_width,
                row_height,
                ..
            } if request.terminal.is_some() => {
                request.terminal = Some(window(col_width, row_height));
            }
            ChannelMsg::SetEnv {
                variable_name,
                variable_value,
                ..
            } => set(&mut request.environment, &variable_name, &variable_value),
            ChannelMsg::RequestShell { .. } => {
                return program::run(channel, handle, entrance, request).await;
            }
            ChannelMsg::Exec { command, .. } => {
                request.command = Some(String::from_utf8_lossy(&command).into_owned());
                return program::run(channel, handle, entrance, request).await;
            }
            ChannelMsg::RequestSubsystem { name, .. } if name == SFTP => {
                return sftp(channel, handle, entrance).await;
            }
            ChannelMsg::Close => return,
            _ => {}
        }
    }
}

/// Notes a variable, if no program could be hurt by it that did not ask for it.
fn set(environment: &mut BTreeMap<String, String>, name: &str, value: &str) {
    let length: usize = environment
        .iter()
        .map(|(name, value)| name.len() + value.len())
        .sum();
    let fits = environment.len() < MOST_VARIABLES
        && length + name.len() + value.len() <= LONGEST_VARIABLES;
    if fits && !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0') {
        environment.insert(name.to_owned(), value.to_owned());
    }
}

/// The size of a window; what makes no sense is that of an old terminal.
pub(crate) fn window(columns: u32, rows: u32) -> Terminal {
    let within = |number: u32, usual: u16| match u16::try_from(number) {
        Ok(0) | Err(_) => usual,
        Ok(number) => number,
    };
    Terminal {
        columns: within(columns, 80),
        rows: within(rows, 24),
    }
}

async fn sftp(channel: Channel<Msg>, handle: Handle, entrance: &Entrance) {
    let id = channel.id();
    let status = match entrance.sftp().await {
        Ok(mut inside) => {
            let mut outside = channel.into_stream();
            let _ = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
            0
        }
        Err(error) => {
            let why = format!("{}\r\n", with_causes(&error));
            let _ = handle.extended_data(id, 1, why).await;
            1
        }
    };
    let _ = handle.exit_status_request(id, status).await;
    let _ = handle.close(id).await;
}
