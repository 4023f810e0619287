package dnsutil

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// A kind is a record type (RFC 1035, 3596 and 4408).
type kind uint16

// These types are queried, or occur in responses.
const (
	typeA     kind = 1
	typeNS    kind = 2
	typeCNAME kind = 5
	typeMX    kind = 15
	typeTXT   kind = 16
	typeAAAA  kind = 28
	typeOPT   kind = 41
	typeSPF   kind = 99
)

const classInternet = 1

// These are flags in the header of a message.
const (
	isAnswer  = 1 << 15
	truncated = 1 << 9
	recursive = 1 << 8
)

// largest is the largest UDP response that passes all networks without fragmentation.
const largest = 1232

// A question is a DNS query.
type question struct {
	id   uint16
	name []byte // in wire format
	kind kind
	raw  []byte // the message
}

func newQuestion(name string, k kind) (*question, error) {
	packed, err := packName(name)
	if err != nil {
		return nil, err
	}
	var id [2]byte
	rand.Read(id[:])
	q := &question{id: binary.BigEndian.Uint16(id[:]), name: packed, kind: k}
	b := binary.BigEndian
	q.raw = b.AppendUint16(b.AppendUint16(nil, q.id), recursive)
	// questions, answers, authorities, additional records: the response size
	for _, count := range []uint16{1, 0, 0, 1} {
		q.raw = b.AppendUint16(q.raw, count)
	}
	q.raw = b.AppendUint16(b.AppendUint16(append(q.raw, packed...), uint16(k)), classInternet)
	q.raw = b.AppendUint16(b.AppendUint16(append(q.raw, 0), uint16(typeOPT)), largest)
	q.raw = append(q.raw, 0, 0, 0, 0, 0, 0)
	return q, nil
}

// packName returns a name in wire format.
func packName(name string) ([]byte, error) {
	var b []byte
	for label := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		if label == "" || len(label) > 63 {
			return nil, errors.New("not a domain name")
		}
		b = append(append(b, byte(len(label))), label...)
	}
	if b = append(b, 0); len(b) > 255 {
		return nil, errors.New("the domain name is too long")
	}
	return b, nil
}

var errMessage = errors.New("the DNS response is incomplete")

// A message is parsed sequentially.
type message struct {
	b  []byte
	at int
}

// take returns the next n bytes.
func (m *message) take(n int) ([]byte, error) {
	if n > len(m.b)-m.at {
		return nil, errMessage
	}
	m.at += n
	return m.b[m.at-n : m.at], nil
}

func (m *message) number() (uint16, error) {
	b, err := m.take(2)
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint16(b), nil
}

// name returns the labels of the next name, in wire format. Each pointer in it must point further
// back than the one before.
func (m *message) name() ([]byte, error) {
	var name []byte
	at, back := m.at, m.at
	for jumped := false; ; {
		if at >= len(m.b) {
			return nil, errMessage
		}
		n := int(m.b[at])
		switch {
		case n >= 0xc0:
			if at+1 >= len(m.b) {
				return nil, errMessage
			}
			if !jumped {
				m.at, jumped = at+2, true
			}
			if at = (n&0x3f)<<8 | int(m.b[at+1]); at >= back {
				return nil, errMessage
			}
			back = at
			continue
		case n > 63 || at+1+n > len(m.b) || len(name)+1+n > 255:
			return nil, errMessage
		}
		name = append(name, m.b[at:at+1+n]...)
		if at += 1 + n; n == 0 {
			if !jumped {
				m.at = at
			}
			return name, nil
		}
	}
}

// domain returns the next name as dig prints it.
func (m *message) domain() (string, error) {
	name, err := m.name()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for len(name) > 1 {
		n := int(name[0])
		escape(&b, name[1:1+n], `"().;\@$`, ' ')
		b.WriteByte('.')
		name = name[1+n:]
	}
	if b.Len() == 0 {
		return ".", nil
	}
	return b.String(), nil
}

// escape writes bytes in zone file syntax. Bytes in special get a backslash; those up to low and
// above ~ are written as numbers.
func escape(b *strings.Builder, text []byte, special string, low byte) {
	for _, c := range text {
		switch {
		case c <= low || c > '~':
			fmt.Fprintf(b, "\\%03d", c)
		case strings.IndexByte(special, c) >= 0:
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
}

// head reads the header of a message and the one question.
func (m *message) head() (id, flags, answers uint16, name []byte, k kind, err error) {
	b, err := m.take(12)
	if err != nil {
		return 0, 0, 0, nil, 0, err
	}
	get := binary.BigEndian.Uint16
	if get(b[4:]) != 1 {
		return 0, 0, 0, nil, 0, errMessage
	}
	if name, err = m.name(); err != nil {
		return 0, 0, 0, nil, 0, err
	}
	asked, err := m.take(4)
	if err != nil || get(asked[2:]) != classInternet {
		return 0, 0, 0, nil, 0, errMessage
	}
	return get(b), get(b[2:]), get(b[6:]), name, kind(get(asked)), nil
}

// answeredBy reports whether a message responds to the question. Anyone can send messages over UDP.
func (q *question) answeredBy(answer []byte) bool {
	id, flags, _, name, k, err := (&message{b: answer}).head()
	return err == nil && flags&isAnswer != 0 && id == q.id && k == q.kind &&
		strings.EqualFold(string(name), string(q.name))
}

// cut reports whether a response is truncated.
func cut(answer []byte) bool {
	_, flags, _, _, _, err := (&message{b: answer}).head()
	return err == nil && flags&truncated != 0
}

// lines returns the records of a response, each as dig +short prints it.
func (q *question) lines(answer []byte) ([]string, error) {
	m := &message{b: answer}
	_, _, answers, _, _, err := m.head()
	if err != nil {
		return nil, err
	}
	var lines []string
	for range answers {
		line, err := m.record()
		if err != nil {
			return nil, err
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// record reads a record. It returns "" for unknown types.
func (m *message) record() (string, error) {
	if _, err := m.name(); err != nil {
		return "", err
	}
	b, err := m.take(10) // type, class, time to live, length
	if err != nil {
		return "", err
	}
	length := int(binary.BigEndian.Uint16(b[8:]))
	if length > len(m.b)-m.at {
		return "", errMessage
	}
	end := m.at + length
	line, err := (&message{b: m.b[:end], at: m.at}).body(kind(binary.BigEndian.Uint16(b)))
	m.at = end
	return line, err
}

// body returns the text of a record, whose data extends to the end of the message.
func (m *message) body(k kind) (string, error) {
	switch k {
	case typeA, typeAAAA:
		ip, ok := netip.AddrFromSlice(m.b[m.at:])
		if !ok || ip.Is4() != (k == typeA) {
			return "", errMessage
		}
		return ip.String(), nil
	case typeCNAME, typeNS:
		return m.domain()
	case typeMX:
		priority, err := m.number()
		if err != nil {
			return "", err
		}
		host, err := m.domain()
		return fmt.Sprintf("%d %s", priority, host), err
	case typeTXT, typeSPF:
		return m.texts()
	}
	return "", nil
}

// texts returns quoted strings, each of which is preceded by its length in the message.
func (m *message) texts() (string, error) {
	var b strings.Builder
	for m.at < len(m.b) {
		n, _ := m.take(1)
		text, err := m.take(int(n[0]))
		if err != nil {
			return "", err
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteByte('"')
		escape(&b, text, `"\`, ' '-1)
		b.WriteByte('"')
	}
	return b.String(), nil
}
