//! What a flow is called beside its id: an agent's host names its sessions, and people know them by that name.
//!
//! Both directions are state under the agent's own keys, so that they are recorded and replayed like any other state.

/// The key of state that holds the name of an agent's flow.
pub fn name_key(agent: &str, flow: &str) -> String {
    format!("agents/{agent}/flows/{flow}")
}

/// The key of state that holds the flow of a name.
pub fn flow_key(agent: &str, name: &str) -> String {
    format!("agents/{agent}/sessions/{name}")
}
