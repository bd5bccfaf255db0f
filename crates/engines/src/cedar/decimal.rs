//! Cedar's decimal: 64 bits, four digits behind the point. What does not fit is refused, never rounded.

use crate::fault::CompileFault;
use cedar_policy_core::ast::{Name, PartialValue, Value};
use cedar_policy_core::extensions::Extensions;
use std::fmt::Display;
use values::decimal::Decimal;

/// Digits behind the point that Cedar's decimal holds.
const FRACTION_DIGITS_MAX: u32 = 4;

/// Makes decimals with the name of their constructor parsed once.
pub(super) struct DecimalMaker {
    constructor: Name,
}

impl DecimalMaker {
    pub(super) fn new() -> Result<DecimalMaker, CompileFault> {
        match Name::parse_unqualified_name("decimal") {
            Ok(constructor) => Ok(DecimalMaker { constructor }),
            Err(errors) => Err(CompileFault::whole(errors.to_string())),
        }
    }

    /// The number as Cedar's decimal; the error names the field, never the value, which may be a secret.
    pub(super) fn make(&self, value: Decimal, field: &dyn Display) -> Result<Value, String> {
        if !fits(value) {
            return Err(format!("`{field}` does not fit Cedar's decimal (4 digits behind the point)"));
        }
        // The constructor insists on a point.
        let text = if value.is_integer() { format!("{value}.0") } else { value.to_string() };
        self.call(&text, field)
    }

    /// Whether Cedar reads the text as a decimal.
    pub(super) fn reads(&self, text: &str) -> bool {
        self.call(text, &"decimal").is_ok()
    }

    fn call(&self, text: &str, field: &dyn Display) -> Result<Value, String> {
        let constructor = Extensions::all_available().func(&self.constructor).map_err(|error| error.to_string())?;
        match constructor.call(&[Value::from(text)]).map_err(|error| error.to_string())? {
            PartialValue::Value(value) => Ok(value),
            PartialValue::Residual(_) => Err(format!("`{field}` did not become a decimal")),
        }
    }
}

fn fits(value: Decimal) -> bool {
    let missing = FRACTION_DIGITS_MAX.checked_sub(value.fraction_digits());
    let scaled = missing.and_then(|digits| value.mantissa().checked_mul(10_i128.checked_pow(digits)?));
    scaled.is_some_and(|scaled| i64::try_from(scaled).is_ok())
}
