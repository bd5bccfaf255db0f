//! What this machine keeps for a database lies under a name that no other database has.

use adapters::store_postgres::Address;
use std::collections::BTreeSet;

#[test]
fn every_database_has_a_file_name_of_its_own() {
    let named = |database: &str| Address::parse(&format!("postgres://anna@host/{database}")).unwrap().file_name();
    assert_eq!(named("a_b-c.D"), "host_5432_a_b-c.D", "a plain name stays as it is");
    assert_eq!(named("x%20y"), "host_5432_x%20y");
    let names = ["x_y", "x%20y", "x%22y", "x%25y", "x%2520y", "x%C3%A9y", "x%C3%A8y", "x%3Ay"].map(named);
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
}
