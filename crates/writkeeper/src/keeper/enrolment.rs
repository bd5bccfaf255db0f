//! Enrolling an agent: registered and put in force in two commits, either of which another process may be making.

use super::{Keeper, carried_out};
use crate::access;
use crate::error::{ContractInForce, Error};
use crate::history::History;
use crate::overlap;
use engines::load::load;
use kernel::agent::{Actor, AgentRow, Session};
use kernel::evaluator::Compiled;
use kernel::outcome::Verdict;
use kernel::world::{Entity, Row};
use std::sync::Arc;
use std::time::{Duration, Instant};
use values::ids::Digest;
use values::json::Json;
use values::time::Duration as Span;

/// How long an agent is waited for that another process may be enrolling.
const ENROLLED_WITHIN: Duration = Duration::from_secs(2);

/// What enrolling left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Enrolment {
    /// The contract is in force.
    InForce,
    /// The agent is registered, and an operator puts its contract in force.
    Registered,
}

/// An agent that was let in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Admitted {
    /// Its name.
    pub agent: String,
    /// What it shows; told only now.
    pub token: String,
    /// Until when.
    pub expires: values::time::Instant,
}

impl Keeper {
    /// Reads and compiles a contract in either form; every error has its place.
    pub fn contract(text: &str) -> Result<Arc<Compiled>, Error> {
        let loaded = load(text).map_err(Error::Contract)?;
        if loaded.inert.is_empty() { Ok(Arc::new(loaded.compiled)) } else { Err(Error::Contract(loaded.inert)) }
    }

    /// The same; keys that do nothing yet are left as they are.
    pub fn contract_with_inert(text: &str) -> Result<Arc<Compiled>, Error> {
        Ok(Arc::new(load(text).map_err(Error::Contract)?.compiled))
    }

    /// Makes the agent of a contract known, and puts the contract in force if the agent is new.
    ///
    /// An agent that acts under another contract keeps it, and that is an error.
    pub fn enrol(&self, operator: &Actor, contract: &Arc<Compiled>) -> Result<Enrolment, Error> {
        self.register_new(operator, contract, true)
    }

    /// The same; a new agent stays registered only.
    pub fn register_only(&self, operator: &Actor, contract: &Arc<Compiled>) -> Result<Enrolment, Error> {
        self.register_new(operator, contract, false)
    }

    fn register_new(&self, operator: &Actor, contract: &Arc<Compiled>, activates: bool) -> Result<Enrolment, Error> {
        let name = &contract.contract.agent;
        let is_new = self.agent_row(name)?.is_none();
        if is_new {
            overlap::demand_apart(self.runtime(), name)?;
            carried_out(self.runtime().register(operator.clone(), contract.clone(), None, None))?;
        }
        let mut row = self.agent_row(name)?;
        if !activates && row.as_ref().is_some_and(|row| row.contract.is_none()) {
            return Ok(Enrolment::Registered);
        }
        if is_new && row.as_ref().is_some_and(|row| row.contract.is_none()) {
            return self.activate(operator, contract);
        }
        // An agent that is only registered may be on the way to this contract. Waiting puts nothing in force that an
        // operator left.
        let on_the_way = |row: &AgentRow| row.contract.is_none() && row.offered == Some(contract.digest);
        let until = Instant::now() + ENROLLED_WITHIN;
        while row.as_deref().is_some_and(on_the_way) {
            // Both are read before the store is: whatever is committed after the look wakes, or before the end counts.
            let (seen, is_late) = (self.runtime().commits().size(), Instant::now() >= until);
            row = self.agent_row(name)?;
            if is_late || !row.as_deref().is_some_and(on_the_way) {
                break;
            }
            self.runtime().commits().wait_beyond(seen, until);
        }
        let is_stuck = row.as_deref().is_some_and(|row| on_the_way(row) && row.session.is_none());
        if is_stuck && self.began(operator, contract)? {
            return self.activate(operator, contract);
        }
        match row.and_then(|row| row.contract) {
            Some(active) if active == contract.digest => Ok(Enrolment::InForce),
            active => Err(self.other_contract(contract, active)?),
        }
    }

