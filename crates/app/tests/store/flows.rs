//! What agents do in their flows besides proposing, at the command line.

use crate::Desk;

#[test]
fn what_agents_do_in_their_flows_besides_proposing() {
    let desk = Desk::new();
    desk.enroll();
    desk.people();
    let flow = desk.json("flows open --agent bot")["flow"].as_str().unwrap().to_owned();
    let other = desk.json("flows open --agent bot")["flow"].as_str().unwrap().to_owned();
    assert!(desk.says(&format!("flows reserve {flow} cash=60 --available cash=100"), 0).contains("holds 60 of cash"));
    let busy = desk.says(&format!("flows reserve {other} cash=60 --available cash=100 --wait 100ms"), 1);
    assert!(busy.contains("RESOURCE_CONTENTION"), "{busy}");
    let scarce = desk.says(&format!("flows reserve {other} cash=101 --available cash=100 --wait 30s"), 1);
    assert!(scarce.contains("RESOURCE_INSUFFICIENT"), "{scarce}");
    assert!(desk.says(&format!("flows reserve {other} cash=-1 --available cash=100"), 1).contains("PARAM_INVALID"));
    assert!(desk.says(&format!("flows release {flow}"), 0).contains("released cash"));
    desk.says(&format!("flows reserve {other} cash=60 --available cash=100 --for 1h"), 0);
    desk.says(&format!("flows note {flow} PRICE_SEEN --details {{\"price\":12.5}}"), 0);
    let asked = desk.json(&format!("flows ask {flow} --reason unsure"));
    let question = asked["question"].as_str().unwrap();
    let shown = desk.says(&format!("escalations show {question}"), 0);
    assert!(shown.contains("unsure") && shown.contains("approve|deny"), "{shown}");
    desk.says(&format!("escalations answer {question} approve --as bob --because fine"), 0);
    let timeline = desk.says(&format!("flows show {flow}"), 0);
    for told in ["reserves 60 of cash", "released cash", "note PRICE_SEEN", "asked: unsure", "OVERRIDE to question"] {
        assert!(timeline.contains(told), "{told}: {timeline}");
    }
}
