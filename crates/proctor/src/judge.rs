//! The judge of free text that the settings name.

use std::sync::Arc;

use proctor_engine::text_judge::{ModelJudge, TextJudge};
use secrecy::SecretString;

use crate::{exit::WrongUse, settings::ServeSettings};

/// The judge that the settings name; none where they name none. Half a judge keeps the server from starting.
pub(crate) fn of(serve: &ServeSettings) -> anyhow::Result<Option<Arc<dyn TextJudge>>> {
    let (url, model) = match (&serve.judge_url, &serve.judge_model) {
        (Some(url), Some(model)) => (url, model),
        (None, None) if serve.judge_key_file.is_none() => return Ok(None),
        _ => {
            let message = "a judge of free text needs both judge-url and judge-model";
            return Err(WrongUse(message.to_owned()).into());
        }
    };
    let is_http = url.starts_with("http://") || url.starts_with("https://");
    if !is_http {
        let message =
            format!("judge-url: '{url}' is not an address that begins with http:// or https://");
        return Err(WrongUse(message).into());
    }
    let key = match &serve.judge_key_file {
        Some(file) => {
            let text = fs_err::read_to_string(file).map_err(|error| WrongUse(error.to_string()))?;
            Some(SecretString::from(text.trim().to_owned()))
        }
        None => None,
    };
    Ok(Some(Arc::new(ModelJudge::new(url, model, key)?)))
}
