package fingerprint

import "sync"

// memo keeps what was computed. A failure is kept too: the input does not
// change. It holds at most one result per version the meaning knows.
type memo struct {
	mu        sync.Mutex
	hasRaw    bool
	rawDigest Digest
	results   []result
}

type result struct {
	version Version
	digest  Digest
	err     error
}

func (m *memo) raw(compute func() Digest) Digest {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.hasRaw {
		m.rawDigest, m.hasRaw = compute(), true
	}
	return m.rawDigest
}

func (m *memo) canonical(v Version, compute func() (Digest, error)) (Digest, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.results {
		if r.version == v {
			return r.digest, r.err
		}
	}
	digest, err := compute()
	m.results = append(m.results, result{v, digest, err})
	return digest, err
}
