//! Tool schemas in, a closed contract out: a first draft that refuses until a person has filled in the numbers.

mod schemas;
mod words;
pub(crate) mod yaml_text;

use std::collections::BTreeSet;
use values::ids;
use values::json::{Json, Object};
use yaml_text::{comment, flow, key};

/// More tools than a contract may have actions.
const TOOLS_MAX: usize = 1_000;

/// Writes a contract for the tools; the text loads as it stands.
///
/// Accepted are lists of MCP tools (`inputSchema`), OpenAI functions (`{type: function, function: {…}}`) and plain
/// `{name, description, parameters}`; also inside `{tools: […]}`. A tool reads only if its name and
/// description leave no doubt. What cannot be drafted stands there as a comment with the reason. Params that carry
/// authority must come from the user or from state; amounts get a limit of 0 until someone writes a number.
pub fn draft(tools: &Json, agent: &str) -> Result<String, String> {
    if let Some(problem) = ids::identifier_problem(agent) {
        return Err(format!("the agent's name `{agent}` {problem}"));
    }
    let tools = tools_of(tools)?;
    let mut text = format!(
        "# yaml-language-server: $schema=https://writkeeper.dev/contract/v1.json\n\
         # Drafted from tool schemas. Nothing is allowed that is not listed here; every TODO waits for a person.\n\
         agent: {}\n\
         approvers: [operators]  # TODO: the group that answers when a person is asked\n\
         actions:",
        key(agent),
    );
    if tools.is_empty() {
        return Err("there are no tools to draft a contract from".to_owned());
    }
    let mut actions = String::new();
    let mut drafted = false;
    for tool in &tools {
        match schemas::cleaned(&tool.schema) {
            Ok(schema) => {
                drafted = true;
                write_tool(tool, &schema, &mut actions);
            }
            Err(reason) => {
                let (name, reason) = (comment(&tool.name), comment(&reason));
                actions.push_str(&format!("  # TODO: {name} is left out and refused: {reason}\n"));
            }
        }
    }
    text.push_str(if drafted { "\n" } else { " {}\n" });
    text.push_str(&actions);
    Ok(text)
}

/// A tool as the draft sees it.
struct Tool {
    name: String,
    description: String,
    schema: Object,
    has_effect_hint: bool,
}

fn tools_of(json: &Json) -> Result<Vec<Tool>, String> {
    let list = json
        .as_list()
        .or_else(|| json.get("tools").and_then(Json::as_list))
        .or_else(|| json.get("result").and_then(|result| result.get("tools")).and_then(Json::as_list))
        .ok_or("tools are a list, or a map with a list `tools`")?;
    if list.len() > TOOLS_MAX {
        return Err(format!("there are {} tools, and a contract holds at most {TOOLS_MAX} actions", list.len()));
    }
    let mut seen = BTreeSet::new();
    let mut tools = Vec::with_capacity(list.len());
    for (index, entry) in list.iter().enumerate() {
        let tool = tool_of(entry).map_err(|problem| format!("tool {}: {problem}", index + 1))?;
        if !seen.insert(tool.name.clone()) {
            return Err(format!("there are two tools `{}`", tool.name));
        }
        tools.push(tool);
    }
    Ok(tools)
}

fn tool_of(entry: &Json) -> Result<Tool, String> {
    let entry = entry.get("function").filter(|function| function.as_object().is_some()).unwrap_or(entry);
    let name = entry.get("name").and_then(Json::as_text).ok_or("it has no `name`")?;
    if let Some(problem) = ids::identifier_problem(name) {
        return Err(format!("its name {problem}"));
    }
    let schema = ["inputSchema", "input_schema", "parameters"].iter().find_map(|key| entry.get(key));
    let schema = match schema {
        None | Some(Json::Null) => Object::new(),
        Some(Json::Object(schema)) => schema.clone(),
        Some(_) => return Err(format!("the schema of `{name}` is no map")),
    };
    if schema.get("type").is_some_and(|kind| kind.as_text() != Some("object")) {
        return Err(format!("the schema of `{name}` has no `type: object` at its root"));
    }
    let properties = schema.get("properties").and_then(Json::as_object);
    if let Some(hidden) = properties.and_then(|properties| properties.keys().find(|param| param.starts_with("__"))) {
        return Err(format!("the param `{hidden}` of `{name}` starts with `__`, which has a meaning in policies"));
    }
    let hint = |key: &str| entry.get("annotations").and_then(|hints| hints.get(key)).and_then(Json::as_bool);
    Ok(Tool {
        name: name.to_owned(),
        description: entry.get("description").and_then(Json::as_text).unwrap_or_default().to_owned(),
        schema,
        has_effect_hint: hint("readOnlyHint") == Some(false) || hint("destructiveHint") == Some(true),
    })
}

