package httponce

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/onceward/onceward"
)

// ContractPath is where a service serves its contract.
const ContractPath = "/.well-known/idempotency"

// Contracted is a Door of any transaction type.
type Contracted interface {
	contract() []contract
	lookup(w http.ResponseWriter, r *http.Request) bool
}

// contract is one operation's part of what the doors promise.
type contract struct {
	Operation        string         `json:"operation"`
	Guarantee        string         `json:"guarantee"`
	Scope            string         `json:"scope"`
	RetentionSeconds float64        `json:"retentionSeconds"`
	WaitSeconds      float64        `json:"waitSeconds"`
	WindowSeconds    float64        `json:"windowSeconds,omitempty"` // in which requests without a key that mean the same are one
	SubmitSeconds    float64        `json:"submitSeconds,omitempty"` // in which an issued token can be submitted
	Expired          expiredRule    `json:"expired"`
	Key              keyRule        `json:"key"`
	BodyBytesMax     int            `json:"bodyBytesMax"`
	Recorded         recordedRule   `json:"recorded"`
	Problems         map[string]int `json:"problems"`
}

type expiredRule struct {
	Key            string  `json:"key"` // "claimed anew" or "refused"
	RefusedSeconds float64 `json:"refusedSeconds,omitempty"`
}

type keyRule struct {
	From     string `json:"from"`             // "header", "header or content", "request", or "token": that is issued, in the header or the request
	Header   string `json:"header,omitempty"` // the field; none where the request itself has the key
	Required bool   `json:"required"`         // a request without the field is refused
	BytesMax int    `json:"bytesMax"`
	Bare     bool   `json:"bare"` // without quotes as well
}

type recordedRule struct {
	Statuses      []string `json:"statuses"`
	Header        []string `json:"header"`
	BytesMax      int      `json:"bytesMax"`
	ReplayedField string   `json:"replayedField"`
	IDField       string   `json:"idField"`
}

// Contract serves what the doors promise, as JSON, for GET on ContractPath: of each operation the guarantee, whose key
// it is, how long a result is kept, how long a duplicate waits, what an expired key means, what a key looks like, what
// is recorded, and the status of each problem by its code. Operations that are registered later appear as well.
func Contract(doors ...Contracted) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header()["Allow"] = []string{"GET, HEAD, OPTIONS"}
			if r.Method == http.MethodOptions {
				w.WriteHeader(http.StatusNoContent)
				return
			}
			contractMethod.answer("").ServeHTTP(w, r)
			return
		}
		operations := []contract{}
		for _, door := range doors {
			operations = append(operations, door.contract()...)
		}
		data, _ := json.MarshalIndent(map[string]any{"version": 1, "operations": operations}, "", "  ") // cannot fail
		answer := reply{status: http.StatusOK, body: append(data, '\n')}
		answer.set("Content-Type", "application/json")
		answer.send(w, "", nil)
	})
}

func (d *Door[Tx]) contract() []contract {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := make([]contract, len(d.operations))
	for i, op := range d.operations {
		list[i] = d.options.contract(op.Operation, d.stored)
		if op.by {
			list[i].Key = keyRule{From: "request", BytesMax: onceward.KeyBytesMax}
			for _, k := range [...]kind{keyMissing, keyRepeated, keyMalformed, keyTooLong} {
				delete(list[i].Problems, k.code)
			}
		}
		if op.Submit > 0 {
			list[i].Key.From = "token"
		}
	}
	return list
}

func (o *Options) contract(op *onceward.Operation, stored []string) contract {
	c := contract{
		Operation:        op.Name,
		Guarantee:        "atomic",
		Scope:            op.Per.String(),
		RetentionSeconds: orDefault(op.Retention, onceward.RetentionDefault).Seconds(),
		WaitSeconds:      op.Wait.Seconds(),
		WindowSeconds:    op.Window.Seconds(),
		SubmitSeconds:    op.Submit.Seconds(),
		Expired:          expiredRule{Key: "claimed anew"},
		Key:              keyRule{From: "header", Header: HeaderKey, Required: !o.Optional && op.Window == 0, BytesMax: o.KeyBytesMax, Bare: !o.Strict},
		BodyBytesMax:     o.BodyBytesMax,
		Recorded: recordedRule{
			Statuses: []string{"2xx", "3xx", "concluded"}, Header: stored, BytesMax: o.StoredBytesMax,
			ReplayedField: HeaderReplayed, IDField: HeaderID,
		},
		Problems: o.problems(op),
	}
	if op.Window > 0 {
		c.Key.From = "header or content"
	}
	switch {
	case op.Submit > 0: // for ever: a token is not issued twice
		c.Expired = expiredRule{Key: "refused"}
	case op.RefuseExpired > 0:
		c.Expired = expiredRule{Key: "refused", RefusedSeconds: op.RefuseExpired.Round(time.Second).Seconds()}
	}
	return c
}
