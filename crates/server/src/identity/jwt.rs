//! Identity tokens (JWT) of another organisation: signed by a key that it publishes, for us, and not over.
//!
//! Three algorithms count (RS256, ES256, EdDSA), each only with a key of its own kind. Whatever else a token says about
//! its algorithm, that it has none or that a public key is a shared secret, it is refused.

use super::Caller;
use crate::options::JwtOptions;
use crate::problem::Problem;
use crate::site::Site;
use axum::http::StatusCode;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kernel::agent::Actor;
use kernel::api_key::KeyRole;
use kernel::reasons::Reason;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use url::{Host, Url};
use values::ids::{Digest, identifier_problem};
use values::json::{Bounds, Json};
use writkeeper::Error;

/// Bytes of the longest token.
const TOKEN_MAX: usize = 16 * 1024;

/// Bytes of the longest set of keys.
const KEYS_BYTES_MAX: usize = 256 * 1024;

/// Keys of a set.
const KEYS_MAX: usize = 64;

/// Groups of one person.
const GROUPS_MAX: usize = 256;

/// How much the clocks of two machines may differ.
const SKEW_SECONDS: i64 = 60;

/// How long a set of keys counts before it is read again.
const KEYS_COUNT: Duration = Duration::from_secs(300);

/// Between two looks for a key that is not in the set.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// Whether a text has the form of a token; what it says is not looked at.
pub fn looks_like_one(text: &str) -> bool {
    text.len() <= TOKEN_MAX && text.starts_with("ey") && text.bytes().filter(|byte| *byte == b'.').count() == 2
}

/// A public key of whoever issues tokens.
enum IssuerKey {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// A key with its id.
struct NamedKey {
    id: Option<String>,
    key: IssuerKey,
}

/// Checks tokens by the keys that their issuer publishes.
pub struct Verifier {
    options: JwtOptions,
    keys: Mutex<(Arc<Vec<NamedKey>>, Instant)>,
}

/// What a token says about a person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Claims {
    /// Who.
    pub name: String,
    /// In which groups.
    pub groups: BTreeSet<String>,
}

impl Verifier {
    /// Reads the keys for the first time.
    pub fn open(options: JwtOptions) -> Result<Verifier, Error> {
        if is_readable_on_the_way(&options.jwks) {
            let place = kernel::finding::visible(&options.jwks);
            let problem = "could be answered by anybody between here and there; use https:// or a file";
            return Err(Error::Usage(format!("--jwks `{place}` {problem}")));
        }
        let keys = read_keys(&options.jwks)?;
        Ok(Verifier { options, keys: Mutex::new((Arc::new(keys), Instant::now())) })
    }

    /// The person of a token; their groups are written down where they are not known yet.
    pub fn person(&self, site: &Site, shown: &str, hash: Digest) -> Result<Caller, Problem> {
        let tenant = site.tenants.default().clone();
        let seconds = tenant.keeper.now().micros() / 1_000_000;
        let claims = self.check(shown, seconds).map_err(Problem::unauthenticated)?;
        tenant.keeper.ensure_groups(&Actor::Kernel, &claims.name, &claims.groups)?;
        if claims.groups.is_empty() {
            // An organisation has many people; those who look after nothing here read nothing here.
            let values = [("actor", &*claims.name), ("what", "read or answer anything here without being in a group")];
            return Err(Problem::of(StatusCode::FORBIDDEN, Reason::NotAuthorized, &values));
        }
        let login = Arc::from(format!("token {}", self.options.issuer));
        let (role, name) = (KeyRole::Approver, Arc::from(claims.name));
        Ok(Caller { tenant, role, name, login, session: None, provenance: false, account: hash })
    }

