//! The flow of a host's session, and what it is called.

use super::CallJudge;
use crate::hooks::Call;
use crate::session::session_name;
use writkeeper::flow_names;

impl CallJudge<'_> {
    /// What the session is called.
    pub(super) fn session_name(&self, call: &Call) -> String {
        session_name(self.host, &call.session)
    }

    /// The flow of the session.
    pub(super) fn flow(&self, call: &Call) -> Result<String, String> {
        if let Some(flow) = self.flow.get() {
            return Ok(flow.clone());
        }
        let named = flow_names::named(&self.runtime, self.host.word, &self.session_name(call));
        let flow = named.map_err(|error| error.to_string())?;
        Ok(self.flow.get_or_init(|| flow).clone())
    }
}
