package fingerprint

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// A node is a place in a JSON text on the way to what does not count. The nil
// node is a place with nothing to ignore at or below it.
type node struct {
	name     []byte // canonical string text, as names stand in the output
	ignored  bool
	children []*node
}

// compile joins JSON pointers into a tree; nil if there are none.
func compile(pointers []string) (*node, error) {
	if len(pointers) == 0 {
		return nil, nil
	}
	root := &node{}
	for _, pointer := range pointers {
		names, fault := parsePointer(pointer)
		if fault != "" {
			return nil, fmt.Errorf("JSON pointer %q: %s", pointer, fault)
		}
		at := root
		for _, name := range names {
			at = at.add(name)
		}
		at.ignored = true
	}
	return root, nil
}

// parsePointer splits a JSON pointer (RFC 6901 section 3) into its reference
// tokens, each as canonical string text.
func parsePointer(pointer string) (names [][]byte, fault string) {
	switch {
	case pointer == "":
		return nil, "the whole text cannot be ignored"
	case pointer[0] != '/':
		return nil, "does not begin with a slash"
	case !utf8.ValidString(pointer):
		return nil, "invalid UTF-8"
	}
	var name []byte
	for i := 1; i < len(pointer); {
		r, size := utf8.DecodeRuneInString(pointer[i:])
		i += size
		switch r {
		case '/':
			names, name = append(names, name), nil
			continue
		case '~':
			if i == len(pointer) || pointer[i] != '0' && pointer[i] != '1' {
				return nil, "a tilde not followed by 0 or 1"
			}
			r = rune("~/"[pointer[i]-'0'])
			i++
		}
		name = appendRune(name, r)
	}
	return append(names, name), ""
}

func (n *node) add(name []byte) *node {
	if child := n.child(name); child != nil {
		return child
	}
	child := &node{name: name}
	n.children = append(n.children, child)
	return child
}

func (n *node) matches() bool { return n != nil && n.ignored }

func (n *node) child(name []byte) *node {
	if n == nil {
		return nil
	}
	for _, child := range n.children {
		if bytes.Equal(child.name, name) {
			return child
		}
	}
	return nil
}

// index is the child for an array's element. A token with leading zeros, or
// "-", is a name that no index has (RFC 6901 section 4).
func (n *node) index(i int) *node {
	if n == nil {
		return nil
	}
	var digits [20]byte
	return n.child(strconv.AppendInt(digits[:0], int64(i), 10))
}
