package httponce

import (
	"bytes"
	"context"
	"net/http"
	"sync"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/fingerprint"
)

// visit is one request's passage through the door. It is its command's meaning: that of the request, and where there is
// an input to decode, that is decoded and validated when the engine asks for the canonical form. An identical retry has
// been answered from memory by then and needs no input; a first attempt has not claimed anything yet.
type visit struct {
	fingerprint.Request
	command onceward.Command
	in      *http.Request
	out     http.ResponseWriter
	decode  func(body []byte) (any, error)                   // nil where there is no input
	by      func(r *http.Request, input any) (string, error) // the key; nil where it is in the field
	lookup  bool                                             // of what became of a command: its key is in the field
	named   bool                                             // and was made of the request that is looked up
	input   any                                              // decoded, and not taken by an attempt yet
	answer  *reply                                           // of the latest attempt, where it is to be committed
	ran     bool                                             // a work has run: others may know of this visit
	sent    bool                                             // the response is begun

	reader body   // for Authorize
	room   []byte // for the body
	stored stored // room for what is replayed
}

// visits are used again if no work has run: then only Scope and Authorize have seen them. A handler may keep what it got
// longer than it should, and must not find another caller's request in it.
var visits = sync.Pool{New: func() any { return &visit{} }}

// A larger body is not kept for the next visit.
const roomBytesMax = 16 << 10

func enter(op *onceward.Operation, w http.ResponseWriter, r *http.Request) *visit {
	v := visits.Get().(*visit)
	v.in, v.out, v.command.Operation = r, w, op
	return v
}

// leave gives a visit that was replayed to the next one.
func (v *visit) leave() {
	if v.ran {
		return
	}
	room := v.room[:0]
	if cap(room) > roomBytesMax {
		room = nil
	}
	*v = visit{room: room}
	visits.Put(v)
}

// rewound is the request for a new reader, under ctx.
func (v *visit) rewound(ctx context.Context) *http.Request {
	r := v.in.WithContext(ctx)
	r.Body, r.ContentLength, r.TransferEncoding = &body{*bytes.NewReader(v.Body)}, int64(len(v.Body)), nil
	return r
}

// removeFiles deletes what the handler's parsing of a form has put on the disk. net/http does so for its own request only.
func (v *visit) removeFiles(attempt *http.Request) {
	if form := attempt.MultipartForm; form != nil && form != v.in.MultipartForm {
		_ = form.RemoveAll() // the files are temporary
	}
}

// asked asks authorize about the request, which has its body to read for as long as it is asked.
func (v *visit) asked(authorize func(*http.Request, onceward.Command) error) error {
	consumed := v.in.Body
	v.reader.Reset(v.Body)
	v.in.Body = &v.reader
	defer func() {
		v.in.Body = consumed
		v.reader.Reset(nil)
	}()
	return authorize(v.in, v.command)
}

type body struct{ bytes.Reader }

// Close implements io.Closer.
func (*body) Close() error { return nil }

// Canonical implements fingerprint.Meaning.
func (v *visit) Canonical(version fingerprint.Version) (fingerprint.Digest, error) {
	if v.decode != nil && v.input == nil {
		var err error
		if v.input, err = v.decode(v.Body); err != nil {
			return fingerprint.Digest{}, err
		}
	}
	return v.Request.Canonical(version)
}

// take gives the input to one attempt; the next one gets a fresh one.
func (v *visit) take() (input any, err error) {
	if input = v.input; input == nil {
		return v.decode(v.Body)
	}
	v.input = nil
	return input, nil
}

// id is the public id of the visit's command, which must be complete.
func (v *visit) id() string { return v.command.ID().Public() }

// keyless: no key is in the field, so that the answer must not speak of one.
func (v *visit) keyless() bool {
	return v.by != nil || v.command.Operation.Window > 0 && len(v.in.Header[HeaderKey]) == 0 && !v.lookup
}

func (v *visit) send(p *reply, id string, keep func(name string) bool) {
	v.sent = true
	p.send(v.out, id, keep)
}