fn write_tool(tool: &Tool, schema: &Object, text: &mut String) {
    // A server's word can only add an effect, never take one away.
    let reads = !tool.has_effect_hint && words::is_read(&tool.name, &tool.description);
    text.push_str(&format!("  {}:", key(&tool.name)));
    if !tool.description.is_empty() {
        text.push_str(&format!("  # {}", comment(&tool.description)));
    }
    text.push('\n');
    if reads {
        text.push_str("    reads: true\n");
        for (param, _) in properties(schema).filter(|(param, _)| words::leads_outside(param)) {
            text.push_str(&format!(
                "    # TODO: an address can carry data out: from: {{ {}: [user, state] }} closes that way\n",
                comment(&key(param))
            ));
        }
    } else {
        text.push_str(&format!(
            "    # TODO: once: \"{}:{{…}}\" names the effect, so that a retry cannot repeat it\n    run: host\n",
            comment(&tool.name).replace('"', "'")
        ));
    }
    let params = closed(schema);
    if !reads {
        if !schemas::is_plain(&params, words::is_amount) {
            text.push_str(
                "    ask: \"true\"  # TODO: not all params are plain values; say what may pass without a person\n",
            );
        }
        write_limits(&params, text);
        write_origins(&params, text);
    }
    write_params(&params, text);
}

/// An amount without a number is refused: 0 lets nothing pass until someone writes what is meant.
fn write_limits(params: &Object, text: &mut String) {
    let amounts: Vec<&String> = properties(params)
        .filter(|(param, schema)| words::is_amount(param) && is_numeric(schema))
        .map(|(param, _)| param)
        .collect();
    if amounts.is_empty() {
        return;
    }
    text.push_str("    limits:\n");
    for param in amounts {
        text.push_str(&format!("      {}: {{ max: 0 }}  # TODO: the most one call may ask for\n", key(param)));
    }
    text.push_str("    # TODO: budget: { sum: …, max: …, per: 24h } bounds what many calls may ask for together\n");
}

fn write_origins(params: &Object, text: &mut String) {
    let guarded: Vec<&String> =
        properties(params).map(|(param, _)| param).filter(|param| words::carries_authority(param)).collect();
    if guarded.is_empty() {
        return;
    }
    text.push_str("    from:  # never out of a mail, a page or a file the agent has read\n");
    for param in guarded {
        text.push_str(&format!("      {}: [user, state]\n", key(param)));
    }
}

fn write_params(params: &Object, text: &mut String) {
    text.push_str("    params:\n");
    for (keyword, value) in params.iter().filter(|(keyword, _)| keyword.as_str() != "properties") {
        text.push_str(&format!("      {}: {}\n", key(keyword), flow(value)));
    }
    let mut properties = properties(params).peekable();
    if properties.peek().is_none() {
        text.push_str("      properties: {}\n");
        return;
    }
    text.push_str("      properties:\n");
    for (param, schema) in properties {
        text.push_str(&format!("        {}: {}\n", key(param), flow(schema)));
    }
}

fn properties(params: &Object) -> impl Iterator<Item = (&String, &Json)> {
    params.get("properties").and_then(Json::as_object).into_iter().flatten()
}

/// The schema of a tool as the schema of an action: an object that takes nothing it does not name.
fn closed(schema: &Object) -> Object {
    let Json::Object(mut root) = tightened(&Json::Object(schema.clone())) else { return Object::new() };
    root.remove("$schema");
    root.insert("type".to_owned(), Json::text("object"));
    root.insert("additionalProperties".to_owned(), Json::Bool(false));
    root.entry("properties".to_owned()).or_insert_with(|| Json::Object(Object::new()));
    root.entry("required".to_owned()).or_insert_with(|| Json::List(Vec::new()));
    root
}

