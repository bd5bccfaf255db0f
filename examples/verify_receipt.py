#!/usr/bin/env python3
"""Checks a Writkeeper receipt, or a signed intent or proposal, with Python's standard library and nothing else.

    verify_receipt.py FILE [KEY]

It shares no code with Writkeeper: Ed25519 (RFC 8032), the Merkle tree (RFC 6962), signed notes (c2sp.org/signed-note),
receipts (c2sp.org/tlog-proof@v1) and envelopes (DSSE) are written out below. KEY is the public key you believe, as
`writkeeper ledger keys` prints it, or 64 hexadecimal digits for an envelope; without it the key in the file is used,
which proves that nothing was changed since it was signed, not by whom.

Exit code 0: everything fits. 1: it does not. 65: it cannot be read.
"""

import base64
import hashlib
import json
import sys

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT = pow(2, (P - 1) // 4, P)


class Wrong(Exception):
    """Something does not fit."""


def x_of(y, sign):
    if y >= P:
        raise Wrong("a coordinate lies outside of the field")
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT % P
    if (x * x - square) % P:
        raise Wrong("a point is not on the curve")
    if x == 0 and sign:
        raise Wrong("a point has two encodings")
    return P - x if (x & 1) != sign else x


def point(data):
    number = int.from_bytes(data, "little")
    y, sign = number & ((1 << 255) - 1), number >> 255
    x = x_of(y, sign)
    return (x, y, 1, x * y % P)


def add(a, b):
    e, f = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    g, h = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = f - e, h - g, h + g, f + e
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def times(scalar, base):
    result = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            result = add(result, base)
        base = add(base, base)
        scalar >>= 1
    return result


def same(a, b):
    return (a[0] * b[2] - b[0] * a[2]) % P == 0 and (a[1] * b[2] - b[1] * a[2]) % P == 0


BASE_Y = 4 * pow(5, P - 2, P) % P
BASE_X = x_of(BASE_Y, 0)
BASE = (BASE_X, BASE_Y, 1, BASE_X * BASE_Y % P)
NEUTRAL = (0, 1, 1, 0)


def check_signature(key, message, signature):
    if len(key) != 32 or len(signature) != 64:
        raise Wrong("a key or signature has the wrong length")
    public, commitment = point(key), point(signature[:32])
    scalar = int.from_bytes(signature[32:], "little")
    if scalar >= ORDER:
        raise Wrong("a signature has a second encoding")
    if same(times(8, public), NEUTRAL) or same(times(8, commitment), NEUTRAL):
        raise Wrong("a point of small order fits many messages")
    digest = hashlib.sha512(signature[:32] + key + message).digest()
    challenge = int.from_bytes(digest, "little") % ORDER
    if not same(times(scalar, BASE), add(commitment, times(challenge, public))):
        raise Wrong("the signature does not fit")


def strict_base64(text):
    data = base64.b64decode(text, validate=True)
    if base64.b64encode(data).decode() != text:
        raise Wrong("base64 with stray bits")
    return data


def read_key(text):
    """name+hash+base64 of a byte for the kind and the key."""
    name, key_hash, encoded = text.split("+", 2)
    data = strict_base64(encoded)
    if data[0] != 1 or hashlib.sha256(name.encode() + b"\n" + data).digest()[:4].hex() != key_hash:
        raise Wrong("the key does not have its own hash")
    return name, data[1:]


def leaf_hash(entry):
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left, right):
    return hashlib.sha256(b"\x01" + left + right).digest()


def climb(index, size, leaf, path):
    """The root that a path of siblings leads to (RFC 9162, section 2.1.3.2)."""
    node, last, current = index, size - 1, leaf
    for sibling in path:
        if last == 0:
            raise Wrong("the proof is too long")
        if node & 1 or node == last:
            current = node_hash(sibling, current)
            while not node & 1 and node != 0:
                node, last = node >> 1, last >> 1
        else:
            current = node_hash(current, sibling)
        node, last = node >> 1, last >> 1
    if last != 0:
        raise Wrong("the proof is too short")
    return current


def body_digest(salt, body):
    hasher = hashlib.sha256()
    for part in (b"writkeeper/body/v1", salt, body):
        hasher.update(len(part).to_bytes(8, "big") + part)
    return hasher.hexdigest()


