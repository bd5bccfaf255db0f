//! What a subject costs: its calls, its false alarms, and what it misses. Prices are the user's, sums are exact.

use super::Evaluation;
use values::decimal::Decimal;
use values::json::Json;

/// What one call, one false alarm and one miss cost, in whatever unit the user counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Prices {
    pub call: Option<Decimal>,
    pub alarm: Option<Decimal>,
    pub miss: Option<Decimal>,
}

/// The words of prices.
pub const WORDS: [&str; 3] = ["call", "alarm", "miss"];

impl Prices {
    /// Sets one price; the error says what is wrong with it.
    pub fn set(&mut self, word: &str, text: &str) -> Result<(), String> {
        let place = match word {
            "call" => &mut self.call,
            "alarm" => &mut self.alarm,
            "miss" => &mut self.miss,
            _ => {
                let meant = kernel::nearest::suggestion(word, WORDS.iter().copied());
                return Err(format!("prices are `call`, `alarm` and `miss`; `{word}` is none{meant}"));
            }
        };
        let price = Decimal::parse(text).filter(|price| !price.is_negative());
        let price = price.ok_or_else(|| format!("`{text}` is no price: a number that is not negative"))?;
        if place.replace(price).is_some() {
            return Err(format!("the price of `{word}` is given twice"));
        }
        Ok(())
    }

    /// What all cases cost together; nothing where no price is given or the sum does not fit.
    pub fn total(&self, evaluation: &Evaluation) -> Option<Decimal> {
        let counts = [
            (self.call, evaluation.calls),
            (self.alarm, evaluation.confusion.false_alarms),
            (self.miss, evaluation.confusion.misses),
        ];
        let mut total = None;
        for (price, count) in counts.into_iter().filter_map(|(price, count)| Some((price?, count))) {
            let count = Decimal::from(i64::try_from(count).ok()?);
            let cost = price.checked_mul(count)?;
            total = Some(total.unwrap_or(Decimal::from(0)).checked_add(cost)?);
        }
        total
    }

    /// Why there is no total although prices were given.
    pub fn overflow(&self, evaluation: &Evaluation) -> Option<&'static str> {
        let is_priced = *self != Prices::default();
        let why = "what all cases cost together is too large a number; give the prices in a larger unit";
        (is_priced && self.total(evaluation).is_none()).then_some(why)
    }

    /// For programs: the calls, and what they and the mistakes cost.
    pub fn to_json(&self, evaluation: &Evaluation) -> Json {
        let total = self.total(evaluation).map_or(Json::Null, |total| Json::text(total.to_string()));
        Json::object([("calls", Json::from(evaluation.calls)), ("total", total)])
    }
}
