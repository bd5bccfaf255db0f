//! `writkeeper keys …`: keys of the service, on the machine of its store or through the service itself.

use crate::cli::service::{KeysArgs, KeysCommand, Role};
use crate::exit::{Exit, UsageError};
use crate::store;
use crate::terminal::{FAINT, STRONG, paint, say};
use kernel::finding::visible;
use std::sync::Arc;
use values::ids::TENANT_DEFAULT;
use values::json::Json;
use writkeeper::access::{NewKey, key_json};
use writkeeper::{Keeper, KeyRole, OpenOptions};

/// Lists, makes and revokes.
pub fn run(args: &KeysArgs) -> anyhow::Result<Exit> {
    let (location, json) = (args.kept.store.as_str(), args.kept.json);
    if writkeeper::is_server(location) && args.tenant != TENANT_DEFAULT {
        let problem = "--tenant goes with --store; at a server the key says whose part it is";
        return Err(UsageError(problem.to_owned()).into());
    }
    let tenant = Arc::from(args.tenant.as_str());
    let options = OpenOptions { create: false, tenant, ..store::options_of(location)? };
    let keeper = Keeper::open(location, &options)?;
    match args.command.as_ref().unwrap_or(&KeysCommand::List) {
        KeysCommand::List => list(&keeper, json)?,
        KeysCommand::New { role, name, groups } => {
            let groups = (!groups.is_empty()).then(|| groups.iter().cloned().collect());
            let (role, name) = (role_of(*role), name.clone());
            let wanted = NewKey { role, name, groups, expires: None, provenance: false };
            let made = keeper.new_key(&store::operator(), &wanted)?;
            if json {
                let told = [("id", Json::text(made.id)), ("key", Json::text(made.key))];
                say!("{}", Json::object(told).to_canonical());
            } else {
                say!("{} key: {}", role.word(), made.key);
            }
        }
        KeysCommand::Revoke { id } => {
            let key = keeper.revoke_key(&store::operator(), id)?;
            if json {
                say!("{}", key_json(id, &key).to_canonical());
            } else {
                say!("key {} of {} counts no more", paint(STRONG, id), visible(&key.name));
            }
        }
    }
    Ok(Exit::Fine)
}

fn list(keeper: &Keeper, json: bool) -> anyhow::Result<()> {
    let keys = keeper.keys()?;
    if keys.is_empty() && !json {
        say!("no keys; `writkeeper serve` makes the first");
    }
    for (id, key) in &keys {
        if json {
            say!("{}", key_json(id, key).to_canonical());
        } else {
            let state = if key.revoked { "revoked" } else { "" };
            let groups: Vec<&str> = key.groups.iter().map(String::as_str).collect();
            let line = format!("{:<9} {}  {}", key.role.word(), visible(&key.name), visible(&groups.join(", ")));
            say!("{}  {}  {}", paint(STRONG, id), line.trim_end(), paint(FAINT, state));
        }
    }
    Ok(())
}

fn role_of(role: Role) -> KeyRole {
    match role {
        Role::Agent => KeyRole::Agent,
        Role::Executor => KeyRole::Executor,
        Role::Operator => KeyRole::Operator,
        Role::Approver => KeyRole::Approver,
        Role::Auditor => KeyRole::Auditor,
        Role::Admin => KeyRole::Admin,
    }
}
