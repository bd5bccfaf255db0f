//! What names of tools and params give away. In doubt a tool has an effect.

/// A tool is a read only if its name begins with one of these.
const READS: &[&str] = &[
    "get",
    "list",
    "read",
    "search",
    "find",
    "show",
    "view",
    "fetch",
    "describe",
    "count",
    "check",
    "lookup",
    "calculate",
    "think",
];

/// A tool with one of these anywhere in its name, or doing one of these in its description, has an effect.
const EFFECTS: &[&str] = &[
    "accept",
    "add",
    "append",
    "apply",
    "approve",
    "archive",
    "assign",
    "ban",
    "bid",
    "block",
    "book",
    "build",
    "burn",
    "buy",
    "cancel",
    "change",
    "charge",
    "claim",
    "clear",
    "close",
    "commit",
    "confirm",
    "consume",
    "create",
    "delete",
    "demote",
    "deploy",
    "destroy",
    "disable",
    "donate",
    "download",
    "drop",
    "edit",
    "empty",
    "enable",
    "erase",
    "escalate",
    "exchange",
    "exec",
    "execute",
    "flush",
    "fork",
    "forward",
    "generate",
    "grant",
    "import",
    "insert",
    "install",
    "invite",
    "invoke",
    "issue",
    "kick",
    "kill",
    "launch",
    "lock",
    "make",
    "mark",
    "merge",
    "migrate",
    "mint",
    "modify",
    "move",
    "mute",
    "notify",
    "order",
    "overwrite",
    "patch",
    "pay",
    "post",
    "promote",
    "publish",
    "purchase",
    "purge",
    "push",
    "put",
    "reboot",
    "redeem",
    "refund",
    "register",
    "reject",
    "release",
    "remove",
    "rename",
    "replace",
    "reply",
    "reschedule",
    "reserve",
    "reset",
    "restart",
    "restore",
    "resume",
    "revert",
    "revoke",
    "rollback",
    "rotate",
    "run",
    "save",
    "schedule",
    "sell",
    "send",
    "set",
    "share",
    "shell",
    "shutdown",
    "sign",
    "spawn",
    "start",
    "stop",
    "store",
    "submit",
    "subscribe",
    "suspend",
    "swap",
    "sync",
    "terminate",
    "trade",
    "transfer",
    "trash",
    "trigger",
    "truncate",
    "unlock",
    "unregister",
    "unsubscribe",
    "update",
    "upload",
    "upsert",
    "wipe",
    "wire",
    "withdraw",
    "write",
];

/// Whoever chooses the value of such a param chooses who is paid, told, reached or overwritten.
const AUTHORITY: &[&str] = &[
    "account",
    "address",
    "attachment",
    "attachments",
    "bcc",
    "beneficiary",
    "bucket",
    "card",
    "cc",
    "channel",
    "cmd",
    "code",
    "command",
    "customer",
    "destination",
    "domain",
    "email",
    "emails",
    "endpoint",
    "file",
    "filename",
    "files",
    "host",
    "iban",
    "key",
    "link",
    "owner",
    "participants",
    "password",
    "path",
    "payee",
    "payment",
    "permission",
    "permissions",
    "phone",
    "recipient",
    "recipients",
    "repo",
    "repository",
    "role",
    "script",
    "sql",
    "target",
    "to",
    "token",
    "uri",
    "url",
    "urls",
    "user",
    "users",
    "username",
    "wallet",
    "webhook",
];

/// Numbers that must have an end.
const AMOUNTS: &[&str] = &[
    "amount", "baggages", "budget", "cost", "cpus", "discount", "fee", "leverage", "limit", "premium", "price", "qty",
    "quantity", "replicas", "size", "sum", "total", "value", "volume",
];

/// Whether a tool has no effect, as far as its name and its description tell. In doubt it has one.
pub(super) fn is_read(name: &str, description: &str) -> bool {
    let words = words_of(name);
    let Some((first, rest)) = words.split_first() else { return false };
    // Orders, posts, issues and commits are also things that are looked at.
    let noun = |word: &str| matches!(word, "order" | "post" | "issue" | "commit");
    let joins = |word: &str| matches!(word, "and" | "then" | "or" | "also" | "plus");
    let acts = |word: &String| joins(word) || (!noun(word) && (EFFECTS.contains(&word.as_str()) || hides_verb(word)));
    let at_a_desk = first == "check" && rest.first().is_some_and(|second| second == "out" || second == "in");
    READS.contains(&first.as_str()) && !rest.iter().any(acts) && !at_a_desk && !tells_of_effect(description)
}

