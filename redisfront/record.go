package redisfront

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/fingerprint"
)

// The encoding of a completed record, version 1:
//
//	1 byte   version
//	fixed    as the struct below, big-endian
//	texts    operation, tenant, principal, key, outcome's kind: each its length in bytes as uvarint, and its bytes
//	rest     the outcome's data
const recordVersion = 1

// fixed is the part of a record that has one size.
type fixed struct {
	FingerprintVersion fingerprint.Version
	Raw, Canonical     fingerprint.Digest
	Attempt            onceward.Token
	CreatedAt          int64 // microseconds since 1970
	ExpiresAt          int64
}

var errRecord = errors.New("redisfront: what Redis holds is not a record that this version can read")

func encode(r *onceward.Record) ([]byte, error) {
	b, err := binary.Append([]byte{recordVersion}, binary.BigEndian, fixed{
		FingerprintVersion: r.Fingerprint.Version,
		Raw:                r.Fingerprint.Raw,
		Canonical:          r.Fingerprint.Canonical,
		Attempt:            r.Attempt,
		CreatedAt:          r.CreatedAt.UnixMicro(),
		ExpiresAt:          r.ExpiresAt.UnixMicro(),
	})
	for _, text := range [...]string{r.Operation, r.Scope.Tenant, r.Scope.Principal, r.Key, r.Outcome.Kind} {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	return append(b, r.Outcome.Data...), err
}

// decode reads a record of id. Anybody may write to Redis: nothing is believed of its lengths.
func decode(id onceward.ID, text string) (*onceward.Record, error) {
	var f fixed
	if len(text) == 0 || text[0] != recordVersion {
		return nil, errRecord
	}
	size, err := binary.Decode([]byte(text[1:min(len(text), 1+binary.Size(f))]), binary.BigEndian, &f)
	if err != nil {
		return nil, errRecord
	}
	rest := text[1+size:]
	r := &onceward.Record{
		ID: id, State: onceward.StateCompleted, Attempt: f.Attempt,
		Fingerprint: fingerprint.Fingerprint{Version: f.FingerprintVersion, Raw: f.Raw, Canonical: f.Canonical},
		CreatedAt:   time.UnixMicro(f.CreatedAt), ExpiresAt: time.UnixMicro(f.ExpiresAt),
	}
	for _, part := range [...]*string{&r.Operation, &r.Scope.Tenant, &r.Scope.Principal, &r.Key, &r.Outcome.Kind} {
		length, n := uvarint(rest)
		if n <= 0 || length > uint64(len(rest)-n) {
			return nil, errRecord
		}
		*part, rest = rest[n:n+int(length)], rest[n+int(length):]
	}
	r.Outcome.Data = []byte(rest)
	return r, nil
}

func uvarint(s string) (uint64, int) {
	return binary.Uvarint([]byte(s[:min(len(s), binary.MaxVarintLen64)]))
}

// lockValue is what the lock of an attempt holds: "fingerprint:ownerToken", the fingerprint as "version.digest".
func lockValue(want *onceward.Record) string {
	b := strconv.AppendUint(make([]byte, 0, 128), uint64(want.Fingerprint.Version), 16)
	b = hex.AppendEncode(append(b, '.'), want.Fingerprint.Canonical[:])
	return string(hex.AppendEncode(append(b, ':'), want.Attempt[:]))
}

// holderOf is the fingerprint in a lock's value.
func holderOf(value string) (*fingerprint.Fingerprint, error) {
	text, _, _ := strings.Cut(value, ":")
	version, digest, _ := strings.Cut(text, ".")
	number, err := strconv.ParseUint(version, 16, 32)
	if err != nil || hex.DecodedLen(len(digest)) != len(fingerprint.Digest{}) {
		return nil, errRecord
	}
	holder := &fingerprint.Fingerprint{Version: fingerprint.Version(number)}
	if _, err := hex.Decode(holder.Canonical[:], []byte(digest)); err != nil {
		return nil, errRecord
	}
	return holder, nil
}

// keys are the names of a command's result and of its lock.
func keys(want *onceward.Record) []string {
	name := want.Operation + ":{" + hex.EncodeToString(want.ID[:]) + "}"
	return []string{"idem:result:" + name, "idem:lock:" + name}
}
