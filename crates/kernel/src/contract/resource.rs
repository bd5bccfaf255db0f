//! Resources that actions share, and what an action takes from them.

use super::members::Members;
use super::shape::{Direction, shape};
use super::words;
use values::decimal::Decimal;
use values::json::Json;

shape! {
    /// Something limited that actions share.
    RESOURCE = "resource" {
        "kind": Direction::Words(&["stock", "slots"]);
        "capacity": Direction::MoreWidens;
        "unit": Direction::Unclear;
    }
}

shape! {
    /// What an action takes.
    RESERVE = "reserve" { "resource": Direction::Unclear; "amount": Direction::Unclear; }
}

words! {
    /// What happens to a resource when the effect succeeded.
    ResourceKind {
        /// The amount is gone.
        Stock = "stock",
        /// The amount comes back.
        Slots = "slots",
    }
}

/// Something limited that actions share.
#[derive(Clone, PartialEq, Debug)]
pub struct Resource {
    /// What success does to it.
    pub kind: ResourceKind,
    /// How much there is.
    pub capacity: Decimal,
    /// Its unit.
    pub unit: Option<String>,
}

impl Resource {
    /// The full form.
    pub(super) fn to_json(&self) -> Json {
        let mut object = Members::default();
        object.put("kind", Json::text(self.kind.word()));
        object.put("capacity", self.capacity.into());
        object.put_some("unit", self.unit.as_deref());
        object.done()
    }
}

/// What an action takes from a resource.
#[derive(Clone, PartialEq, Debug)]
pub struct Reserve {
    /// The resource.
    pub resource: String,
    /// How much.
    pub amount: Amount,
}

impl Reserve {
    /// The full form.
    pub(super) fn to_json(&self) -> Json {
        let amount = match &self.amount {
            Amount::Fixed(amount) => (*amount).into(),
            Amount::Param(param) => Json::text(param),
        };
        Json::object([("resource", Json::text(&self.resource)), ("amount", amount)])
    }
}

/// A fixed amount, or the value of a param.
#[derive(Clone, PartialEq, Debug)]
pub enum Amount {
    /// Always so much.
    Fixed(Decimal),
    /// As much as this param says.
    Param(String),
}
