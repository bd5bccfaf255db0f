//! Decimal arithmetic against plain integers at one fixed scale.

use proptest::prelude::*;
use values::decimal::Decimal;

/// All numbers of the model are counts of 10^-SCALE.
const SCALE: u32 = 8;

fn unit() -> i128 {
    10_i128.pow(SCALE)
}

/// The decimal that the model writes as `count / 10^scale`.
fn decimal(count: i128, scale: u32) -> Option<Decimal> {
    let digits = count.unsigned_abs().to_string();
    Decimal::from_parts(count < 0, &digits, "", -i64::from(scale))
}

fn count() -> impl Strategy<Value = i128> {
    prop_oneof![
        -1000..1000_i128,
        -10_i128.pow(14)..10_i128.pow(14),
        (-999..999_i128).prop_map(|whole| whole * 10_i128.pow(SCALE))
    ]
}

/// Any decimal there is.
fn any_decimal() -> impl Strategy<Value = Decimal> {
    (any::<bool>(), 0..10_u128.pow(28), 0..=28_i64, 0..=28_u32).prop_filter_map(
        "too small",
        |(negative, mantissa, scale, cut)| {
            Decimal::from_parts(negative, &(mantissa / 10_u128.pow(cut)).to_string(), "", -scale)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2048, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sums_differences_and_order(left in count(), right in count()) {
        let (Some(a), Some(b)) = (decimal(left, SCALE), decimal(right, SCALE)) else { panic!("small numbers fit") };
        prop_assert_eq!(a.checked_add(b), decimal(left + right, SCALE));
        prop_assert_eq!(a.checked_sub(b), decimal(left - right, SCALE));
        prop_assert_eq!(a.cmp(&b), left.cmp(&right));
        prop_assert_eq!(a == b, left == right);
        prop_assert_eq!(Some(a.negated()), decimal(-left, SCALE));
        prop_assert_eq!(Some(a.abs()), decimal(left.abs(), SCALE));
        prop_assert_eq!(a.is_negative(), left < 0);
        prop_assert_eq!(a.is_zero(), left == 0);
    }

    #[test]
    fn products(left in count(), right in count()) {
        let (Some(a), Some(b)) = (decimal(left, SCALE), decimal(right, SCALE)) else { panic!("small numbers fit") };
        prop_assert_eq!(a.checked_mul(b), decimal(left * right, 2 * SCALE));
    }

    #[test]
    fn quotients_and_remainders(left in count(), right in count()) {
        let (Some(a), Some(b)) = (decimal(left, SCALE), decimal(right, SCALE)) else { panic!("small numbers fit") };
        if right == 0 {
            prop_assert_eq!(a.checked_div(b), None);
            prop_assert_eq!(a.checked_rem(b), None);
        } else {
            prop_assert_eq!(a.checked_rem(b), decimal(left % right, SCALE));
            if left % right == 0 {
                prop_assert_eq!(a.checked_div(b), decimal(left / right, 0));
            }
        }
    }

    #[test]
    fn rounding(left in count()) {
        let Some(a) = decimal(left, SCALE) else { panic!("small numbers fit") };
        let floor = left.div_euclid(unit());
        let is_whole = left.rem_euclid(unit()) == 0;
        prop_assert_eq!(a.is_integer(), is_whole);
        prop_assert_eq!(Some(a.floor()), decimal(floor, 0));
        prop_assert_eq!(Some(a.ceil()), decimal(if is_whole { floor } else { floor + 1 }, 0));
        let away = (left.abs() + unit() / 2) / unit() * left.signum();
        prop_assert_eq!(Some(a.round()), decimal(away, 0));
        prop_assert_eq!(a.to_i64(), if is_whole { i64::try_from(floor).ok() } else { None });
    }

    #[test]
    fn every_number_survives_being_printed(a in any_decimal(), b in any_decimal()) {
        let results = [Some(a), a.checked_add(b), a.checked_sub(b), a.checked_mul(b), a.checked_div(b), a.checked_rem(b)];
        for number in results.into_iter().flatten() {
            prop_assert_eq!(Decimal::parse(&number.to_string()), Some(number));
        }
    }

    #[test]
    fn a_sum_loses_nothing(a in any_decimal(), b in any_decimal()) {
        prop_assert_eq!(a.checked_add(b), b.checked_add(a));
        if let Some(sum) = a.checked_add(b) {
            prop_assert_eq!(sum.checked_sub(b), Some(a));
            prop_assert_eq!(sum > a, b > Decimal::ZERO);
        }
    }
}
