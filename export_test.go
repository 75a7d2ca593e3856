package onceward

// Flights counts the commands that have a leader.
func (e *Engine[Tx]) Flights() int {
	e.flight.mu.Lock()
	defer e.flight.mu.Unlock()
	return len(e.flight.leaders)
}

// Followers counts the calls that follow a leader.
func (e *Engine[Tx]) Followers() (n int) {
	e.flight.mu.Lock()
	defer e.flight.mu.Unlock()
	for _, l := range e.flight.leaders {
		n += l.followers
	}
	return n
}

// Remembered gives the number of entries in the memory front, and their weight in bytes as it is kept and as it is.
func (e *Engine[Tx]) Remembered() (entries, bytes, weighed int) {
	e.memory.mu.Lock()
	defer e.memory.mu.Unlock()
	for element := e.memory.order.Front(); element != nil; element = element.Next() {
		weighed += element.Value.(*entry).bytes
	}
	return len(e.memory.entries), e.memory.bytes, weighed
}
