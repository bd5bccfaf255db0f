//! The read model as a door meets it: every value is read from a real store.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use kernel::agent::AgentStatus;
use kernel::change::Act;
use kernel::consequence::Consequence;
use kernel::contract::Impact;
use kernel::contract::amend::Amendment;
use kernel::escalation::EscalationState;
use kernel::flow::{FlowEvent, FlowState, ProposalState};
use kernel::intent::{IntentState, Observed};
use kernel::stored::Kind;
use kernel::world::{Entity, Key, Row};
use runtime::ports::clock::Clock;
use runtime::ports::store::{Place, Reader, StoreFault, StoredRecord};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use values::decimal::Decimal;
use values::json::Json;
use values::time::Instant;
use writkeeper::agents::AgentChange;
use writkeeper::entries::{entries_of, entry_of};
use writkeeper::flows::Span;
use writkeeper::happening::Happening;
use writkeeper::inbox::{Cursor, InboxQuery};
use writkeeper::lookup::Found;
use writkeeper::matter::companions;
use writkeeper::report::{Ending, Range};
use writkeeper::{
    Actor, Answer, Class, Executors, Function, HumanDecision, Keeper, Observation, OpenOptions, SystemClock, Verdict,
};

const CONTRACT: &str = "
agent: bot
actions:
  pay:
    once: 'pay:{order}'
    params: { order: text, amount: number }
    limits: { amount: { max: 100 } }
    amendable: { amount: { max: { floor: 50, ceiling: 200 }, ttl: 8h } }
    allow: amount <= 25
    ask: amount <= 200
    budgets: [{ sum: amount, max: 150, per: 1d }]
    run: { function: pay }
approvers: [desk]
";

struct Site {
    _folder: tempfile::TempDir,
    keeper: Keeper,
}

fn operator() -> Actor {
    Actor::Operator("ann".to_owned())
}

fn number(text: &str) -> Decimal {
    Decimal::parse(text).unwrap()
}

impl Site {
    fn new() -> Site {
        let folder = tempfile::tempdir().unwrap();
        let keeper = writkeeper::open(&format!("sqlite:{}", folder.path().join("kept.db").display())).unwrap();
        keeper.enrol(&operator(), &Keeper::contract(CONTRACT).unwrap()).unwrap();
        keeper.set_groups(&operator(), "bob", &["desk"]).unwrap();
        Site { _folder: folder, keeper }
    }

