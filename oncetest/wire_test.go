package oncetest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"testing"
)

// message is one of PostgreSQL's.
func message(kind byte, parts ...string) []byte {
	body := []byte{}
	for _, part := range parts {
		body = append(append(body, part...), 0)
	}
	data := binary.BigEndian.AppendUint32([]byte{kind}, uint32(4+len(body)))
	return append(data, body...)
}

func startup(code uint32, rest string) []byte {
	data := binary.BigEndian.AppendUint32(nil, uint32(8+len(rest)))
	return append(binary.BigEndian.AppendUint32(data, code), rest...)
}

// packet is one of MariaDB's.
func packet(number byte, body ...byte) []byte {
	return append([]byte{byte(len(body)), byte(len(body) >> 8), byte(len(body) >> 16), number}, body...)
}

// steps reads all steps that a client sends.
func steps(t *testing.T, w wire, sent []byte) (names []string, reply string) {
	t.Helper()
	var replied bytes.Buffer
	var passed []byte
	from := bufio.NewReader(bytes.NewReader(sent))
	for {
		data, what, err := w.step(from, &replied)
		if err != nil {
			break
		}
		passed = append(passed, data...)
		names = append(names, what)
	}
	if !bytes.Contains(sent, passed) {
		t.Errorf("what is passed on is not what was sent")
	}
	return names, replied.String()
}

func TestPostgresSteps(t *testing.T) {
	t.Parallel()
	names, reply := steps(t, &postgres{statements: map[string]string{}}, slices.Concat(
		startup(gssRequest, ""), startup(sslRequest, ""), startup(3<<16, "user\x00x\x00\x00"),
		message('p', "password"),
		message('P', "s1", "INSERT INTO orders VALUES ($1)"), message('D', "Ss1"), message('S'),
		message('P', "", "BEGIN"), message('B', "", ""), message('E', ""), message('B', "", "s1"), message('E', ""), message('S'),
		message('Q', "SELECT 1 FROM stock; COMMIT"),
		message('Q', "COPY orders FROM STDIN"), message('d', "1,2"), message('c'),
		message('S'), message('X'),
	))
	want := []string{
		"", "", "PREPARE INSERT INTO orders", "BEGIN, INSERT INTO orders", "SELECT stock, COMMIT", "COPY STDIN", "", "", "", "",
	}
	if !slices.Equal(names, want) {
		t.Errorf("the steps are %q, want %q", names, want)
	}
	if reply != "NN" {
		t.Errorf("who asks for encryption is told %q, want N each time", reply)
	}
}

func TestPostgresAnswers(t *testing.T) {
	t.Parallel()
	from := bufio.NewReader(bytes.NewReader(slices.Concat(message('C', "COMMIT"), message('Z', "I"))))
	w := &postgres{}
	if _, ends, err := w.answer(from); ends || err != nil {
		t.Errorf("the answer to a step ends before the server is ready: %v", err)
	}
	if _, ends, err := w.answer(from); !ends || err != nil {
		t.Errorf("the answer to a step does not end when the server is ready: %v", err)
	}
}

func TestMySQLSteps(t *testing.T) {
	t.Parallel()
	w := &mysql{statements: map[uint32]string{}}
	names, _ := steps(t, w, slices.Concat(
		packet(1, 0x85, 0xa6), // the client's part of the greeting
		packet(0, append([]byte{comQuery}, "START TRANSACTION"...)...),
		packet(0, append([]byte{comPrepare}, "INSERT INTO orders VALUES (?)"...)...),
	))
	if want := []string{"", "BEGIN", "PREPARE INSERT INTO orders"}; !slices.Equal(names, want) {
		t.Errorf("the steps are %q, want %q", names, want)
	}
	_, ends, err := w.answer(bufio.NewReader(bytes.NewReader(packet(1, 0, 7, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0))))
	if !ends || err != nil {
		t.Errorf("the answer: %v", err)
	}
	names, _ = steps(t, w, slices.Concat(
		packet(0, comExecute, 7, 0, 0, 0, 0), packet(0, 0x19, 7, 0, 0, 0), packet(0, append([]byte{comQuery}, "COMMIT"...)...),
	))
	if want := []string{"INSERT INTO orders", "", "COMMIT"}; !slices.Equal(names, want) {
		t.Errorf("the steps are %q, want %q", names, want)
	}
}

// FuzzWires: whatever is sent, a step is a part of it, as it is, and nothing panics.
func FuzzWires(f *testing.F) {
	f.Add(slices.Concat(startup(3<<16, "user\x00x\x00\x00"), message('Q', "COMMIT")))
	f.Add(slices.Concat(packet(0, comQuery, 'x'), packet(0, comExecute), packet(0)))
	f.Fuzz(func(t *testing.T, sent []byte) {
		steps(t, &mysql{statements: map[uint32]string{}}, sent)
		steps(t, &postgres{begun: true, statements: map[string]string{}}, sent)
		for _, w := range []wire{&mysql{statements: map[uint32]string{}, preparing: "x"}, &postgres{}} {
			from := bufio.NewReader(bytes.NewReader(sent))
			for {
				if _, _, err := w.answer(from); err != nil {
					break
				}
			}
		}
		_, _, _ = (&postgres{}).step(bufio.NewReader(bytes.NewReader(sent)), io.Discard)
	})
}
