//! A running server, over HTTP.

use std::time::Duration;

use crate::failure::Failure;

/// How long a server may take to load a model: compilers of interpreters take a while on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// A server's address.
pub struct Server {
    url: String,
    agent: ureq::Agent,
}

impl Server {
    /// `url` is that of its HTTP endpoint, without a path.
    ///
    /// # Errors
    /// Usage: it is no such address.
    pub fn new(url: &str) -> Result<Self, Failure> {
        let url = url.trim_end_matches('/');
        let host = url.strip_prefix("http://").unwrap_or_default();
        if host.is_empty() || host.contains('/') {
            return Err(Failure::usage(format!(
                "'{url}' is no address of a server; expected one such as http://localhost:8000"
            )));
        }
        let config = ureq::Agent::config_builder()
            // An error has a sentence in its body.
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .build();
        Ok(Self { url: url.to_owned(), agent: config.new_agent() })
    }

    /// Its address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Asks it to load a model as its repository has it now.
    ///
    /// # Errors
    /// System: it cannot be reached. Plugin: it does not serve the model, with its reason.
    pub fn load(&self, model: &str) -> Result<(), Failure> {
        let path = format!("{}/v2/repository/models/{model}/load", self.url);
        let unreachable = |error: ureq::Error| {
            Failure::system(format!("cannot reach the server at {}: {error}", self.url))
                .fix("start it with `nacre serve --model-repository DIR`, or name another with --server")
        };
        let mut response = self.agent.post(&path).send_empty().map_err(unreachable)?;
        let status = response.status();
        if status.is_success() {
            return Ok(());
        }
        let body = response.body_mut().read_to_string().unwrap_or_default();
        let reason = serde_json::from_str::<serde_json::Value>(&body)
            .ok()
            .and_then(|body| body.get("error")?.as_str().map(str::to_owned))
            .unwrap_or(body);
        let failure =
            Failure::plugin(format!("the server at {} does not serve it: {status}: {reason}", self.url));
        Err(if status.as_u16() == 404 {
            failure.fix("its --model-repository has to be the folder that the plugin's folder lies in, or --repository")
        } else {
            failure
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_scheme_and_no_path() {
        assert_eq!(Server::new("http://localhost:8000/").unwrap().url(), "http://localhost:8000");
        for url in ["localhost:8000", "https://x", "http://", "http://x/v2"] {
            assert!(Server::new(url).is_err(), "{url}");
        }
    }
}
