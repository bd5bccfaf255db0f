//! Validators and judges as programs and addresses.

use crate::http_client::HttpClient;
use crate::program;
use kernel::advice::ANSWER_BYTES_MAX;
use kernel::contract::{Plugin, PluginSource};
use runtime::ports::advisor::Advisor;
use std::time::Duration;

/// Asks plug-ins by running programs and by posting to addresses.
#[derive(Debug, Default)]
pub struct PluginAdvisor;

impl Advisor for PluginAdvisor {
    fn ask(&self, plugin: &Plugin, question: &str) -> Result<Vec<u8>, String> {
        let timeout = Duration::from_micros(u64::try_from(plugin.timeout.micros()).unwrap_or_default());
        match &plugin.source {
            PluginSource::Command(words) => {
                let limits = program::Limits { timeout, output_bytes_max: ANSWER_BYTES_MAX };
                program::run(words, &plugin.env, question.as_bytes(), limits)
            }
            PluginSource::Url(address) => {
                let client = HttpClient { timeout, answer_bytes_max: ANSWER_BYTES_MAX, pinned: Vec::new() };
                let answer = client.post_json(address, question.as_bytes())?;
                match answer.status {
                    200 => Ok(answer.body),
                    status => Err(format!("it answered with HTTP status {status}")),
                }
            }
            PluginSource::Function(name) => Err(format!("this process has no function `{name}`")),
        }
    }
}