/// `deleteall` acts like `delete`; `scheduled` and `updates` are looked at.
fn hides_verb(word: &str) -> bool {
    const ENDINGS: &[&str] = &["", "s", "d", "r", "ed", "er", "ers", "rs", "ing", "able", "ion", "ions", "ment"];
    let long = EFFECTS.iter().filter(|verb| verb.len() >= 5);
    long.filter_map(|verb| word.strip_prefix(verb)).any(|ending| !ENDINGS.contains(&ending))
}

/// Whether the description says that something is done. A verb behind `the` or `of` is a noun.
fn tells_of_effect(description: &str) -> bool {
    const BEFORE_NOUNS: &[&str] = &["the", "a", "an", "of", "its", "their", "this", "that", "each", "per"];
    const PASSIVE: &[&str] = &["be", "is", "are", "was", "were", "get", "gets", "been", "being"];
    let words = words_of(description);
    let before = std::iter::once("").chain(words.iter().map(String::as_str));
    before.zip(&words).any(|(before, word)| {
        EFFECTS.iter().any(|verb| {
            let stem = verb.strip_suffix('e').unwrap_or(verb);
            let ending = word.strip_prefix(stem).unwrap_or("none");
            let active = word == verb || matches!(ending, "s" | "es" | "ing") && word.len() > verb.len();
            let passive = ending == "ed" && PASSIVE.contains(&before);
            (active && !BEFORE_NOUNS.contains(&before)) || passive
        })
    })
}

/// Whether the value of the param decides who or what is affected.
pub(super) fn carries_authority(param: &str) -> bool {
    words_of(param).iter().any(|word| AUTHORITY.contains(&word.as_str()))
}

/// Whether even a read with this param reaches a place of someone else's choosing.
pub(super) fn leads_outside(param: &str) -> bool {
    const OUTSIDE: &[&str] = &["domain", "endpoint", "host", "link", "uri", "url", "urls", "webhook"];
    words_of(param).iter().any(|word| OUTSIDE.contains(&word.as_str()))
}

/// Whether the param is an amount.
pub(super) fn is_amount(param: &str) -> bool {
    words_of(param).iter().any(|word| AMOUNTS.contains(&word.as_str()))
}

/// `sendMoney2`, `send_money` and `send-money` are all `send`, `money`.
fn words_of(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut was_lower = false;
    for character in name.chars() {
        let starts_word = character.is_uppercase() && was_lower;
        if (!character.is_alphabetic() || starts_word) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if character.is_alphabetic() {
            word.extend(character.to_lowercase());
        }
        was_lower = character.is_lowercase();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_recognised_and_doubt_is_an_effect() {
        let check = |name: &str, description: &str, expected: bool| {
            assert_eq!(is_read(name, description), expected, "{name}: {description}");
        };
        for name in ["get_iban", "listFiles", "read-inbox", "search_emails", "calculate", "think", "get_order_details"]
        {
            check(name, "", true);
        }
        for name in [
            "send_money",
            "return_items",
            "getAndDelete",
            "check_out",
            "frobnicate",
            "update_read_flag",
            "get_and_purge",
            "read_then_wipe",
            "fetch_replace",
            "search_wire",
            "view_exec",
            "find_deleteall",
            "list_set",
            "query",
            "look",
            "getanddelete",
            "run_get",
        ] {
            check(name, "", false);
        }
        check("get_orders", "Get the list of scheduled payments.", true);
        check("get_orders", "Gets orders, then deletes them.", false);
        check("get_orders", "Gets the orders; they are marked as seen.", false);
        check("get_orders", "Gets orders by sending a mail.", false);
        check("get_update", "", false);
        check("get_news", "Get the update of the day.", true);
        check("balance", "Returns the balance.", false);
        check("take_back", "Return delivered items of an order.", false);
    }

    #[test]
    fn params_are_recognised() {
        for param in ["recipient", "user_email", "filePath", "address1", "to", "payment_method_id"] {
            assert!(carries_authority(param), "{param}");
        }
        for param in ["body", "subject", "total_units", "notes", "toggle"] {
            assert!(!carries_authority(param), "{param}");
        }
        assert!(is_amount("total_amount") && !is_amount("id"));
    }
}
