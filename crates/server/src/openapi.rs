//! The OpenAPI 3.1 document, made from the table of routes.

use crate::routes::{Access, KEY_MAX, Param, ParamKind, Route, table};
use crate::schemas;
use serde_json::{Map, Value, json};
use std::sync::OnceLock;

/// The document, as it is served and committed.
pub fn text() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| format!("{:#}\n", document()))
}

/// The document. Pages for people are only named in it: a program asks for what they ask for, and their forms are no
/// promise to it.
pub fn document() -> Value {
    let mut paths = Map::new();
    for route in table().filter(|route| !route.run.is_page()) {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        if let Some(methods) = path.as_object_mut() {
            methods.insert(route.method.to_lowercase(), operation(route));
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Writkeeper",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Agents propose, contracts judge, people are asked, effects happen once, and everything can be proved.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "security": [{ "bearer": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A key, the token of an agent, or an identity token of a person",
                },
            },
            "schemas": schemas::shared(),
        },
        "x-pages": table().filter(|route| route.run.is_page()).map(named).collect::<Vec<_>>(),
    })
}

/// What a page is asked for by.
fn named(route: &Route) -> String {
    format!("{} {}", route.method, route.path)
}

fn operation(route: &Route) -> Value {
    let mut operation = json!({
        "operationId": route.name,
        "summary": route.summary,
        "parameters": parameters(route),
        "responses": {
            route.answer.status.to_string(): {
                "description": route.answer.summary,
                "content": { route.answer.media: { "schema": (route.answer.schema)() } },
            },
            "default": {
                "description": "It was not carried out",
                "content": { crate::problem::PROBLEM: { "schema": { "$ref": "#/components/schemas/Problem" } } },
            },
        },
    });
    let Some(members) = operation.as_object_mut() else { return operation };
    if let Some(body) = &route.body {
        let content = json!({ "application/json": { "schema": (body.schema)() } });
        members.insert("requestBody".to_owned(), json!({ "required": !body.optional, "content": content }));
    }
    match route.access {
        Access::Anybody => {
            members.insert("security".to_owned(), json!([]));
        }
        Access::Roles(roles) => {
            let words: Vec<&str> = roles.iter().map(|role| role.word()).collect();
            members.insert("description".to_owned(), json!(format!("Roles: {}.", words.join(", "))));
        }
    }
    operation
}

fn parameters(route: &Route) -> Vec<Value> {
    let named = route.path.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| {
        json!({
            "name": name, "in": "path", "required": true,
            "schema": { "type": "string", "minLength": 1, "maxLength": 1024 },
        })
    });
    let asked = route.query.iter().map(|param: &Param| {
        json!({
            "name": param.name, "in": "query", "required": false, "description": param.summary,
            "schema": kind(param.kind),
        })
    });
    let repeated = route.is_repeatable().then(|| {
        json!({
            "name": "Idempotency-Key", "in": "header", "required": false,
            "description": "Sent again with the same key it is the same request, with the same answer",
            "schema": { "type": "string", "pattern": format!("^([!#-~]{{1,{KEY_MAX}}}|\"[!#-~]{{1,{KEY_MAX}}}\")$") },
        })
    });
    named.chain(asked).chain(repeated).collect()
}

fn kind(kind: ParamKind) -> Value {
    match kind {
        ParamKind::Text => json!({ "type": "string", "minLength": 1, "maxLength": 1024, "pattern": "^[^\\u0000]*$" }),
        ParamKind::Whole(min, max) => json!({ "type": "integer", "minimum": min, "maximum": max }),
        ParamKind::Span(_) => schemas::span(),
        ParamKind::Instant => json!({ "type": "string", "format": "date-time" }),
        ParamKind::Word(words) => json!({ "type": "string", "enum": words }),
    }
}
