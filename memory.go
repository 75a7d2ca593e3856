package onceward

import (
	"container/list"
	"sync"
	"time"
)

// A completed outcome stays in memory for the life that the store reported, and at most this long, so that a record
// that was erased in the store does not live on.
const memoryLifeMax = 5 * time.Minute

// One entry may take this part of the memory at most, so that a few large outcomes do not drive out all others.
const memoryShare = 16

// entryBytes is what an entry weighs beside its texts and its outcome.
const entryBytes = 512

// memory is the front within the process: completed records, least recently used first to go, bounded in bytes. It saves
// work and never decides: what it does not hold is asked of the store.
type memory struct {
	bytesMax int

	mu      sync.Mutex
	bytes   int
	entries map[ID]*list.Element
	order   list.List // of *entry; the front was used last
}

type entry struct {
	record *Record
	until  time.Time // on the monotonic clock
	bytes  int
}

// get returns a record that may be replayed at now; nil if there is none.
func (m *memory) get(id ID, now time.Time) *Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	element := m.entries[id]
	if element == nil {
		return nil
	}
	e := element.Value.(*entry)
	if !now.Before(e.until) {
		m.drop(element)
		return nil
	}
	m.order.MoveToFront(element)
	return e.record
}

// put keeps record, whose life was reported by a call to the store that began at began: measured from then, an entry
// ends before its record does.
func (m *memory) put(record *Record, began time.Time) {
	weight := entryBytes + len(record.Key) + len(record.Scope.Tenant) + len(record.Scope.Principal) + len(record.Outcome.Data)
	until := began.Add(min(record.Life, memoryLifeMax))
	if record.State != StateCompleted || !time.Now().Before(until) || weight > m.bytesMax/memoryShare {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if old := m.entries[record.ID]; old != nil {
		m.drop(old)
	}
	if m.entries == nil {
		m.entries = map[ID]*list.Element{}
	}
	m.entries[record.ID] = m.order.PushFront(&entry{record: record, until: until, bytes: weight})
	for m.bytes += weight; m.bytes > m.bytesMax; {
		m.drop(m.order.Back())
	}
}

func (m *memory) drop(element *list.Element) {
	e := m.order.Remove(element).(*entry)
	delete(m.entries, e.record.ID)
	m.bytes -= e.bytes
}
