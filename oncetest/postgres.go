package oncetest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
)

// Requests that a PostgreSQL client may begin with in the place of a version.
const (
	sslRequest    = 80877103
	gssRequest    = 80877104
	cancelRequest = 80877102
)

// startupBytesMax bounds a client's first message.
const startupBytesMax = 10_000

var errMessage = errors.New("oncetest: a message of the database's protocol is not one")

// postgres is PostgreSQL's protocol, version 3. A step ends with a Sync, a simple query or a function call, each of which the
// server answers with one ReadyForQuery.
type postgres struct {
	begun      bool
	statements map[string]string // what was prepared, by name: the statement's label
}

func (p *postgres) step(client *bufio.Reader, reply io.Writer) (data []byte, what string, err error) {
	if !p.begun {
		data, err = p.begin(client, reply)
		return data, "", err
	}
	var ran, prepared []string
	for {
		message, err := readMessage(client)
		if err != nil {
			return nil, "", err
		}
		data = append(data, message...)
		body := message[5:]
		switch message[0] {
		case 'Q':
			return data, joined(labels(cString(body))), nil
		case 'P':
			name := cString(body)
			p.statements[name] = label(cString(body[min(len(name)+1, len(body)):]))
			prepared = append(prepared, p.statements[name])
		case 'B':
			portal := cString(body)
			ran = append(ran, p.statements[cString(body[min(len(portal)+1, len(body)):])])
		case 'S', 'F':
			if len(ran) == 0 && len(prepared) > 0 {
				return data, "PREPARE " + joined(prepared), nil
			}
			return data, joined(ran), nil
		case 'E', 'D', 'C':
		default: // a flush, a copy's data, a password, the end
			return data, "", nil
		}
	}
}

// begin reads what comes before a connection is one. The client is told to go on without encryption.
func (p *postgres) begin(client *bufio.Reader, reply io.Writer) ([]byte, error) {
	for {
		header, err := client.Peek(8)
		if err != nil {
			return nil, err
		}
		length, code := binary.BigEndian.Uint32(header), binary.BigEndian.Uint32(header[4:])
		if length < 8 || length > startupBytesMax {
			return nil, errMessage
		}
		data := make([]byte, length)
		if _, err := io.ReadFull(client, data); err != nil {
			return nil, err
		}
		if code != sslRequest && code != gssRequest {
			p.begun = true
			return data, nil
		}
		if _, err := reply.Write([]byte{'N'}); err != nil {
			return nil, err
		}
	}
}

func (p *postgres) answer(server *bufio.Reader) (data []byte, ends bool, err error) {
	message, err := readMessage(server)
	if err != nil {
		return nil, false, err
	}
	return message, message[0] == 'Z', nil
}

// readMessage reads a message: its type, the length of the rest, the rest.
func readMessage(from *bufio.Reader) ([]byte, error) {
	header, err := from.Peek(5)
	if err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(header[1:])
	if length < 4 || length > messageBytesMax {
		return nil, errMessage
	}
	message := make([]byte, 1+length)
	_, err = io.ReadFull(from, message)
	return message, err
}

// cString is the text at the beginning of body, up to its zero.
func cString(body []byte) string {
	text, _, _ := bytes.Cut(body, []byte{0})
	return string(text)
}

// joined is a step's name: of several statements, without repetition.
func joined(labels []string) string { return strings.Join(slices.Compact(labels), ", ") }
