//! The flow of a host's session, and what it is called.

use super::CallJudge;
use crate::hooks::Call;
use crate::session::session_name;
use kernel::world::{Entity, Row};
use writkeeper::flow_names;

impl CallJudge<'_> {
    /// The judge of a call: it follows the contract that counts for the flow of the session now, which may be a candidate
    /// that some flows are under, or one that came into force since the last call.
    pub fn of_call(mut self, call: &Call) -> Result<Self, String> {
        let flow = self.flow(call)?;
        let row = self.runtime.read(Entity::Agent(self.host.word.to_owned())).map_err(|fault| fault.to_string())?;
        let digest = match row {
            Some(Row::Agent(row)) => row.contract_for(&flow),
            Some(_) | None => None,
        };
        if let Some(digest) = digest.filter(|digest| *digest != self.contract.digest) {
            let contract = self.runtime.contract(digest).map_err(|fault| fault.to_string())?;
            (self.mode, self.plan) = (contract.contract.mode, contract.contract.enforcement_plan());
            self.contract = contract;
        }
        Ok(self)
    }

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
