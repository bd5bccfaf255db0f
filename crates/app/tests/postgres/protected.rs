//! Passwords and certificates against a real server: what is right works, and what is wrong is refused in words.

use super::desk::Desk;
use super::server::PostgresServer;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};

/// Signs certificates of servers.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new(name: &str) -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Authority { issuer: Issuer::new(params, key), pem }
    }

    /// Certificate and key of a server with this name, perhaps of one whose time is over.
    fn certify(&self, name: &str, is_expired: bool) -> (String, String) {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        if is_expired {
            (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1));
        }
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }
}

/// Lets the server show a certificate from now on.
fn show(server: &PostgresServer, (certificate, key): &(String, String)) {
    server.put("server.crt", certificate);
    server.put("server.key", key);
    let read = |log: &str| log.matches("received SIGHUP").count();
    let before = read(&server.log());
    for sql in ["ALTER SYSTEM SET ssl = on", "SELECT pg_reload_conf()"] {
        assert!(server.sql("postgres", sql).status.success());
    }
    // It reads its files when it hears of it, a moment later, and a new session is of the new settings.
    let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while read(&server.log()) == before {
        assert!(std::time::Instant::now() < end, "it does not read its settings again: {}", server.log());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
fn passwords_and_certificates_are_checked_by_both_sides() {
    let Some(server) = PostgresServer::start() else { return };
    let (desk, own, other) = (Desk::new(), Authority::new("own"), Authority::new("other"));
    std::fs::write(desk.path().join("own.pem"), &own.pem).unwrap();
    std::fs::write(desk.path().join("other.pem"), &other.pem).unwrap();
    server.database("guarded");
    for sql in [
        "SET password_encryption = 'scram-sha-256'; CREATE ROLE scram LOGIN PASSWORD 'richtig ✓'",
        "SET password_encryption = 'md5'; CREATE ROLE old LOGIN PASSWORD 'richtig ✓'",
        "GRANT ALL ON DATABASE guarded TO scram, old",
    ] {
        let ran = server.sql("postgres", sql);
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    }
    server.put(
        "pg_hba.conf",
        "host all writkeeper 127.0.0.1/32 trust\nhostssl all scram 127.0.0.1/32 scram-sha-256\n\
         hostssl all old 127.0.0.1/32 md5\n",
    );
    let right = own.certify("localhost", false);
    let rows = [
        ("scram", "sslrootcert=own.pem", &right, "richtig ✓", None),
        ("scram", "sslrootcert=own.pem", &right, "falsch", Some("password authentication failed")),
        ("scram", "sslrootcert=own.pem", &right, "", Some("asks for a password")),
        ("old", "sslrootcert=own.pem", &right, "richtig ✓", Some("scram-sha-256")),
        ("scram", "sslmode=disable", &right, "richtig ✓", Some("pg_hba.conf")),
        ("scram", "sslmode=require", &right, "richtig ✓", Some("UnknownIssuer")),
        ("scram", "sslrootcert=other.pem", &right, "richtig ✓", Some("UnknownIssuer")),
        ("scram", "sslrootcert=own.pem", &own.certify("db.example", false), "richtig ✓", Some("not valid for name")),
        ("scram", "sslrootcert=own.pem", &own.certify("localhost", true), "richtig ✓", Some("expired")),
        ("scram", "sslrootcert=own.pem", &right, "richtig ✓", None),
    ];
    let mut shown = None;
    for (role, query, certificate, password, refused) in rows {
        if shown != Some(certificate) {
            show(&server, certificate);
            shown = Some(certificate);
        }
        let location = format!("postgres://{role}@localhost:{}/guarded?{query}", server.port);
        let variables = [("PGPASSWORD", password), ("PGPASSFILE", "/nonexistent")];
        let output = desk.run_with(&variables, &format!("store migrate --store {location}"), "");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        match refused {
            None => assert!(output.status.success(), "{role} {query}: {said}"),
            Some(words) => {
                assert!(!output.status.success(), "{role} {query} was let in");
                assert!(said.to_lowercase().contains(&words.to_lowercase()), "{role} {query}: {said}");
                assert!(!said.contains("richtig"), "a password was shown: {said}");
            }
        }
    }
    let stored = server.sql("guarded", "SELECT count(*) FROM pg_stat_ssl WHERE ssl");
    assert!(stored.status.success());
}
