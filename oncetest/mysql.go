package oncetest

import (
	"bufio"
	"encoding/binary"
	"io"
	"sync"
)

// Commands of the protocol that are points. All others either have no answer or do nothing.
const (
	comQuery   = 0x03
	comPrepare = 0x16
	comExecute = 0x17
)

// mysql is the protocol of MariaDB and MySQL, without compression. A client sends a command when the last one was answered. The
// server has carried it out when it begins to answer.
type mysql struct {
	mu         sync.Mutex
	statements map[uint32]string // what was prepared: the statement's label
	preparing  string            // the label of what is being prepared
}

func (m *mysql) step(client *bufio.Reader, _ io.Writer) (data []byte, what string, err error) {
	packet, err := readPacket(client)
	if err != nil || packet[3] != 0 || len(packet) < 5 { // all but a command's first packet have a higher number
		return packet, "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch body := packet[5:]; packet[4] {
	case comQuery:
		return packet, joined(labels(string(body))), nil
	case comPrepare:
		m.preparing = label(string(body))
		return packet, "PREPARE " + m.preparing, nil
	case comExecute:
		if len(body) >= 4 {
			return packet, m.statements[binary.LittleEndian.Uint32(body)], nil
		}
	}
	return packet, "", nil
}

func (m *mysql) answer(server *bufio.Reader) (data []byte, ends bool, err error) {
	packet, err := readPacket(server)
	if err != nil {
		return nil, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if packet[3] == 1 && m.preparing != "" {
		if len(packet) >= 9 && packet[4] == 0 {
			m.statements[binary.LittleEndian.Uint32(packet[5:])] = m.preparing
		}
		m.preparing = ""
	}
	return packet, packet[3] == 1, nil
}

// readPacket reads a packet: the length of its rest in three bytes, its number, the rest.
func readPacket(from *bufio.Reader) ([]byte, error) {
	header, err := from.Peek(4)
	if err != nil {
		return nil, err
	}
	packet := make([]byte, 4+(uint32(header[0])|uint32(header[1])<<8|uint32(header[2])<<16))
	_, err = io.ReadFull(from, packet)
	return packet, err
}
