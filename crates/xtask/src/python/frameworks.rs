//! Agent frameworks, each in an environment that is kept, with the one story that every adapter must hold.

use super::environment::Environment;
use super::{PACKAGE, TESTING, pytest};
use crate::suite::tally::Tally;
use anyhow::{Result, bail};
use std::path::Path;

/// A framework: the name of its adapter, and what it is installed from.
struct Framework {
    name: &'static str,
    packages: &'static [&'static str],
}

/// Every framework there is an adapter for.
const ALL: &[Framework] = &[
    Framework { name: "langchain", packages: &["langchain", "langgraph"] },
    Framework { name: "openai_agents", packages: &["openai-agents"] },
    Framework { name: "pydantic_ai", packages: &["pydantic-ai-slim"] },
    Framework { name: "crewai", packages: &["crewai"] },
    Framework { name: "mcp", packages: &["mcp>=2"] },
    Framework { name: "claude", packages: &["claude-agent-sdk"] },
    Framework { name: "adk", packages: &["google-adk"] },
    Framework { name: "ag2", packages: &["ag2>=1"] },
    Framework { name: "autogen", packages: &["autogen-agentchat", "autogen-ext"] },
];

/// Those that the test command drives; the others are larger than everything else together.
pub const TESTED: &[&str] = &["langchain", "openai_agents"];

/// Drives the frameworks of these names; all of them if none is named.
pub fn run(root: &Path, wheel: &Path, names: &[&str], tally: &mut Tally) -> Result<()> {
    if let Some(unknown) = names.iter().find(|name| !ALL.iter().any(|framework| framework.name == **name)) {
        let known: Vec<&str> = ALL.iter().map(|framework| framework.name).collect();
        bail!("there is no adapter `{unknown}`; known: {}", known.join(", "));
    }
    for framework in ALL.iter().filter(|framework| names.is_empty() || names.contains(&framework.name)) {
        let name = framework.name;
        println!("── framework {name}");
        let packages = [framework.packages, TESTING].concat();
        let environment = Environment::cached(&format!("framework-{name}"), "python3", &packages)?;
        environment.install_again(wheel)?;
        let tests = root.join(PACKAGE).join("tests/frameworks");
        let file = format!("test_{name}.py");
        pytest::run(environment.python(), &tests, &[&file], &format!("framework {name}"), tally)?;
    }
    Ok(())
}