def verify_receipt(text, known):
    head, note = text.split("\n\n", 1)
    lines = head.split("\n")
    if lines[0] != "c2sp.org/tlog-proof@v1" or not lines[1].startswith("extra ") or not lines[2].startswith("index "):
        raise Wrong("it is not a receipt that carries its entry")
    carried = json.loads(strict_base64(lines[1][6:]))
    index = int(lines[2][6:])
    path = [strict_base64(line) for line in lines[3:]]
    signed, signatures = note.rsplit("\n\n", 1)
    signed += "\n"
    origin, size, root = signed.split("\n")[:3]
    ring = [line.split(" ", 2) for line in carried["keyring"].strip("\n").split("\n")]
    if ring[0] != [origin] or ring[1][0] != "0":
        raise Wrong("the keys beside it are not those of the log")
    keys = [key for start, last, key in ring[1:] if int(start) <= int(size) and (last == "-" or int(size) <= int(last))]
    if known and known not in keys and "+" not in known:
        raise Wrong("the key given is not of the form name+hash+base64")
    believed = dict(read_key(key)[::-1] for key in ([known] if known else keys))
    held = 0
    for line in signatures.strip("\n").split("\n"):
        dash, name, encoded = line.split(" ")
        data = strict_base64(encoded)
        for key, key_name in believed.items():
            key_id = hashlib.sha256(key_name.encode() + b"\n\x01" + key).digest()[:4]
            if dash == "\u2014" and name == key_name == origin and data[:4] == key_id:
                check_signature(key, signed.encode(), data[4:])
                held += 1
    if not held:
        raise Wrong("no key that is believed has signed the checkpoint")
    record = record_of(carried, index, path, int(size), strict_base64(root))
    said = f"entry {index} of {size} in {origin}"
    said += f": {told(record)}" if record else "; the record was erased"
    for other in carried.get("companions", []):
        path = [strict_base64(line) for line in other["proof"]]
        record = record_of(other, int(other["index"]), path, int(size), strict_base64(root))
        said += f"; entry {other['index']}: {told(record) if record else 'erased'}"
    return said


def record_of(carried, index, path, size, root):
    """The record of an entry that leads to the root; None if it was erased."""
    if index >= size:
        raise Wrong("the tree has no such entry")
    if climb(index, size, leaf_hash(carried["leaf"].encode()), path) != root:
        raise Wrong("the entry does not lead to the signed root")
    if carried["body"] is None:
        return None
    if body_digest(bytes.fromhex(carried["salt"]), carried["body"].encode()) != json.loads(carried["leaf"])["body"]:
        raise Wrong("the record is not the one of the entry")
    return json.loads(carried["body"])


def told(record):
    """One record in a few words; the signature under an answer must fit what it says."""
    said = f"{record['kind']} {record.get('verdict')} at {record['at']}"
    command = record.get("command") or {}
    if "signature" not in command:
        return said
    verify_envelope(command["signature"], None)
    signed = json.loads(strict_base64(command["signature"]["payload"]))
    if any(signed[part] != command[part] for part in ("question", "digest", "decision", "reason")):
        raise Wrong("the signature under an answer is over another answer")
    return f"{said} by {signed['person']}, signed with {command['signature']['signatures'][0]['keyid']}"


def verify_envelope(document, known):
    payload, kind = strict_base64(document["payload"]), document["payloadType"]
    message = b"DSSEv1 %d %s %d %s" % (len(kind.encode()), kind.encode(), len(payload), payload)
    signers = []
    for signature in document["signatures"]:
        check_signature(bytes.fromhex(signature["keyid"]), message, strict_base64(signature["sig"]))
        signers.append(signature["keyid"])
    if not signers or known and known not in signers:
        raise Wrong("no key that is believed has signed it")
    return f"{kind} signed by {' and '.join(signers)}: {payload.decode()[:120]}"


def main(arguments):
    if not 1 <= len(arguments) <= 2:
        print(__doc__)
        return 64
    known = arguments[1] if len(arguments) == 2 else None
    try:
        with open(arguments[0], encoding="utf-8", newline="") as file:
            text = file.read()
        if text.lstrip().startswith("{"):
            said = verify_envelope(json.loads(text), known)
        else:
            said = verify_receipt(text, known)
    except Wrong as wrong:
        print(f"damaged: {wrong}")
        return 1
    except (OSError, UnicodeDecodeError) as error:
        print(f"cannot be read: {error}")
        return 65
    except (ValueError, KeyError, IndexError, TypeError) as error:
        print(f"damaged: {type(error).__name__} {error}")
        return 1
    print(f"clean: {said}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
