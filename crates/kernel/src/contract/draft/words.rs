//! What names of tools and params give away. In doubt a tool has an effect.

/// A tool whose name begins with one of these looks and does not touch.
const READS: &[&str] = &[
    "get",
    "list",
    "read",
    "search",
    "find",
    "check",
    "lookup",
    "look",
    "calculate",
    "compute",
    "think",
    "show",
    "view",
    "fetch",
    "query",
    "describe",
    "count",
    "inspect",
    "browse",
    "summarize",
    "retrieve",
    "preview",
    "explain",
    "compare",
];

/// A tool with one of these anywhere in its name has an effect, however it begins.
const WRITES: &[&str] = &[
    "add",
    "append",
    "apply",
    "approve",
    "assign",
    "book",
    "buy",
    "cancel",
    "change",
    "charge",
    "clear",
    "close",
    "commit",
    "create",
    "delete",
    "deploy",
    "disable",
    "drop",
    "edit",
    "enable",
    "exchange",
    "exec",
    "execute",
    "insert",
    "install",
    "invite",
    "issue",
    "kill",
    "merge",
    "modify",
    "move",
    "order",
    "pay",
    "post",
    "publish",
    "purchase",
    "push",
    "put",
    "refund",
    "remove",
    "rename",
    "reply",
    "reschedule",
    "reserve",
    "reset",
    "restart",
    "return",
    "revoke",
    "run",
    "schedule",
    "sell",
    "send",
    "set",
    "share",
    "start",
    "stop",
    "submit",
    "terminate",
    "transfer",
    "update",
    "upload",
    "withdraw",
    "write",
];

/// First words of descriptions of tools that look.
const READ_SENTENCES: &[&str] = &[
    "get",
    "gets",
    "list",
    "lists",
    "read",
    "reads",
    "search",
    "searches",
    "find",
    "finds",
    "returns",
    "retrieve",
    "retrieves",
    "show",
    "shows",
    "fetch",
    "fetches",
    "calculate",
    "calculates",
    "look",
    "looks",
    "query",
    "queries",
    "describe",
    "describes",
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

/// Whether a tool has no effect, as far as its name, its description and its server's hint tell.
pub(super) fn is_read(name: &str, description: &str, hint: Option<bool>) -> bool {
    let words = words_of(name);
    // Orders, posts and runs are also things that are looked at: the first word decides about those.
    let begins_with_read = words.first().is_some_and(|first| READS.contains(&first.as_str()));
    let noun = |word: &str| {
        matches!(word, "order" | "post" | "run" | "book" | "issue" | "set" | "change" | "commit" | "return")
    };
    let writes = words.iter().any(|word| WRITES.contains(&word.as_str()) && !(begins_with_read && noun(word)));
    let at_a_desk =
        matches!(words.as_slice(), [first, second, ..] if first == "check" && (second == "out" || second == "in"));
    if writes || at_a_desk || hint == Some(false) {
        return false;
    }
    let sentence = description.split(|next: char| !next.is_alphanumeric()).find(|word| !word.is_empty());
    let says_read = sentence.is_some_and(|word| READ_SENTENCES.contains(&word.to_lowercase().as_str()));
    // A server's hint alone is only its word, so it counts where nothing speaks against it.
    begins_with_read || says_read || hint == Some(true)
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
            assert_eq!(is_read(name, description, None), expected, "{name}");
        };
        for name in ["get_iban", "listFiles", "read-inbox", "search_emails", "calculate", "think", "get_order_details"]
        {
            check(name, "", true);
        }
        for name in ["send_money", "return_items", "getAndDelete", "check_out", "frobnicate", "update_read_flag"] {
            check(name, "", false);
        }
        check("balance", "Returns the balance.", true);
        check("return_items", "Return delivered items of an order.", false);
        check("take_back", "Return delivered items of an order.", false);
        assert!(!is_read("frobnicate", "", Some(false)) && is_read("frobnicate", "", Some(true)));
        assert!(!is_read("delete_all", "", Some(true)), "a server's word does not outweigh the name");
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
