//! Identity tokens of another organisation, made by openssl and by hand: three algorithms count, and no trick.

use crate::http::PATIENCE;
use crate::server::Server;
use crate::sockets::has;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signer, SigningKey};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Who issues tokens, with a key for each algorithm.
struct Issuer {
    folder: tempfile::TempDir,
    own: SigningKey,
}

fn text(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn openssl(folder: &Path, words: &[&str], input: &[u8]) -> Vec<u8> {
    let mut command = Command::new("openssl");
    command.args(words).current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let _ = process.stdin.take().unwrap().write_all(input);
    let output = process.wait_with_output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// The two numbers of a signature as DER writes them, as tokens write them.
fn without_der(der: &[u8]) -> Vec<u8> {
    let first = usize::from(der[3]);
    let (one, two) = (&der[4..4 + first], &der[6 + first..]);
    let padded = |number: &[u8]| {
        let short = &number[number.len().saturating_sub(32)..];
        [vec![0; 32 - short.len()], short.to_vec()].concat()
    };
    [padded(one), padded(two)].concat()
}

impl Issuer {
    fn new() -> Issuer {
        let folder = tempfile::tempdir().unwrap();
        openssl(
            folder.path(),
            &["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", "rsa"],
            b"",
        );
        let curve = "ec_paramgen_curve:P-256";
        openssl(folder.path(), &["genpkey", "-algorithm", "EC", "-pkeyopt", curve, "-out", "ec"], b"");
        Issuer { folder, own: SigningKey::from_bytes(&[7; 32]) }
    }

    fn modulus(&self) -> Vec<u8> {
        let said = openssl(self.folder.path(), &["rsa", "-in", "rsa", "-modulus", "-noout"], b"");
        unhex(String::from_utf8(said).unwrap().trim().strip_prefix("Modulus=").unwrap())
    }

    /// The public keys, as they are published.
    fn published(&self) -> Value {
        let der = openssl(self.folder.path(), &["pkey", "-in", "ec", "-pubout", "-outform", "DER"], b"");
        let point = &der[der.len() - 64..];
        json!({ "keys": [
            { "kid": "r", "kty": "RSA", "use": "sig", "n": text(self.modulus()), "e": "AQAB" },
            { "kid": "e", "kty": "EC", "crv": "P-256", "x": text(&point[..32]), "y": text(&point[32..]) },
            { "kid": "o", "kty": "OKP", "crv": "Ed25519", "x": text(self.own.verifying_key().as_bytes()) },
            { "kid": "h", "kty": "oct", "k": text("a shared secret") },
        ] })
    }

    fn token(&self, header: &Value, claims: &Value) -> String {
        let signed = format!("{}.{}", text(header.to_string()), text(claims.to_string()));
        let signature = match header["alg"].as_str().unwrap() {
            "RS256" => openssl(self.folder.path(), &["dgst", "-sha256", "-sign", "rsa"], signed.as_bytes()),
            "ES256" => {
                without_der(&openssl(self.folder.path(), &["dgst", "-sha256", "-sign", "ec"], signed.as_bytes()))
            }
            "EdDSA" => self.own.sign(signed.as_bytes()).to_bytes().to_vec(),
            // The public key as if it were a secret that both know.
            "HS256" => hmac(&self.modulus(), signed.as_bytes()),
            _ => Vec::new(),
        };
        format!("{signed}.{}", text(signature))
    }
}

fn hmac(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut block = [0_u8; 64];
    let key = if key.len() > 64 { Sha256::digest(key).to_vec() } else { key.to_vec() };
    block[..key.len()].copy_from_slice(&key);
    let pad = |byte: u8| block.map(|own| own ^ byte).to_vec();
    let inner = Sha256::digest([pad(0x36), message.to_vec()].concat());
    Sha256::digest([pad(0x5c), inner.to_vec()].concat()).to_vec()
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64
}

fn claims() -> Value {
    json!({ "iss": "https://id.example", "aud": "writkeeper", "sub": "ann", "groups": ["refund-desk"],
        "exp": now() + 600 })
}

fn changed(name: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[name] = value;
    claims
}

fn start(jwks: &str) -> Server {
    Server::start_with(&["--jwks", jwks, "--jwt-issuer", "https://id.example", "--jwt-audience", "writkeeper"])
}

#[test]
fn a_token_counts_only_as_its_issuer_made_it() {
    if !has(&["openssl"]) {
        return;
    }
    let issuer = Issuer::new();
    let file = issuer.folder.path().join("jwks.json");
    std::fs::write(&file, issuer.published().to_string()).unwrap();
    let server = start(&file.to_string_lossy());
    let check = |header: Value, claims: Value, expected: u16| {
        let answer = server.get("/v1/whoami", &issuer.token(&header, &claims));
        assert_eq!(answer.status, expected, "{header} {claims}: {}", answer.text());
    };
    let own = || json!({ "alg": "EdDSA", "kid": "o" });
    check(json!({ "alg": "RS256", "kid": "r" }), claims(), 200);
    check(json!({ "alg": "ES256", "kid": "e" }), claims(), 200);
    check(own(), claims(), 200);
    check(own(), changed("aud", json!(["other", "writkeeper"])), 200);
    // Algorithms and keys that do not belong together.
    check(json!({ "alg": "none" }), claims(), 401);
    check(json!({ "alg": "none", "kid": "r" }), claims(), 401);
    check(json!({ "alg": "HS256", "kid": "r" }), claims(), 401);
    check(json!({ "alg": "HS256", "kid": "h" }), claims(), 401);
    check(json!({ "alg": "RS256", "kid": "e" }), claims(), 401);
    check(json!({ "alg": "EdDSA", "kid": "r" }), claims(), 401);
    check(json!({ "alg": "EdDSA" }), claims(), 401);
    check(json!({ "alg": "EdDSA", "kid": "unknown" }), claims(), 401);
    check(json!({ "alg": "EdDSA", "kid": "o", "crit": ["b64"], "b64": false }), claims(), 401);
    // Claims.
    check(own(), changed("aud", json!("somebody-else")), 401);
    check(own(), changed("aud", Value::Null), 401);
    check(own(), changed("iss", json!("https://evil.example")), 401);
    check(own(), changed("exp", json!(now() - 600)), 401);
    check(own(), changed("exp", Value::Null), 401);
    check(own(), changed("nbf", json!(now() + 600)), 401);
    check(own(), changed("sub", Value::Null), 401);
    check(own(), changed("sub", json!("a\u{202e}nn")), 401);
    // Of those whom an organisation knows, only those in a group look after anything here.
    for groups in [json!([]), Value::Null] {
        let mut claims = changed("groups", groups);
        claims["sub"] = json!("zoe");
        check(own(), claims, 403);
    }
    let good = issuer.token(&own(), &claims());
    let (rest, signature) = good.rsplit_once('.').unwrap();
    let (header, _) = rest.split_once('.').unwrap();
    let other = text(changed("sub", json!("eve")).to_string());
    assert_eq!(server.get("/v1/whoami", &format!("{header}.{other}.{signature}")).status, 401);
    let ann = server.get("/v1/whoami", &good).json();
    assert_eq!(ann, json!({ "tenant": "default", "role": "approver", "name": "ann" }));
    let people = server.get("/v1/people", &server.admin).json();
    assert_eq!(people["people"][0]["groups"], json!(["refund-desk"]), "{people}");
    assert!(!people.to_string().contains("eve"), "{people}");
}

/// Publishes keys, and counts who asks.
fn publish(keys: &Arc<Mutex<Value>>) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, keys) = (listener.local_addr().unwrap(), keys.clone());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 4096]);
            let body = keys.lock().unwrap().to_string();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    format!("http://{address}/jwks.json")
}

