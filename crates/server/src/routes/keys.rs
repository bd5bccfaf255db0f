//! Keys, people and tenants: who may come in.

use super::{ADMIN, Answer, BODY_MAX, BodyRule, READERS, Route, Run};
use crate::call::{Call, JSON, Reply, flag, span_if_any, text, texts_if_any};
use crate::problem::Problem;
use crate::schemas;
use kernel::api_key::{ApiKey, KeyRole, TenantState};
use kernel::attention::Attention;
use kernel::change::Write;
use kernel::person::Person;
use values::ids::TENANT_DEFAULT;
use values::json::Json;
use writkeeper::access::{MadeKey, NewKey, key_json};
use writkeeper::attention::GroupAttention;

pub const ROUTES: &[Route] = &[
    Route {
        method: "POST",
        path: "/v1/keys",
        name: "new_key",
        summary: "Make a key; its text is told only now",
        access: ADMIN,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::keys::wanted, optional: false }),
        answer: Answer { status: 201, media: JSON, schema: schemas::keys::made, summary: "The key" },
        run: Run::Blocking(new_key),
    },
    Route {
        method: "GET",
        path: "/v1/keys",
        name: "keys",
        summary: "Every key, without what its owner shows",
        access: ADMIN,
        query: &[],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::keys::list_of_keys, summary: "The keys" },
        run: Run::Blocking(keys),
    },
    Route {
        method: "DELETE",
        path: "/v1/keys/{id}",
        name: "revoke_key",
        summary: "Let a key count no more",
        access: ADMIN,
        query: &[],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::keys::key, summary: "The key" },
        run: Run::Blocking(revoke),
    },
    Route {
        method: "GET",
        path: "/v1/people",
        name: "people",
        summary: "Who is in which groups",
        access: READERS,
        query: &[],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::keys::people, summary: "The people" },
        run: Run::Blocking(people),
    },
    Route {
        method: "PUT",
        path: "/v1/people/{name}",
        name: "set_person",
        summary: "Say which groups a person is in",
        access: ADMIN,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::keys::groups, optional: false }),
        answer: Answer { status: 200, media: JSON, schema: schemas::keys::person, summary: "The person" },
        run: Run::Blocking(set_person),
    },
    Route {
        method: "GET",
        path: "/v1/attention",
        name: "attention",
        summary: "How many questions groups of people take, and how many they got",
        access: READERS,
        query: &[],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::keys::attentions, summary: "The groups" },
        run: Run::Blocking(attention),
    },
    Route {
        method: "PUT",
        path: "/v1/attention/{name}",
        name: "set_attention",
        summary: "Bound how many questions a group of people takes in a window; null takes the bound away",
        access: ADMIN,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::keys::attention, optional: false }),
        answer: Answer { status: 200, media: JSON, schema: schemas::keys::attentions, summary: "The groups" },
        run: Run::Blocking(set_attention),
    },
    Route {
        method: "POST",
        path: "/v1/tenants",
        name: "new_tenant",
        summary: "Make a tenant; answers with the key of its first admin, which is told only now",
        access: ADMIN,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::keys::wanted_tenant, optional: false }),
        answer: Answer { status: 201, media: JSON, schema: schemas::keys::made_tenant, summary: "The tenant" },
        run: Run::Blocking(new_tenant),
    },
    Route {
        method: "GET",
        path: "/v1/tenants",
        name: "tenants",
        summary: "Every tenant; only an admin of the tenant `default` sees them",
        access: ADMIN,
        query: &[],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::keys::tenants, summary: "The tenants" },
        run: Run::Blocking(tenants),
    },
    Route {
        method: "POST",
        path: "/v1/tenants/{name}/close",
        name: "close_tenant",
        summary: "Decide nothing more for a tenant",
        access: ADMIN,
        query: &[],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::keys::tenant, summary: "The tenant" },
        run: Run::Blocking(close_tenant),
    },
    Route {
        method: "POST",
        path: "/v1/tenants/{name}/open",
        name: "open_tenant",
        summary: "Decide for a tenant again",
        access: ADMIN,
        query: &[],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::keys::tenant, summary: "The tenant" },
        run: Run::Blocking(open_tenant),
    },
];

fn new_key(call: &Call) -> Result<Reply, Problem> {
    let members = call.members(&["role", "name", "groups", "ttl", "provenance"])?;
    let role = text(&members, "role")?;
    let unknown = || Problem::invalid(format!("`role` is not one of {}", KeyRole::WORDS.join(", ")));
    let groups = texts_if_any(&members, "groups")?.map(|groups| groups.into_iter().collect());
    let wanted = NewKey {
        role: KeyRole::from_word(&role).ok_or_else(unknown)?,
        name: text(&members, "name")?,
        groups,
        expires: span_if_any(&members, "ttl")?.map(|span| call.keeper().now().plus(span)),
        provenance: flag(&members, "provenance")?,
    };
    let MadeKey { id, key } = call.keeper().new_key(&call.caller.actor(), &wanted)?;
    call.site.cache.clear();
    Ok(Reply::json(&Json::object([("id", Json::text(id)), ("key", Json::text(key))])).created())
}

