//! Intents in words.

use crate::terminal::{self, ATTENTION, BAD, GOOD, STRONG, counted, paint, say};
use kernel::finding::visible;
use kernel::intent::IntentState;
use writkeeper::intents::IntentPage;

/// A state in its colour.
pub fn state(state: IntentState) -> String {
    paint(style(state), state.word())
}

/// The colour of a state.
pub fn style(state: IntentState) -> anstyle::Style {
    match state {
        IntentState::Succeeded => GOOD,
        IntentState::Failed | IntentState::Cancelled | IntentState::Abandoned => BAD,
        IntentState::InDoubt | IntentState::Unreported => ATTENTION,
        IntentState::Ready | IntentState::Claimed | IntentState::InFlight | IntentState::HandedOut => STRONG,
    }
}

/// For people.
pub fn intent(page: &IntentPage) -> anyhow::Result<()> {
    let intent = &page.intent;
    say!("intent {}  {}", paint(STRONG, &intent.id), state(intent.state));
    say!("  effect    {}", visible(&intent.effect_key));
    let (agent, flow) = (visible(&intent.agent), visible(&intent.flow));
    say!("  accepted  {} for {agent} in flow {flow}", terminal::at(intent.accepted_at));
    say!("  until     {}", terminal::at(intent.valid_until));
    say!("  proposal  {} {}", visible(&intent.proposal), page.proposal_state.word());
    if let Some(order) = &intent.order {
        let (attempts, doubts) = (counted(intent.epoch, "attempt"), counted(intent.doubts, "time"));
        say!("  class     {}; {attempts}, {doubts} in doubt", order.class.word());
        if let Some(undoes) = &intent.undoes {
            say!("  undoes    {undoes}");
        }
        if let Some(undone_by) = &intent.undone_by {
            say!("  undo      intent {undone_by}");
        }
        say!("\n{}\n", terminal::pretty(&order.to_json()));
    }
    Ok(())
}
