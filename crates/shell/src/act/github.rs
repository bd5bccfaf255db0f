//! What `gh` changes where others see it at once.

use crate::act::fetch;
use crate::answer::Class;
use crate::call::Call;
use crate::mark;
use crate::stream::Stream;
use crate::walk::Walker;

/// What nobody need be asked about: a request to merge and what belongs to it, and what stays on this machine.
const FREE: &[(&str, &[&str])] = &[
    ("pr", &["create", "edit", "ready", "checkout", "update-branch"]),
    ("repo", &["clone", "set-default"]),
    ("gist", &["clone"]),
];

/// Options by which a request carries values.
const FIELDS: &[&str] = &["-f", "-F", "--field", "--raw-field"];

/// `gh`: whoever changes something there for others is named as somebody who talks to them.
pub(crate) fn gh(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let operands = call.options.texts();
    let (area, verb) = (operands.first().copied().unwrap_or_default(), operands.get(1).copied().unwrap_or_default());
    if area == "api" {
        api(walker, call, verb);
        return Stream::Remote;
    }
    let is_free = FREE.iter().any(|(known, verbs)| *known == area && verbs.contains(&verb));
    if walker.report.class > Class::Read && !is_free && !area.is_empty() {
        walker.report.talks(&format!("gh {area} {verb}"));
    }
    Stream::Remote
}

/// `gh api -X DELETE path`: the method decides, and fields imply one.
fn api(walker: &mut Walker<'_>, call: &Call<'_>, path: &str) {
    let given = &call.options.given;
    let methods: Vec<String> = given
        .iter()
        .filter(|opt| matches!(opt.name.as_str(), "-X" | "--method"))
        .map(|opt| opt.value.clone().unwrap_or_default().to_ascii_uppercase())
        .collect();
    let carries = given.iter().any(|opt| FIELDS.contains(&opt.name.as_str()) || opt.name == "--input");
    // Of several the last one counts; the worst of them is looked at.
    let looks = |method: &String| matches!(method.as_str(), "GET" | "HEAD");
    let changes = match methods.as_slice() {
        [] if path.trim_end_matches('/').ends_with("graphql") => mutates(call),
        [] => carries || call.options.open,
        methods => !methods.iter().all(looks),
    };
    if !changes {
        return;
    }
    let method = methods.into_iter().find(|method| !looks(method)).unwrap_or_else(|| "POST".to_owned());
    fetch::method_class(walker, &method, call);
    walker.report.raise(Class::Write, "SENDS", "changes something on GitHub", call.span);
    walker.report.talks(&format!("gh api {method}"));
}

/// Whether a query of GraphQL may change something: it says so, or what it says is not known.
fn mutates(call: &Call<'_>) -> bool {
    let is_query = |value: &str| {
        let text = value.strip_prefix("query=").unwrap_or_default();
        !text.is_empty() && mark::is_literal(text) && !text.starts_with('@') && !text.contains("mutation")
    };
    let values = |opt: &crate::call::Opt| opt.value.clone().unwrap_or_default();
    let fields: Vec<String> =
        call.options.given.iter().filter(|opt| FIELDS.contains(&opt.name.as_str())).map(values).collect();
    let mut queries = fields.iter().filter(|value| !value.contains('=') || value.starts_with("query")).peekable();
    let names_one = queries.peek().is_some();
    let loads = call.options.has("--input") || call.options.open;
    loads || !names_one || !queries.all(|value| is_query(value))
}

#[cfg(test)]
mod asked {
    use crate::testing::{asked, free};

    #[test]
    fn what_others_see_at_once() {
        asked(&[
            "gh api -X POST repos/x/y/issues",
            "gh api --method=PUT repos/x/y/pulls/1/merge",
            "gh api -XPATCH repos/x/y",
            "gh api repos/x/y -X DELETE",
            "gh api -X GET -X DELETE repos/x/y",
            "gh api -X \"$M\" repos/x/y",
            "gh api repos/x/y/issues -f title=a",
            "gh api repos/x/y/issues -F title=a",
            "gh api repos/x/y/issues --field title=a",
            "gh api --raw-field title=a repos/x/y/issues",
            "gh api repos/x/y/issues --input body.json",
            "gh api graphql -f query='mutation { x }'",
            "gh api graphql -F query=@q.graphql",
            "gh api graphql -f query=\"$Q\"",
            "gh api graphql --input q.json",
            "gh api /graphql -f query='mutation { x }'",
            "gh -R o/r pr merge 1",
            "gh pr merge 1 -R o/r",
            "gh workflow run deploy.yml",
            "gh workflow disable ci.yml",
            "gh run rerun 1",
            "gh run cancel 1",
            "gh run delete 1",
            "gh issue create -t a -b b",
            "gh issue comment 1 -b x",
            "gh issue close 1",
            "gh issue edit 1 --title x",
            "gh issue delete 1",
            "gh pr comment 1 -b x",
            "gh pr close 1",
            "gh pr review 1 --approve",
            "gh release delete v1",
            "gh release create v1",
            "gh repo delete o/r",
            "gh label create x",
            "gh label delete x",
            "gh project item-add 1",
            "gh strange thing",
            "timeout 5 gh issue comment 1 -b x",
        ]);
        free(&[
            "gh api repos/x/y",
            "gh api /repos/x/y --jq .name",
            "gh api -X GET search/issues -f q=bug",
            "gh api repos/x/y/pulls --paginate -H 'Accept: application/json'",
            "gh api graphql -f query='query { viewer { login } }'",
            "gh api graphql -F owner=x -f query='query($owner: String!) { x }'",
            "gh pr create --fill",
            "gh pr edit 1 --title x",
            "gh pr ready",
            "gh pr checkout 12",
            "gh pr view 12 --json title",
            "gh pr checks",
            "gh pr diff 12",
            "gh run list --limit 5",
            "gh run view 1 --log-failed",
            "gh run watch",
            "gh issue list",
            "gh issue view 1",
            "gh repo clone o/r src/r",
            "gh repo view",
            "gh search code x",
            "gh --version",
        ]);
    }
}