fn keys(call: &Call) -> Result<Reply, Problem> {
    let keys = call.keeper().keys()?;
    let keys = keys.iter().map(|(id, key): &(String, ApiKey)| key_json(id, key)).collect();
    Ok(Reply::json(&Json::object([("keys", Json::List(keys))])))
}

fn revoke(call: &Call) -> Result<Reply, Problem> {
    let id = call.part("id");
    if call.keeper().key(id)?.is_none() {
        return Err(Problem::not_found());
    }
    let key = call.keeper().revoke_key(&call.caller.actor(), id)?;
    call.site.cache.clear();
    Ok(Reply::json(&key_json(id, &key)))
}

fn person_json(name: &str, person: &Person) -> Json {
    Json::object([
        ("name", Json::text(name)),
        ("groups", Json::texts(person.groups.iter().map(String::as_str))),
        ("key", Json::from(person.key.as_ref().map(kernel::person::person_key_text))),
    ])
}

fn people(call: &Call) -> Result<Reply, Problem> {
    let people = call.keeper().people()?;
    let people = people.iter().map(|(name, person)| person_json(name, person)).collect();
    Ok(Reply::json(&Json::object([("people", Json::List(people))])))
}

fn set_person(call: &Call) -> Result<Reply, Problem> {
    let groups = texts_if_any(&call.members(&["groups"])?, "groups")?;
    let groups = groups.ok_or_else(|| Problem::invalid("`groups` is missing"))?;
    let (keeper, name) = (call.keeper(), call.part("name"));
    let known = keeper.person(name)?.unwrap_or_default();
    let person = Person { groups: groups.into_iter().collect(), ..known };
    keeper.merge(&call.caller.actor(), vec![Write::person(name, &person)])?;
    Ok(Reply::json(&person_json(name, &person)))
}

fn attention(call: &Call) -> Result<Reply, Problem> {
    let groups = call.keeper().attention(call.keeper().now())?;
    let groups = groups.iter().map(GroupAttention::to_json).collect();
    Ok(Reply::json(&Json::object([("groups", Json::List(groups))])))
}

fn set_attention(call: &Call) -> Result<Reply, Problem> {
    let mut members = call.members(&["questions", "per", "spent"])?;
    let unbounded = members.get("questions") == Some(&Json::Null);
    if unbounded {
        // The rest is not needed, and is read all the same: what nobody could mean is refused.
        members.insert("questions".into(), Json::from(0));
        members.entry("per".into()).or_insert_with(|| Json::text("1h"));
    }
    let problem = "`questions`, `per` and `spent` are no attention, such as 40, \"8h\" and \"REFUSE\"";
    let read = Attention::from_json(&Json::Object(members)).ok_or_else(|| Problem::invalid(problem))?;
    let bounded = (!unbounded).then_some(read);
    call.keeper().set_attention(&call.caller.actor(), call.part("name"), bounded)?;
    attention(call)
}

/// Tenants are the business of the first one; elsewhere there is nothing.
fn demand_first(call: &Call) -> Result<(), Problem> {
    if *call.caller.tenant.name == *TENANT_DEFAULT { Ok(()) } else { Err(Problem::not_found()) }
}

fn tenant_json(name: &str, state: TenantState) -> Json {
    Json::object([("tenant", Json::text(name)), ("state", Json::text(state.word()))])
}

fn new_tenant(call: &Call) -> Result<Reply, Problem> {
    demand_first(call)?;
    let name = text(&call.members(&["name"])?, "name")?;
    call.keeper().new_tenant(&call.caller.actor(), &name)?;
    call.site.tenants.forget(&name);
    let (tenant, _) = call.site.tenants.get(&name)?.ok_or_else(Problem::not_found)?;
    // A tenant that was made once before has its admin already.
    let key = tenant.keeper.first_admin()?.map(|made| made.key);
    let told = [("tenant", Json::text(name)), ("key", Json::from(key))];
    Ok(Reply::json(&Json::object(told)).created())
}

fn tenants(call: &Call) -> Result<Reply, Problem> {
    demand_first(call)?;
    let tenants = call.keeper().tenants()?;
    let tenants = tenants.iter().map(|(name, state)| tenant_json(name, *state)).collect();
    Ok(Reply::json(&Json::object([("tenants", Json::List(tenants))])))
}

fn move_tenant(call: &Call, state: TenantState) -> Result<Reply, Problem> {
    demand_first(call)?;
    let name = call.part("name");
    call.keeper().move_tenant(&call.caller.actor(), name, state)?;
    call.site.tenants.forget(name);
    call.site.cache.clear();
    Ok(Reply::json(&tenant_json(name, state)))
}

fn close_tenant(call: &Call) -> Result<Reply, Problem> {
    move_tenant(call, TenantState::Closed)
}

fn open_tenant(call: &Call) -> Result<Reply, Problem> {
    move_tenant(call, TenantState::Open)
}