    fn propose(&self, order: &str, amount: u32) -> Answer {
        let params = format!(r#"{{"order":"{order}","amount":{amount}}}"#);
        let open = Act::OpenFlow { flow: format!("flow-{order}"), agent: "bot".to_owned(), parent: None };
        let _is_new = self.keeper.runtime().change(operator(), open).wait();
        let line =
            format!(r#"{{"agent":"bot","action":"pay","id":"p-{order}","flow":"flow-{order}","params":{params}}}"#);
        self.keeper.decide(line.as_bytes()).unwrap().answer
    }

    fn answer(&self, order: &str, decision: HumanDecision) {
        let question = self.keeper.question(&format!("flow-{order}")).unwrap();
        self.keeper.respond(&question, "bob", decision, "seen").unwrap();
    }

    fn perform(&self) {
        let pay = Function(|_: &writkeeper::Attempt| Observation::positive("paid"));
        let executors = Executors::default().with_function("pay", Arc::new(pay));
        self.keeper.perform(&executors, Arc::new(SystemClock)).unwrap();
    }

    fn activate(&self, contract: &str) {
        let contract = Keeper::contract(contract).unwrap();
        writkeeper::carried_out(self.keeper.runtime().activate(operator(), contract)).unwrap();
    }
}

#[test]
fn a_timeline_tells_everything_of_its_flow_and_nothing_else() {
    let site = Site::new();
    site.propose("A", 60);
    site.propose("B", 5);
    site.answer("A", HumanDecision::Override);
    site.perform();
    let timeline = site.keeper.timeline("flow-A", Span::default()).unwrap();
    let kinds: Vec<&str> = timeline.entries.iter().map(|entry| entry.happened.kind().word()).collect();
    assert_eq!(kinds, ["open_flow", "decision", "answer", "claim", "start", "outcome"]);
    assert_eq!((timeline.flow.state, timeline.flow.status), (FlowState::Open, Some(ProposalState::Done)));
    let Happening::Decided(decision) = &timeline.entries[1].happened else { panic!("a decision") };
    assert_eq!((decision.answer.verdict, decision.proposal.action.as_str()), (Verdict::Escalate, "pay"));
    let Happening::Answered(answer) = &timeline.entries[2].happened else { panic!("an answer") };
    assert_eq!((answer.decision.as_str(), answer.state), ("OVERRIDE", Some(EscalationState::Overridden)));
    assert_eq!(timeline.entries[2].actor, Some(Actor::Operator("bob".to_owned())));
    let Happening::Observed { observed, state, is_late, .. } = &timeline.entries[5].happened else {
        panic!("an outcome")
    };
    assert_eq!((*observed, *state, *is_late), (Observed::Positive, Some(IntentState::Succeeded), false));
}

#[test]
fn a_timeline_is_read_in_parts() {
    let site = Site::new();
    site.propose("A", 60);
    site.answer("A", HumanDecision::Override);
    site.perform();
    let whole = site.keeper.timeline("flow-A", Span::default()).unwrap();
    assert_eq!(whole.next, None);
    let (mut parts, mut from) = (Vec::new(), None);
    loop {
        let part = site.keeper.timeline("flow-A", Span { from, limit: 2 }).unwrap();
        assert!(part.entries.len() <= 2);
        parts.extend(part.entries);
        from = part.next;
        if from.is_none() {
            break;
        }
    }
    assert_eq!(parts, whole.entries);
}

#[test]
fn what_was_refused_says_why() {
    let site = Site::new();
    site.propose("A", 5);
    let end = Act::EndFlow { flow: "flow-A".to_owned(), event: FlowEvent::Close };
    for _ in 0..2 {
        let _answered = site.keeper.runtime().change(operator(), end.clone()).wait();
    }
    let timeline = site.keeper.timeline("flow-A", Span::default()).unwrap();
    let ends: Vec<bool> = timeline
        .entries
        .iter()
        .filter(|entry| entry.happened.kind().word() == "end_flow")
        .map(|end| end.refused.is_empty())
        .collect();
    assert_eq!(ends, [true, false]);
    assert_eq!(timeline.flow.state, FlowState::Closed);
}

#[test]
fn a_report_counts_what_was_decided_answered_and_performed() {
    let site = Site::new();
    for (order, amount) in [("A", 5), ("B", 60), ("C", 60), ("D", 500)] {
        site.propose(order, amount);
    }
    let _refused =
        site.keeper.runtime().judge(b"no proposal", runtime::Arrival::through(kernel::command::Door::STORED)).wait();
    site.answer("B", HumanDecision::Override);
    let before = site.keeper.now();
    site.answer("C", HumanDecision::Abort);
    site.perform();
    let report = site.keeper.report(Range::default()).unwrap();
    let verdicts = report.verdicts;
    assert_eq!((verdicts.accepted, verdicts.rejected, verdicts.escalated), (1, 1, 2));
    assert_eq!((report.approved(), report.refused_inputs, report.open_questions), (1, 1, 0));
    assert_eq!(report.agents["bot"].approved, 1);
    assert_eq!(report.performed, BTreeMap::from([(Ending::Succeeded, 2)]));
    let ended = BTreeMap::from([(EscalationState::Overridden, 1), (EscalationState::Aborted, 1)]);
    assert_eq!(report.answers, ended);
    let later = site.keeper.report(Range { since: Some(before), until: None }).unwrap();
    assert_eq!((later.verdicts.total(), later.answers.len()), (0, 1));
    let earlier = site.keeper.report(Range { since: None, until: Some(before) }).unwrap();
    assert_eq!((earlier.verdicts.total(), earlier.answers.len(), earlier.performed.len()), (4, 1, 0));
}

/// Who asked stands in the question: it need not have been asked in the same while.
#[test]
fn a_later_answer_is_counted_for_the_agent_that_asked() {
    let site = Site::new();
    site.propose("A", 60);
    let since = Some(site.keeper.now());
    site.answer("A", HumanDecision::Override);
    let report = site.keeper.report(Range { since, until: None }).unwrap();
    assert_eq!((report.verdicts.total(), report.agents["bot"].approved), (0, 1));
}

#[test]
fn an_agents_page_tells_how_it_stands_and_how_it_came_to() {
    let site = Site::new();
    let amendment = Amendment {
        action: "pay".to_owned(),
        param: "amount".to_owned(),
        min: None,
        max: Some(number("120")),
        actor: String::new(),
        because: "a rush".to_owned(),
        at: Instant::from_micros(0),
        expires: None,
    };
    writkeeper::carried_out(site.keeper.runtime().amend(operator(), "bot", amendment)).unwrap();
    let restrict = Act::Restrict {
        agent: "bot".to_owned(),
        status: AgentStatus::Suspended,
        because: "drift".to_owned(),
        actions: Vec::new(),
    };
    let runtime = site.keeper.runtime();
    writkeeper::carried_out(runtime.change(operator(), restrict)).unwrap();
    let lift = Act::Lift { agent: "bot".to_owned(), status: AgentStatus::Degraded, because: String::new() };
    assert_eq!(runtime.change(operator(), lift).wait().answer.verdict, Verdict::Reject);
    let page = site.keeper.agent("bo").unwrap();
    assert_eq!((page.agent.name.as_str(), page.agent.status), ("bot", AgentStatus::Suspended));
    assert_eq!((page.agent.because(), page.agent.amendments.len()), (Some("drift"), 1));
    assert!(page.agent.amendments[0].expires.is_some(), "it ends by the contract");
    let kinds: Vec<&str> = page.history.iter().map(|entry| entry.change.kind()).collect();
    assert_eq!(kinds, ["register", "activate", "amend", "restrict", "lift"]);
    let refused: Vec<bool> = page.history.iter().map(|entry| !entry.refused.is_empty()).collect();
    assert_eq!(refused, [false, false, false, false, true]);
    let AgentChange::Amended(amendment) = &page.history[2].change else { panic!("amended") };
    assert_eq!((amendment.max, amendment.because.as_str()), (Some(number("120")), "a rush"));
}

#[test]
fn the_inbox_shows_budgets_of_the_contract_in_force() {
    let site = Site::new();
    site.propose("A", 20);
    site.propose("B", 60);
    let budget = |site: &Site| {
        let inbox = site.keeper.inbox().unwrap();
        let [question] = inbox.questions.try_into().unwrap();
        let [budget] = question.card.budgets.try_into().unwrap();
        (budget.used, budget.after(), budget.max, budget.max_when_asked)
    };
    let (used, after) = (Some(number("20")), Some(number("80")));
    assert_eq!(budget(&site), (used, after, number("150"), None));
    site.activate(&CONTRACT.replace("max: 150", "max: 70"));
    assert_eq!(budget(&site), (used, after, number("70"), Some(number("150"))));
}

/// An answer is for what the inbox shows, also where another contract came into force since the question was asked.
#[test]
fn an_answer_is_judged_under_the_contract_that_the_inbox_shows() {
    let site = Site::new();
    site.propose("A", 60);
    site.activate(&CONTRACT.replace("max: 150", "max: 250"));
    let [question] = site.keeper.inbox().unwrap().questions.try_into().unwrap();
    assert_ne!(question.contract, question.asked_under);
    let answered = site.keeper.respond(&question, "bob", HumanDecision::Override, "seen").unwrap();
    assert!(answered.answer.intent.is_some());
}

#[test]
fn the_inbox_shows_limits_that_were_amended() {
    let site = Site::new();
    site.propose("A", 60);
    let amendment = Amendment {
        action: "pay".to_owned(),
        param: "amount".to_owned(),
        min: None,
        max: Some(number("50")),
        actor: String::new(),
        because: "calm down".to_owned(),
        at: Instant::from_micros(0),
        expires: None,
    };
    assert_eq!(site.keeper.inbox().unwrap().questions[0].card.limits, []);
    writkeeper::carried_out(site.keeper.runtime().amend(operator(), "bot", amendment)).unwrap();
    let inbox = site.keeper.inbox().unwrap();
    let [limit] = inbox.questions[0].card.limits.as_slice() else { panic!("one limit") };
    assert_eq!(
        (limit.value, limit.max, limit.contract_max),
        (Some(number("60")), Some(number("50")), Some(number("100")))
    );
}

#[test]
fn every_id_leads_to_what_it_means() {
    let site = Site::new();
    let accepted = site.propose("A", 5);
    let asked = site.propose("B", 60);
    let intent = accepted.intent.unwrap().id().to_owned();
    let question = asked.question.unwrap().id;
    let find = |id: &str| site.keeper.find(id).unwrap();
    assert_eq!(find(&intent), Found::Intent(intent.clone()));
    assert_eq!(find(&question), Found::Question(question.clone()));
    assert_eq!(find("flow-B"), Found::Flow("flow-B".to_owned()));
    assert_eq!(find("bot"), Found::Agent("bot".to_owned()));
    assert_eq!(find("p-B"), Found::Proposal { flow: "flow-B".to_owned() });
    for (id, code) in [("nothing", "FLOW_UNKNOWN"), ("flow-", "ID_AMBIGUOUS"), ("p-", "ID_AMBIGUOUS")] {
        let error = site.keeper.find(id).unwrap_err();
        assert_eq!((error.class(), error.code()), (Class::Invalid, code), "{id}");
    }
    assert_eq!(site.keeper.intent("p-A").unwrap().intent.id, intent);
    assert_eq!(site.keeper.question("p-B").unwrap().id, question);
}

/// What programs get: canonical JSON can be read again, and has the members that are promised.
#[test]
fn every_value_has_one_json() {
    let site = Site::new();
    site.propose("A", 60);
    site.answer("A", HumanDecision::Override);
    site.perform();
    site.propose("B", 60);
    let keeper = &site.keeper;
    let check = |json: Json, members: &[&str]| {
        let read = Json::parse(json.to_canonical().as_bytes()).unwrap();
        for member in members {
            assert!(read.get(member).is_some(), "{member}: {}", json.to_canonical());
        }
    };
    check(keeper.timeline("flow-A", Span::default()).unwrap().to_json(), &["flow", "status", "timeline", "next"]);
    check(keeper.report(Range::default()).unwrap().to_json(), &["since", "verdicts", "agents", "performed"]);
    check(keeper.agent("bot").unwrap().to_json(), &["agent", "status", "contract", "history", "left_out"]);
    check(keeper.inbox().unwrap().to_json(), &["questions", "more"]);
    check(keeper.question("flow-B").unwrap().to_json(), &["id", "digest", "budgets", "limits", "rules", "deadline"]);
    check(keeper.intent("flow-A").unwrap().to_json(), &["id", "state", "timeline", "result", "proposal_state"]);
    let flows = keeper.flows(Some("bot"), 1).unwrap();
    assert_eq!((flows.flows.len(), flows.all, flows.flows[0].id.as_str()), (1, 2, "flow-B"));
}

/// A reader that counts the records it hands out.
struct Counting {
    reader: Box<dyn Reader>,
    records: usize,
}

impl Reader for Counting {
    fn get(&mut self, entity: &Entity) -> Result<Option<Row>, StoreFault> {
        self.reader.get(entity)
    }

    fn scan(&mut self, kind: Kind, after: Option<&str>, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        self.reader.scan(kind, after, limit)
    }

    fn due(&mut self, kind: Kind, until: Instant, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        self.reader.due(kind, until, limit)
    }

    fn open_questions(
        &mut self,
        impact: Impact,
        behind: Place<'_>,
        limit: usize,
    ) -> Result<Vec<(Key, Row)>, StoreFault> {
        self.reader.open_questions(impact, behind, limit)
    }

    fn questions_of(&mut self, agent: &str, after: Option<&str>, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        self.reader.questions_of(agent, after, limit)
    }

    fn due_questions_of(&mut self, agent: &str, until: Instant, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        self.reader.due_questions_of(agent, until, limit)
    }

    fn records(&mut self, from: u64, limit: usize) -> Result<Vec<StoredRecord>, StoreFault> {
        let records = self.reader.records(from, limit)?;
        self.records += records.len();
        Ok(records)
    }

    fn size(&mut self) -> Result<u64, StoreFault> {
        self.reader.size()
    }
}

/// However many receipts are wanted, the ledger is read once to find the entries and once to find what belongs to them.
#[test]
fn entries_and_what_belongs_to_them_are_found_in_one_pass() {
    let site = Site::new();
    let orders: Vec<String> = (0..30).map(|number| format!("o{number}")).collect();
    for order in &orders {
        site.propose(order, 1);
    }
    site.propose("late", 60);
    site.perform();
    site.answer("late", HumanDecision::Override);
    site.perform();
    let store = Keeper::store(site.keeper.location(), &OpenOptions::default()).unwrap();
    let mut reader = Counting { reader: store.reader().unwrap(), records: 0 };
    let size = usize::try_from(reader.size().unwrap()).unwrap();
    let ids: Vec<String> = orders.iter().map(|order| format!("=p-{order}")).chain(["=p-late".to_owned()]).collect();
    let entries = entries_of(&mut reader, &ids).unwrap();
    let companions = companions(&mut reader, &entries).unwrap();
    // Each entry is looked at once more for the ids it names.
    assert!(reader.records <= 2 * size + ids.len(), "{} records read of {size}", reader.records);
    for (id, entry) in ids.iter().zip(&entries) {
        assert_eq!(*entry, entry_of(&mut reader, id).unwrap());
    }
    let kinds = |places: &[u64]| -> Vec<String> {
        let bodies = places.iter().map(|index| site.keeper.runtime().records(*index, 1).unwrap().remove(0));
        let kind = |record: StoredRecord| {
            Json::parse(record.leaf.as_bytes()).unwrap().get("kind").unwrap().as_text().unwrap().to_owned()
        };
        bodies.map(kind).collect()
    };
    assert_eq!(kinds(&companions[0]), ["outcome"]);
    assert_eq!(kinds(companions.last().unwrap()), ["answer", "outcome"]);
}

/// A clock that a test sets.
struct Hands(AtomicI64);

impl Clock for Hands {
    fn now(&self) -> Instant {
        Instant::from_micros(self.0.load(Ordering::Relaxed))
    }
}

/// Pages of open questions are those of the whole list, whatever ends and is asked while somebody goes through it.
#[test]
fn whoever_goes_through_the_inbox_sees_each_question_once() {
    let clock = Arc::new(Hands(AtomicI64::new(SystemClock.now().micros())));
    let folder = tempfile::tempdir().unwrap();
    let location = format!("sqlite:{}", folder.path().join("kept.db").display());
    let keeper = Keeper::open(&location, &OpenOptions { clock: clock.clone(), ..OpenOptions::default() }).unwrap();
    for (agent, impact) in [("low", "LOW"), ("medium", "MEDIUM"), ("high", "HIGH"), ("critical", "CRITICAL")] {
        let text = CONTRACT
            .replace("agent: bot", &format!("agent: {agent}"))
            .replace("'pay:{order}'", "'pay:{order}'\n    impact: IMPACT");
        let lasting = "escalation: { approvers: [desk], timeout: { after: 2d, then: ABORT } }";
        let text = text.replace("IMPACT", impact).replace("approvers: [desk]", lasting);
        keeper.enrol(&operator(), &Keeper::contract(&text).unwrap()).unwrap();
    }
    let ask = |agent: &str, order: &str, seconds: i64| {
        clock.0.fetch_add(seconds * 1_000_000, Ordering::Relaxed);
        let params = format!(r#"{{"order":"{order}","amount":60}}"#);
        let line = format!(r#"{{"agent":"{agent}","action":"pay","id":"{order}","params":{params}}}"#);
        assert!(keeper.decide(line.as_bytes()).unwrap().answer.question.is_some(), "{order}");
    };
    for round in 0..5 {
        for (agent, seconds) in [("low", 97), ("high", 11), ("critical", 0), ("medium", 40)] {
            ask(agent, &format!("{agent}-{round}"), seconds);
        }
    }
    let page = |after: Option<Cursor>, limit: usize| {
        let inbox = keeper.inbox_page(&InboxQuery { after, limit, ..InboxQuery::default() }).unwrap();
        let ids: Vec<String> = inbox.questions.iter().map(|question| question.proposal_id.clone()).collect();
        (ids, inbox.next)
    };
    let now = keeper.now();
    let (all, none) = page(None, 1_000);
    assert_eq!((all.len(), none), (20, None));
    let urgency = |id: &String| {
        let question = keeper.question(&format!("={id}")).unwrap();
        let weight = match question.impact.word() {
            "LOW" => 1,
            "MEDIUM" => 3,
            "HIGH" => 10,
            _ => 30,
        };
        now.since(question.asked_at).micros() * weight
    };
    assert!(all.is_sorted_by_key(|id| std::cmp::Reverse(urgency(id))), "{all:?}");
    for limit in [1, 3, 7, 19, 20] {
        let (all, _) = page(None, 1_000);
        let (mut seen, mut next) = page(None, limit);
        // Urgency grows meanwhile, and the order stays.
        clock.0.fetch_add(1_000_000_000, Ordering::Relaxed);
        while let Some(after) = next {
            let (more, behind) = page(Cursor::parse(&after.to_string()), limit);
            seen.extend(more);
            assert!(seen.len() <= all.len(), "pages of {limit} repeat themselves: {seen:?}");
            next = behind;
        }
        assert_eq!(seen, all, "pages of {limit}");
    }
    // One that was shown ends, one that was not, and another is asked.
    let (all, _) = page(None, 1_000);
    let (first, next) = page(None, 8);
    for id in [&all[2], &all[15]] {
        let question = keeper.question(&format!("={id}")).unwrap();
        keeper.set_groups(&operator(), "bob", &["desk"]).unwrap();
        keeper.respond(&question, "bob", HumanDecision::Abort, "no").unwrap();
    }
    let later = ["later-low", "later-high", "later-critical", "later-medium"];
    for (id, seconds) in later.iter().zip([1, 1, 0, 1]) {
        ask(id.trim_start_matches("later-"), id, seconds);
    }
    let mut expected: Vec<String> = all.iter().filter(|id| **id != all[15]).cloned().collect();
    // Of two that were asked at the same instant the graver comes first.
    expected.extend(["later-low", "later-critical", "later-high", "later-medium"].map(str::to_owned));
    for limit in [1, 2, 5, 1_000] {
        let (mut seen, mut after) = (first.clone(), next.clone());
        while let Some(behind) = after {
            let (more, next) = page(Some(behind), limit);
            seen.extend(more);
            after = next;
        }
        assert_eq!(seen, expected, "pages of {limit}");
    }
}

/// Time brings back what was put off, and people are told of no more than before.
#[test]
fn what_was_put_off_comes_back_by_itself() {
    let clock = Arc::new(Hands(AtomicI64::new(SystemClock.now().micros())));
    let folder = tempfile::tempdir().unwrap();
    let location = format!("sqlite:{}", folder.path().join("kept.db").display());
    let options = OpenOptions { clock: clock.clone(), ..OpenOptions::default() };
    let keeper = Keeper::open(&location, &options).unwrap();
    let lasting = "escalation: { approvers: [desk], timeout: { after: 2d, then: ABORT } }";
    let contract = Keeper::contract(&CONTRACT.replace("approvers: [desk]", lasting)).unwrap();
    keeper.enrol(&operator(), &contract).unwrap();
    keeper.set_groups(&operator(), "bob", &["desk"]).unwrap();
    let site = Site { _folder: folder, keeper };
    site.propose("A", 60);
    let minutes = |count: i64| values::time::Duration::from_secs(count * 60);
    let [question] = site.keeper.inbox().unwrap().questions.try_into().unwrap();
    let (id, snooze) = site.keeper.snooze(&question.id, "bob", minutes(20)).unwrap();
    assert_eq!((&id, snooze.until), (&question.id, snooze.since.plus(minutes(20))));
    let check = |later: i64, expected: (usize, usize)| {
        clock.0.fetch_add(minutes(later).micros(), Ordering::Relaxed);
        let inbox = site.keeper.inbox_page(&InboxQuery { person: Some("bob"), ..InboxQuery::default() }).unwrap();
        assert_eq!((inbox.questions.len(), inbox.snoozed), expected, "{later} minutes later");
    };
    check(0, (0, 1));
    check(19, (0, 1));
    check(1, (1, 0));
    let records = site.keeper.runtime().records(0, 1_000).unwrap();
    let told = records.iter().filter_map(writkeeper::notices::of).count();
    assert_eq!(told, 1, "the question, and nothing of its being put off");
}

/// What time did to an intent is part of its matter, as what its worker reported is.
#[test]
fn an_intent_that_nobody_started_has_its_end_in_the_matter() {
    let clock = Arc::new(Hands(AtomicI64::new(SystemClock.now().micros())));
    let folder = tempfile::tempdir().unwrap();
    let location = format!("sqlite:{}", folder.path().join("kept.db").display());
    let options = OpenOptions { clock: clock.clone(), ..OpenOptions::default() };
    let keeper = Keeper::open(&location, &options).unwrap();
    keeper.enrol(&operator(), &Keeper::contract(CONTRACT).unwrap()).unwrap();
    let site = Site { _folder: folder, keeper };
    let intent = site.propose("A", 5).intent.unwrap().id().to_owned();
    clock.0.fetch_add(values::time::Duration::from_secs(30 * 24 * 3_600).micros(), Ordering::Relaxed);
    writkeeper::carried_out(site.keeper.runtime().change(Actor::Kernel, Act::ExpireIntents)).unwrap();
    let page = site.keeper.intent(&intent).unwrap();
    assert_eq!((page.intent.state, page.entries.len()), (IntentState::Cancelled, 2));
    let Happening::Followed(followed) = &page.entries[1].happened else { panic!("time did it") };
    assert!(matches!(followed.as_ref(), Consequence::IntentExpired { .. }));
    let store = Keeper::store(site.keeper.location(), &options).unwrap();
    let mut reader = store.reader().unwrap();
    let entry = entry_of(reader.as_mut(), "=p-A").unwrap();
    assert_eq!(companions(reader.as_mut(), &[entry]).unwrap(), [[page.entries[1].index]]);
}