#[test]
fn keys_that_are_published_later_count_and_a_lonely_key_needs_no_name() {
    let own = SigningKey::from_bytes(&[9; 32]);
    let next = SigningKey::from_bytes(&[8; 32]);
    let set = |key: &SigningKey, id: &str| json!({ "keys": [{ "kid": id, "kty": "OKP", "crv": "Ed25519", "x": text(key.verifying_key().as_bytes()) }] });
    let token = |key: &SigningKey, header: Value| {
        let signed = format!("{}.{}", text(header.to_string()), text(claims().to_string()));
        format!("{signed}.{}", text(key.sign(signed.as_bytes()).to_bytes()))
    };
    let keys = Arc::new(Mutex::new(set(&own, "first")));
    let server = start(&publish(&keys));
    let status = |shown: &str| server.get("/v1/whoami", shown).status;
    assert_eq!(status(&token(&own, json!({ "alg": "EdDSA" }))), 200, "there is only one key");
    let (later, since) = (token(&next, json!({ "alg": "EdDSA", "kid": "second" })), Instant::now());
    assert_eq!(status(&later), 401);
    *keys.lock().unwrap() = set(&next, "second");
    while status(&later) != 200 {
        assert!(since.elapsed() < PATIENCE, "the new key never counted");
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    assert_eq!(status(&token(&own, json!({ "alg": "EdDSA", "kid": "first" }))), 401, "the old key is withdrawn");
}

/// Publishes keys to the first who asks, and keeps everybody else waiting for ever; how many have asked.
fn publish_once(keys: &Value) -> (String, Arc<AtomicUsize>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, body, asked) = (listener.local_addr().unwrap(), keys.to_string(), Arc::new(AtomicUsize::new(0)));
    let counted = asked.clone();
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 4096]);
            if counted.fetch_add(1, Ordering::SeqCst) == 0 {
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
                let _ = stream.write_all(format!("{head}{body}").as_bytes());
            }
            kept.push(stream);
        }
    });
    (format!("http://{address}/jwks.json"), asked)
}

