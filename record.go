package onceward

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"time"

	"github.com/onceward/onceward/fingerprint"
)

// ID identifies a command in a store: the first 16 bytes of the SHA-256 of operation, tenant, principal and key, each
// prefixed with its length. One width, no collation, no limit on the key's length.
type ID [16]byte

var publicEncoding = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// Public is the id's short form for answers, logs and traces: 16 characters that name the record and give away neither
// key nor scope. It encodes the id's first ten bytes, so that a record is found by a range of ids.
func (id ID) Public() string {
	var text [16]byte
	publicEncoding.Encode(text[:], id[:10])
	return string(text[:])
}

func idOf(operation string, scope Scope, key string) (id ID) {
	buf := make([]byte, 0, 256)
	for _, part := range [...]string{operation, scope.Tenant, scope.Principal, key} {
		buf = binary.BigEndian.AppendUint32(buf, uint32(len(part)))
		buf = append(buf, part...)
	}
	sum := sha256.Sum256(buf)
	copy(id[:], sum[:])
	return id
}

// State is the state of a record. These are the only words for it anywhere.
type State string

// Atomic work knows StateCompleted and StateExpired; the others belong to tokens and durable work. StateRunning is
// answered by Find for an attempt of this process and is never stored by atomic work: there the claim is the lock.
const (
	StateIssued    State = "issued"
	StateRunning   State = "running"
	StateCompleted State = "completed"
	StateFailed    State = "failed"
	StateUnknown   State = "unknown"
	StateExpired   State = "expired"
)

// KindBytesMax bounds an outcome's Kind.
const KindBytesMax = 32

// Outcome is what is stored and answered again. The engine never looks inside: only who wrote Data, named by Kind, reads
// it (of Kind "json" it is what Run's work returned, of Kind "http" httponce's own encoding of an answer). Data is shared by all who are answered
// in this process: nobody may change it, the work that returned it included.
type Outcome struct {
	Kind string // who understands Data: "json", "http", …; at most KindBytesMax bytes
	Data []byte
}

// Token identifies one attempt, so that after an unknown commit the engine can tell its own record from another's.
type Token [16]byte

// Record is the durable row of a command. The engine gives a store one without an outcome as what it wants to claim, and
// gets back the one that stands.
type Record struct {
	ID          ID
	Operation   string
	Scope       Scope // of a Per: Tenant operation: without the principal
	Key         string
	Fingerprint fingerprint.Fingerprint
	State       State
	Outcome     Outcome
	Attempt     Token

	// Life is, in a claim, the retention asked for; in a stored record what is left of it by the store's clock at the
	// reading, 0 or less once it has expired.
	Life time.Duration
	// Keep is, in a claim, how long after its life a record is still in the way (Operation.RefuseExpired) and is kept.
	Keep time.Duration

	CreatedAt time.Time // when it was saved; by the store's clock
	ExpiresAt time.Time
}

// InTheWay reports whether the stored record r keeps want from being claimed.
func (r *Record) InTheWay(want *Record) bool { return r.Life > -want.Keep || r.Life > 0 }

// Names reports whether r and other name the same command; a store compares them on every read.
func (r *Record) Names(other *Record) bool {
	return r.ID == other.ID && r.Operation == other.Operation && r.Scope == other.Scope && r.Key == other.Key
}

// Saved is the record that a store keeps for the claim want and outcome o, in the state that the claim asks for, or
// StateCompleted where it asks for none; its times are the store's to add.
func (r *Record) Saved(o Outcome) *Record {
	saved := *r
	saved.State, saved.Outcome = orDefault(r.State, StateCompleted), o
	return &saved
}