    /// What a token says, if it counts at an instant in seconds.
    fn check(&self, shown: &str, now: i64) -> Result<Claims, &'static str> {
        let mut parts = shown.split('.');
        let (Some(head), Some(body), Some(sign), None) = (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err("it is no token");
        };
        let header = decoded(head).ok_or("its header cannot be read")?;
        let algorithm = header.get("alg").and_then(Json::as_text).unwrap_or_default();
        if header.get("crit").is_some() {
            return Err("its header demands what is not known here");
        }
        let signature = URL_SAFE_NO_PAD.decode(sign).map_err(|_| "its signature cannot be read")?;
        let signed = shown.get(..head.len() + 1 + body.len()).unwrap_or_default().as_bytes();
        let id = header.get("kid").and_then(Json::as_text);
        let is_signed = |keys: &[NamedKey]| {
            // A token that names no key counts only where there is no choice.
            let fits = |key: &&NamedKey| if id.is_none() { keys.len() == 1 } else { key.id.as_deref() == id };
            keys.iter().filter(fits).any(|named| named.key.has_signed(algorithm, signed, &signature))
        };
        let has_signed = is_signed(&self.keys(false)) || is_signed(&self.keys(true));
        if !has_signed {
            return Err("no key of its issuer has signed it");
        }
        self.claims(&decoded(body).ok_or("its claims cannot be read")?, now)
    }

    fn claims(&self, body: &Json, now: i64) -> Result<Claims, &'static str> {
        let text = |name: &str| body.get(name).and_then(Json::as_text);
        let seconds = |name: &str| body.get(name).and_then(Json::as_number).and_then(|number| number.floor().to_i64());
        if text("iss") != Some(self.options.issuer.as_str()) {
            return Err("another issuer has made it");
        }
        let audience = match body.get("aud") {
            Some(Json::Text(one)) => *one == self.options.audience,
            Some(Json::List(all)) => all.iter().any(|one| one.as_text() == Some(self.options.audience.as_str())),
            Some(_) | None => false,
        };
        if !audience {
            return Err("it is for somebody else");
        }
        let expires = seconds("exp").ok_or("it does not say until when it counts")?;
        if now > expires.saturating_add(SKEW_SECONDS) {
            return Err("it is over");
        }
        if seconds("nbf").is_some_and(|from| now < from.saturating_sub(SKEW_SECONDS)) {
            return Err("it does not count yet");
        }
        let name = text(&self.options.name_claim).filter(|name| identifier_problem(name).is_none());
        let name = name.ok_or("it names nobody")?.to_owned();
        let groups = body.get(&self.options.groups_claim).and_then(Json::as_list).unwrap_or_default();
        let groups = groups.iter().take(GROUPS_MAX).filter_map(Json::as_text);
        let groups = groups.filter(|group| identifier_problem(group).is_none()).map(str::to_owned).collect();
        Ok(Claims { name, groups })
    }

    /// The keys; read again where they are old, or where one is missing and nobody looked lately.
    ///
    /// One caller reads, and the others go on with those that are known: an issuer that does not answer holds up nobody
    /// else. Without an answer those that are known go on counting.
    fn keys(&self, again: bool) -> Arc<Vec<NamedKey>> {
        if self.is_to_read(again)
            && let Ok(keys) = read_keys(&self.options.jwks)
        {
            self.known().0 = Arc::new(keys);
        }
        self.known().0.clone()
    }

    /// Whether this caller is the one to read them, who is counted as having done so.
    fn is_to_read(&self, again: bool) -> bool {
        let mut known = self.known();
        let age = known.1.elapsed();
        let is_due = age > KEYS_COUNT || again && age > LOOK_AGAIN;
        if is_due {
            known.1 = Instant::now();
        }
        is_due
    }

    fn known(&self) -> MutexGuard<'_, (Arc<Vec<NamedKey>>, Instant)> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn decoded(part: &str) -> Option<Json> {
    Json::parse_within(&URL_SAFE_NO_PAD.decode(part).ok()?, &Bounds::FILE).ok()
}

impl IssuerKey {
    /// Whether this key made a signature by an algorithm; a key knows one algorithm, whatever the token asks for.
    fn has_signed(&self, algorithm: &str, signed: &[u8], signature: &[u8]) -> bool {
        match (self, algorithm) {
            (IssuerKey::Rsa { n, e }, "RS256") => {
                let key = RsaPublicKeyComponents { n, e };
                key.verify(&signature::RSA_PKCS1_2048_8192_SHA256, signed, signature).is_ok()
            }
            (IssuerKey::P256(point), "ES256") => {
                let key = UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, point);
                key.verify(signed, signature).is_ok()
            }
            (IssuerKey::Ed25519(point), "EdDSA") => {
                UnparsedPublicKey::new(&signature::ED25519, point).verify(signed, signature).is_ok()
            }
            (IssuerKey::Rsa { .. } | IssuerKey::P256(_) | IssuerKey::Ed25519(_), _) => false,
        }
    }

    fn from_json(json: &Json) -> Option<IssuerKey> {
        let text = |name: &str| json.get(name).and_then(Json::as_text);
        let bytes = |name: &str| URL_SAFE_NO_PAD.decode(text(name)?).ok();
        if text("use").is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        match (text("kty")?, text("crv")) {
            ("RSA", _) => Some(IssuerKey::Rsa { n: bytes("n")?, e: bytes("e")? }),
            ("EC", Some("P-256")) => Some(IssuerKey::P256([vec![4], bytes("x")?, bytes("y")?].concat())),
            ("OKP", Some("Ed25519")) => Some(IssuerKey::Ed25519(bytes("x")?)),
            _ => None,
        }
    }
}

/// Whether a place is an address that others than its owner could answer for: plain HTTP to another machine.
fn is_readable_on_the_way(place: &str) -> bool {
    let Ok(url) = Url::parse(place) else { return false };
    let is_here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "http" && !is_here
}

/// Reads a set of keys from a file or an address.
fn read_keys(place: &str) -> Result<Vec<NamedKey>, Error> {
    let unread = |problem: String| Error::Invalid(format!("the keys of `{place}` cannot be read: {problem}"));
    let bytes = if place.starts_with("https://") || place.starts_with("http://") {
        let config = ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(10)));
        // Nobody is sent on to where the answer could be changed.
        let agent = config.https_only(place.starts_with("https://")).max_redirects(3).build().new_agent();
        let answer = agent.get(place).call().map_err(|error| unread(error.to_string()))?;
        let read = answer.into_body().with_config().limit(KEYS_BYTES_MAX as u64).read_to_vec();
        read.map_err(|error| unread(error.to_string()))?
    } else {
        std::fs::read(place).map_err(|error| unread(error.to_string()))?
    };
    let json = Json::parse_within(&bytes, &Bounds::FILE).map_err(|refusal| unread(refusal.to_string()))?;
    let keys = json.get("keys").and_then(Json::as_list).ok_or_else(|| unread("there is no `keys`".to_owned()))?;
    let named = keys.iter().take(KEYS_MAX).filter_map(|json| {
        let id = json.get("kid").and_then(Json::as_text).map(str::to_owned);
        Some(NamedKey { id, key: IssuerKey::from_json(json)? })
    });
    let named: Vec<NamedKey> = named.collect();
    if named.is_empty() { Err(unread("none of them is of a kind that counts".to_owned())) } else { Ok(named) }
}
