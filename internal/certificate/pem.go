package certificate

import (
	"bytes"
	"regexp"
	"strings"
)

// A Block is a PEM block as found in a text.
type Block struct{ header, procType, dekInfo, body, footer string }

// FindPEM returns the first PEM block of a text whose kind matches a pattern, nil if there is none.
// The block keeps the original text; its String has normal lines. The error reports an invalid
// pattern.
func FindPEM(text, kind string) (*Block, error) {
	re, err := regexp.Compile(`(?s)(-----BEGIN (?:` + kind +
		`)-----)\s+(?:(Proc-Type: 4,ENCRYPTED)\s*)?` +
		`(?:(DEK-Info: (?:DES-[3A-Z\-]+,[0-9A-F]{16}|[0-9A-Z\-]+,[0-9A-F]{32}))\s*)?(.+?)\s+(-----END (?:` + kind + `)-----)`)
	if err != nil {
		return nil, err
	}
	f := re.FindStringSubmatch(text)
	if f == nil {
		return nil, nil
	}
	return &Block{f[1], f[2], f[3], f[4], f[5]}, nil
}

// String returns the block with lines of 64 characters.
func (b *Block) String() string {
	var s strings.Builder
	s.WriteString(b.header + "\n")
	if b.procType != "" {
		s.WriteString(b.procType + "\n")
	}
	if b.dekInfo != "" {
		s.WriteString(b.dekInfo + "\n\n")
	}
	body := strings.Join(strings.Fields(b.body), "")
	for len(body) > 64 {
		s.WriteString(body[:64] + "\n")
		body = body[64:]
	}
	s.WriteString(body + "\n" + b.footer + "\n")
	return s.String()
}

// Unfold restores the line ends of a PEM text that lost them or has them as \n.
func Unfold(text string) string {
	text = strings.ReplaceAll(text, `\n`, "\n")
	if !strings.HasPrefix(text, "-----") || !strings.HasSuffix(text, "-----") ||
		strings.Contains(text, "\n") {
		return text
	}
	var lines []string
	for text != "" {
		n := min(64, len(text))
		if strings.HasPrefix(text, "-----") {
			end := strings.Index(text[5:], "-----")
			if end < 0 {
				break
			}
			n = 5 + end + 5
		} else if dash := strings.IndexByte(text[:n], '-'); dash >= 0 {
			n = dash
		}
		if n == 0 {
			break
		}
		lines, text = append(lines, text[:n]), text[n:]
	}
	return strings.Join(append(lines, text), "\n")
}

// Concealed returns a text for an error, without parts that may be a key.
func Concealed(text string) string {
	if at := strings.Index(text, "PRIVATE KEY-----"); at >= 0 {
		return text[:at] + "PRIVATE KEY----- ..."
	}
	return text
}

// SplitPEM returns the PEM blocks of a text, each from its first to its last line.
func SplitPEM(text []byte) [][]byte {
	var blocks [][]byte
	var now []byte
	for line := range bytes.Lines(text) {
		switch {
		case len(bytes.TrimSpace(line)) == 0:
			continue
		case bytes.HasPrefix(line, []byte("-----BEGIN")):
			now = nil
		}
		now = append(now, line...)
		if bytes.HasPrefix(line, []byte("-----END")) {
			blocks, now = append(blocks, now), nil
		}
	}
	return blocks
}