#[test]
fn an_issuer_that_does_not_answer_holds_up_one_caller_for_a_bounded_time() {
    let (own, other) = (SigningKey::from_bytes(&[9; 32]), SigningKey::from_bytes(&[8; 32]));
    let x = text(own.verifying_key().as_bytes());
    let (jwks, asked) = publish_once(&json!({ "keys": [{ "kid": "first", "kty": "OKP", "crv": "Ed25519", "x": x }] }));
    let server = start(&jwks);
    let token = |key: &SigningKey, id: &str, name: &str| {
        let header = json!({ "alg": "EdDSA", "kid": id });
        let signed = format!("{}.{}", text(header.to_string()), text(changed("sub", json!(name)).to_string()));
        format!("{signed}.{}", text(key.sign(signed.as_bytes()).to_bytes()))
    };
    let status = |shown: &str| server.get("/v1/whoami", shown).status;
    let since = Instant::now();
    std::thread::scope(|scope| {
        // The issuer is asked again for a key that nobody knows, once some time has passed since it was asked last.
        let hanging = scope.spawn(|| {
            let mut answers = Vec::new();
            for number in 0.. {
                if asked.load(Ordering::SeqCst) > 1 || since.elapsed() > PATIENCE {
                    break;
                }
                answers.push(status(&token(&other, "second", &format!("eve-{number}"))));
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
            answers
        });
        while asked.load(Ordering::SeqCst) < 2 {
            assert!(since.elapsed() < PATIENCE, "the issuer is never asked again");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert_eq!(status(&server.admin), 200);
        assert_eq!(status(&token(&own, "first", "bob")), 200, "a key that is known goes on counting");
        let others: Vec<u16> =
            (0..8).map(|number| status(&token(&other, "second", &format!("mal-{number}")))).collect();
        assert_eq!(others, [401; 8], "nobody waits for what somebody else waits for");
        assert!(!hanging.is_finished(), "the one who asked the issuer waits");
        assert_eq!(asked.load(Ordering::SeqCst), 2, "one caller asks for all");
        let answers = hanging.join().unwrap();
        assert!(answers.len() > 1 && answers.iter().all(|status| *status == 401), "{answers:?}");
    });
    assert_eq!((status(&server.admin), status(&token(&own, "first", "cid"))), (200, 200));
}

#[test]
fn keys_that_others_could_answer_for_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_writkeeper"))
        .args(["serve", "--listen", "127.0.0.1:0", "--jwks", "http://id.example/jwks.json"])
        .args(["--jwt-issuer", "https://id.example", "--jwt-audience", "writkeeper", "--store"])
        .arg(folder.path().join("kept.db"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(64), "{said}");
    assert!(said.contains("could be answered by anybody between here and there"), "{said}");
}