    /// Makes the agent of a contract known with a token to come in with, and puts the contract in force if none is yet.
    ///
    /// The token is told once and kept only as a hash; the one it had before counts no more. An agent that acts under
    /// another contract keeps it, and that is an error.
    pub fn admit(&self, operator: &Actor, contract: &Arc<Compiled>, counts: Span) -> Result<Admitted, Error> {
        let name = &contract.contract.agent;
        let active = self.agent_row(name)?.and_then(|row| row.contract);
        if active.is_some_and(|active| active != contract.digest) {
            return Err(self.other_contract(contract, active)?);
        }
        let admitted = self.open_session(operator, contract, counts)?;
        if active.is_none() {
            self.activate(operator, contract)?;
        }
        Ok(admitted)
    }

    /// Gives an agent another token in place of the one it has.
    pub fn renew_token(&self, operator: &Actor, agent: &str, counts: Span) -> Result<Admitted, Error> {
        self.open_session(operator, &self.contract_of(agent)?, counts)
    }

    /// Lets the token of an agent count no more.
    pub fn revoke_token(&self, operator: &Actor, agent: &str) -> Result<(), Error> {
        // Over before it began, under a token that nobody was told.
        self.open_session(operator, &self.contract_of(agent)?, Span::from_micros(-1)).map(|_| ())
    }

    /// The contract that counts for an agent, or the one it came with.
    pub fn contract_of(&self, agent: &str) -> Result<Arc<Compiled>, Error> {
        let (name, row) = crate::lookup::agent_named(self.runtime(), agent)?;
        match row.contract.or(row.offered) {
            Some(digest) => Ok(self.runtime().contract(digest)?),
            None => Err(Error::AgentUnknown { agent: name, nearest: None }),
        }
    }

    fn open_session(&self, operator: &Actor, contract: &Arc<Compiled>, counts: Span) -> Result<Admitted, Error> {
        let agent = contract.contract.agent.clone();
        overlap::demand_apart(self.runtime(), &agent)?;
        let token = access::token(self.runtime().tenant(), &agent);
        let expires = self.now().plus(counts);
        let session = Session { token_hash: Digest::of(&token), expires };
        carried_out(self.runtime().register(operator.clone(), contract.clone(), None, Some(session)))?;
        Ok(Admitted { agent, token, expires })
    }

    fn activate(&self, operator: &Actor, contract: &Arc<Compiled>) -> Result<Enrolment, Error> {
        carried_out(self.runtime().activate(operator.clone(), contract.clone()))?;
        Ok(Enrolment::InForce)
    }

    /// Whether this operator began to enrol the agent with this contract and died before it was in force. An operator who
    /// registers an agent on purpose gives it a session; what another operator began is theirs to finish.
    fn began(&self, operator: &Actor, contract: &Compiled) -> Result<bool, Error> {
        let mut registered = None;
        let mut history = History::since(self.runtime(), None)?;
        while let Some(body) = history.next_body()? {
            let said = |key: &str| body.get(key).and_then(Json::as_text);
            let of = |key: &str| body.get("command").and_then(|command| command.get(key)).and_then(Json::as_text);
            let about = of("agent") == Some(contract.contract.agent.as_str());
            if about && said("kind") == Some("register") && said("verdict") == Some(Verdict::Accept.word()) {
                registered = Some((said("actor").map(str::to_owned), of("digest").map(str::to_owned)));
            }
        }
        Ok(registered == Some((Some(operator.text()), Some(contract.digest.to_string()))))
    }

    fn other_contract(&self, contract: &Compiled, active: Option<Digest>) -> Result<Error, Error> {
        let in_force = match active {
            Some(digest) => {
                let active = self.runtime().contract(digest)?;
                Some(Box::new(ContractInForce::of(digest, &active.contract)))
            }
            None => None,
        };
        Ok(Error::OtherContract { agent: contract.contract.agent.clone(), offered: contract.digest, in_force })
    }

    /// The registry's row of an agent.
    pub fn agent_row(&self, name: &str) -> Result<Option<Box<AgentRow>>, Error> {
        match self.runtime().read(Entity::Agent(name.to_owned()))? {
            Some(Row::Agent(row)) => Ok(Some(row)),
            Some(_) | None => Ok(None),
        }
    }
}
