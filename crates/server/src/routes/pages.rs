//! Pages for people: signing in and out, what waits for them, and the card of a question.

use super::escalations::{AFTER, SNOOZED_ONLY};
use super::{Access, Answer, BODY_MAX, BodyRule, Param, ParamKind, Route, Run};
use crate::pages::{HTML, answer, card, list, login};
use kernel::api_key::KeyRole;
use serde_json::{Value, json};

/// Bytes of the form that signs in.
const LOGIN_MAX: usize = 64 * 1024;

/// Who signs in and looks at questions.
const LOOKERS: Access = Access::Roles(&[KeyRole::Approver, KeyRole::Operator, KeyRole::Admin]);

const fn page(summary: &'static str) -> Answer {
    Answer { status: 200, media: HTML, schema: form, summary }
}

const fn sent(limit: usize) -> Option<BodyRule> {
    Some(BodyRule { limit, schema: form, optional: false })
}

/// Pages and their forms are text.
fn form() -> Value {
    json!({ "type": "string" })
}

pub const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        path: "/login",
        name: "login_page",
        summary: "The form that signs a person in",
        access: Access::Anybody,
        query: &[Param { name: "next", summary: "Where to go afterwards", kind: ParamKind::Text }],
        body: None,
        answer: page("The form"),
        run: Run::Entrance(login::show),
    },
    Route {
        method: "POST",
        path: "/login",
        name: "login",
        summary: "Sign in with a key or an identity token",
        access: Access::Anybody,
        query: &[],
        body: sent(LOGIN_MAX),
        answer: page("On to the list"),
        run: Run::Entrance(login::enter),
    },
    Route {
        method: "POST",
        path: "/logout",
        name: "logout",
        summary: "Sign out",
        access: LOOKERS,
        query: &[],
        body: sent(LOGIN_MAX),
        answer: page("Signed out"),
        run: Run::Page(login::leave),
    },
    Route {
        method: "GET",
        path: "/approve",
        name: "inbox_page",
        summary: "What waits for the person who looks",
        access: LOOKERS,
        query: &[AFTER, SNOOZED_ONLY],
        body: None,
        answer: page("The list"),
        run: Run::Page(list::show),
    },
    Route {
        method: "GET",
        path: "/approve/{id}",
        name: "card_page",
        summary: "The card of one question",
        access: LOOKERS,
        query: &[],
        body: None,
        answer: page("The card"),
        run: Run::Page(card::show),
    },
    Route {
        method: "GET",
        path: "/approve/{id}/receipt",
        name: "card_receipt",
        summary: "The receipt of what a question is about",
        access: LOOKERS,
        query: &[],
        body: None,
        answer: page("The receipt"),
        run: Run::Page(card::receipt),
    },
    Route {
        method: "POST",
        path: "/approve/{id}",
        name: "card_answer",
        summary: "Answer a question from its card",
        access: Access::Roles(&[KeyRole::Approver]),
        query: &[],
        body: sent(BODY_MAX),
        answer: page("On to the card"),
        run: Run::Page(answer::give),
    },
];
