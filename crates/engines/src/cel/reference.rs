//! What an expression may use, as data: the reference page shows it, and a test executes every example.

/// One thing an expression may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// How it is called.
    pub name: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// An expression that holds, over the params of [`EXAMPLE_PARAMS`].
    pub example: &'static str,
}

/// The params every example looks at.
pub const EXAMPLE_PARAMS: &str =
    r#"{"amount":12.5,"iban":"DE89","tags":["late","damaged"],"items":[{"price":0.1},{"price":0.2}],"note":" Hi "}"#;

const fn entry(name: &'static str, meaning: &'static str, example: &'static str) -> Entry {
    Entry { name, meaning, example }
}

/// Names every expression sees.
pub const NAMES: &[Entry] = &[
    entry("params", "the params; with short types a param may be named alone", "params.amount == 12.5"),
    entry(
        "state",
        "live state by its key, which may be a template over params",
        "state[\"accounts/{iban}/balance\"] > 99",
    ),
    entry(
        "agent",
        "who proposes: `agent.id` and `agent.role`",
        "agent.id == \"refund-bot\" && agent.role == \"EXECUTOR\"",
    ),
    entry("action", "the action that is proposed", "action == \"issue_refund\""),
    entry("confidence", "how sure the agent says it is", "confidence >= 0.9"),
];

/// Operators, all on exact decimals.
pub const OPERATORS: &[Entry] = &[
    entry("== !=", "equal, not equal", "params.amount == 12.50 && params.iban != \"\""),
    entry("< <= > >=", "smaller, larger; for numbers and text", "params.amount > 12 && \"a\" < \"b\""),
    entry("+ - * / %", "arithmetic; `+` also joins text and lists", "0.1 + 0.2 == 0.3 && 7 % 3 == 1"),
    entry("&& || !", "and, or, not", "params.amount > 1 && !(params.amount > 20)"),
    entry("? :", "one of two", "(params.amount > 10 ? \"large\" : \"small\") == \"large\""),
    entry("in", "whether a list holds a value, or an object a key", "\"late\" in params.tags"),
    entry("[ ]", "an item of a list, from 0, or a member of an object", "params.items[0].price == 0.1"),
];

/// Macros over fields, lists and objects.
pub const MACROS: &[Entry] = &[
    entry("has", "whether an optional field is there", "has(params.note) && !has(params.reason)"),
    entry("all", "whether every item fits", "params.items.all(item, item.price < 1)"),
    entry("exists", "whether any item fits", "params.tags.exists(tag, tag == \"late\")"),
    entry("exists_one", "whether exactly one item fits", "params.tags.exists_one(tag, tag == \"late\")"),
    entry("filter", "the items that fit", "params.items.filter(item, item.price > 0.1).size() == 1"),
    entry("map", "every item as something else", "params.items.map(item, item.price * 2) == [0.2, 0.4]"),
];

/// Functions; a text or a list may stand before the dot where the example has it there.
pub const FUNCTIONS: &[Entry] = &[
    entry(
        "size",
        "letters of a text, items of a list, members of an object",
        "size(params.tags) == 2 && params.iban.size() == 4",
    ),
    entry("contains", "whether a text holds another", "params.iban.contains(\"E8\")"),
    entry("startsWith", "whether a text begins with another", "params.iban.startsWith(\"DE\")"),
    entry("endsWith", "whether a text ends with another", "params.iban.endsWith(\"89\")"),
    entry("matches", "whether a pattern stands anywhere in a text", "params.iban.matches(\"^[A-Z]{2}[0-9]+$\")"),
    entry("lowerAscii", "a text in small letters", "params.iban.lowerAscii() == \"de89\""),
    entry("upperAscii", "a text in capital letters", "\"late\".upperAscii() == \"LATE\""),
    entry("trim", "a text without blanks around it", "params.note.trim() == \"Hi\""),
    entry("split", "the parts of a text", "\"a,b\".split(\",\") == [\"a\", \"b\"]"),
    entry("replace", "a text with one part replaced by another", "params.iban.replace(\"DE\", \"GB\") == \"GB89\""),
    entry(
        "substring",
        "a part of a text: from, and up to",
        "params.iban.substring(2) == \"89\" && params.iban.substring(0, 2) == \"DE\"",
    ),
    entry("abs", "a number without its sign", "abs(-2.5) == 2.5"),
    entry("floor", "the whole number below", "floor(params.amount) == 12"),
    entry("ceil", "the whole number above", "ceil(params.amount) == 13"),
    entry("round", "the nearest whole number", "round(12.4) == 12"),
    entry("min", "the smallest of several numbers or of a list", "min(3, 2) == 2 && min([3, 1]) == 1"),
    entry("max", "the largest of several numbers or of a list", "max(3, 2) == 3"),
    entry("int", "a whole number from a number or a text", "int(\"12\") == 12 && int(12.9) == 12"),
    entry("double", "a number from a text", "double(\"12.5\") == params.amount"),
    entry("string", "a text from a number or a boolean", "string(params.amount) == \"12.5\""),
];