/// Titles say what names already say; objects that list their properties take no others.
fn tightened(schema: &Json) -> Json {
    let Json::Object(members) = schema else { return schema.clone() };
    let mut tight = Object::new();
    for (keyword, value) in members {
        let value = match (keyword.as_str(), value) {
            ("title", Json::Text(_)) => continue,
            ("properties" | "$defs" | "definitions", Json::Object(named)) => {
                Json::Object(named.iter().map(|(name, schema)| (name.clone(), tightened(schema))).collect())
            }
            ("items" | "not", schema) => tightened(schema),
            ("anyOf" | "oneOf" | "allOf", Json::List(schemas)) => Json::List(schemas.iter().map(tightened).collect()),
            (_, value) => value.clone(),
        };
        tight.insert(keyword.clone(), value);
    }
    let listed = tight.get("properties").and_then(Json::as_object).is_some_and(|listed| !listed.is_empty());
    if listed && !members.contains_key("allOf") {
        tight.entry("additionalProperties".to_owned()).or_insert(Json::Bool(false));
    }
    Json::Object(tight)
}

fn is_numeric(schema: &Json) -> bool {
    let named = |kind: &Json| matches!(kind.as_text(), Some("number" | "integer"));
    let direct = schema.get("type").is_some_and(|kind| match kind {
        Json::List(kinds) => kinds.iter().any(named),
        other @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::Object(_)) => named(other),
    });
    let nested = ["anyOf", "oneOf"].iter().filter_map(|key| schema.get(key)).filter_map(Json::as_list).flatten();
    direct || (schema.get("type").is_none() && nested.into_iter().any(is_numeric))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tools: &str, expected: &str) {
        let drafted = draft(&Json::parse(tools.as_bytes()).unwrap(), "bot");
        assert_eq!(drafted.unwrap_or_else(|problem| problem), expected, "{tools}");
    }

    #[test]
    fn a_tool_becomes_a_closed_action() {
        let text = draft(
            &Json::parse(
                br#"[{"name": "send_money", "description": "Sends\nmoney.", "inputSchema": {"type": "object",
                "required": ["recipient", "amount"], "properties": {"recipient": {"type": "string", "title": "R"},
                "amount": {"anyOf": [{"type": "number"}, {"type": "null"}]}}}},
                {"type": "function", "function": {"name": "get_iban", "parameters": null}},
                {"name": "get_page", "parameters": {"properties": {"url": {"type": "string"}}}}]"#,
            )
            .unwrap(),
            "bot",
        )
        .unwrap();
        let actions = text.split_once("actions:\n").unwrap().1;
        assert_eq!(
            actions,
            r#"  send_money:  # Sends money.
    # TODO: once: "send_money:{…}" names the effect, so that a retry cannot repeat it
    run: host
    ask: "true"  # TODO: not all params are plain values; say what may pass without a person
    limits:
      amount: { max: 0 }  # TODO: the most one call may ask for
    # TODO: budget: { sum: …, max: …, per: 24h } bounds what many calls may ask for together
    from:  # never out of a mail, a page or a file the agent has read
      recipient: [user, state]
    params:
      additionalProperties: false
      required: ["recipient", "amount"]
      type: "object"
      properties:
        amount: { "anyOf": [{ "type": "number" }, { "type": "null" }] }
        recipient: { "type": "string" }
  get_iban:
    reads: true
    params:
      additionalProperties: false
      required: []
      type: "object"
      properties: {}
  get_page:
    reads: true
    # TODO: an address can carry data out: from: { url: [user, state] } closes that way
    params:
      additionalProperties: false
      required: []
      type: "object"
      properties:
        url: { "type": "string" }
"#
        );
    }

    #[test]
    fn what_cannot_be_drafted_is_said() {
        check("{}", "tools are a list, or a map with a list `tools`");
        check("[]", "there are no tools to draft a contract from");
        check(r#"[{"description": "x"}]"#, "tool 1: it has no `name`");
        check(r#"[{"name": "a"}, {"name": "a"}]"#, "there are two tools `a`");
        check(r#"{"tools": [{"name": "a", "parameters": []}]}"#, "tool 1: the schema of `a` is no map");
        let array = r#"[{"name": "a", "parameters": {"type": "array"}}]"#;
        check(array, "tool 1: the schema of `a` has no `type: object` at its root");
        let hidden = r#"[{"name": "a", "parameters": {"properties": {"__entity": {}}}}]"#;
        check(hidden, "tool 1: the param `__entity` of `a` starts with `__`, which has a meaning in policies");
    }
}
