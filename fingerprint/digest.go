package fingerprint

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"sync"
)

// Digest is SHA-256.
type Digest [sha256.Size]byte

// Encoding is the number of this package's way to write a meaning into a
// digest: the high 16 bits of a [Version]. It changes when the same input would
// give another canonical digest.
const Encoding = 1

const (
	domain = "onceward"

	// Parts longer than this go to the hash without being copied first.
	copyBytesMax = 512

	// A preimage that grew beyond these is not kept for the next caller, so
	// that one large body does not stay in memory.
	keepBytesMax   = 64 << 10
	keepMembersMax = 1 << 10
)

// A preimage is what a digest is made of, on its way into the hash. Each part
// is written with its length in front and each list with its count, so that
// different sequences of parts never are the same bytes.
type preimage struct {
	hash    hash.Hash
	buf     []byte
	members []member
	sum     [sha256.Size]byte
}

var preimages = sync.Pool{New: func() any { return &preimage{hash: sha256.New()} }}

// begin starts the preimage of one kind of meaning. The caller releases it.
func begin(kind string) *preimage {
	p := preimages.Get().(*preimage)
	p.hash.Reset()
	p.buf = append(p.buf[:0], domain...)
	p.buf = binary.BigEndian.AppendUint16(p.buf, Encoding)
	p.text(kind)
	return p
}

func (p *preimage) release() {
	if cap(p.buf) > keepBytesMax {
		p.buf = nil
	}
	if cap(p.members) > keepMembersMax {
		p.members = nil
	}
	preimages.Put(p)
}

func (p *preimage) count(n int) {
	p.buf = binary.BigEndian.AppendUint64(p.buf, uint64(n))
}

func (p *preimage) text(s string) {
	p.count(len(s))
	p.buf = append(p.buf, s...)
}

func (p *preimage) texts(list []string) {
	p.count(len(list))
	for _, s := range list {
		p.text(s)
	}
}

func (p *preimage) bytes(b []byte) {
	p.count(len(b))
	if len(b) <= copyBytesMax {
		p.buf = append(p.buf, b...)
		return
	}
	p.hash.Write(p.buf)
	p.hash.Write(b)
	p.buf = p.buf[:0]
}

// json writes the canonical form of the JSON text b as one part.
func (p *preimage) json(b []byte, ignore *node) error {
	start := len(p.buf)
	p.count(0) // the length, known only afterwards
	c := canonicalizer{in: b, out: p.buf, members: p.members[:0]}
	err := c.document(ignore)
	p.buf, p.members = c.out, c.members
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint64(p.buf[start:], uint64(len(p.buf)-start-8))
	return nil
}

func (p *preimage) digest() Digest {
	p.hash.Write(p.buf)
	p.hash.Sum(p.sum[:0])
	return p.sum
}

func digestBytes(kind string, b []byte) Digest {
	p := begin(kind)
	defer p.release()
	p.bytes(b)
	return p.digest()
}
